"""A project as a file: what is written is there, and what is damaged or foreign is one clear line."""

import contextlib
import errno
import itertools
import os
import sqlite3
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sapo.apps.teach.state import ACCEPT, LABEL, Draft, Seen, TaughtSentence
from sapo.apps.teach.store import Snapshot, Store, create, save_snapshot, sole_server
from sapo.errors import SapoError, allow_limits

DOG = TaughtSentence("a dog", ((0, 1), (2, 5)))
ACCEPTED = Draft(ACCEPT, "anna", 1, ("O", "B-X"), seen=Seen(1, 1, 2, 0.5, 1.25))
EVENT = """INSERT INTO journal VALUES (7, 0, 'a', 'accept', 1, '{{"tags":["O","O"],{}}}')"""
HIDDEN_TRIGGER = """
CREATE TRIGGER hidden AFTER INSERT ON journal BEGIN DELETE FROM settings; END;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET name = 'sqlite_sequence', sql = replace(sql, 'hidden', 'sqlite_sequence')
WHERE name = 'hidden';
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create(tmp_path / "a.teach", "spans", [DOG, DOG])
    return tmp_path / "a.teach"


def test_what_is_written_is_read_again(path: Path) -> None:
    store = Store(path)
    (event,) = store.write(lambda state: [ACCEPTED])
    assert (event.seq, event.author, event.tags, event.seen) == (1, "anna", ("O", "B-X"), ACCEPTED.seen)
    again = Store(path)
    assert again.state.log == [event]
    assert again.sentences == {1: DOG, 2: DOG}
    store.close()
    again.close()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.data())
@settings(max_examples=25)
def test_any_text_is_kept(tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("any") / "a.teach"
    borders = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2)))
    sentence = TaughtSentence(text, tuple(itertools.pairwise(borders)))
    create(path, "tags", [sentence])
    store = Store(path)
    assert store.sentences[1] == sentence
    store.close()


def test_two_processes_see_each_other(path: Path) -> None:
    one, other = Store(path), Store(path)
    one.write(lambda state: [ACCEPTED])
    seen: list[int] = []

    def decide(state: object) -> list[Draft]:
        seen.append(other.state.seq)  # what the first has written is known before this one decides
        return [Draft(ACCEPT, "ben", 2, ("O", "O"))]

    assert [event.seq for event in other.write(decide)] == [1, 2]
    assert seen == [1]
    assert [event.seq for event in one.refresh()] == [2]
    one.close()
    other.close()


CREATING = """
import sys
from sapo.errors import SapoError
from sapo.apps.teach.state import TaughtSentence
from sapo.apps.teach.store import Store, create
word = sys.argv[1]
for line in sys.stdin:
    path = line.strip()
    try:
        create(path, "tags", [TaughtSentence(word, ((0, len(word)),))] * 500)
        store = Store(path)
        store.close()
        print(word, flush=True)
    except SapoError as error:
        print(error, flush=True)
"""


def test_of_two_processes_that_create_a_project_one_is_refused(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    words = ["one", "other"]
    with ExitStack() as stack:
        both = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", CREATING, word], text=True, **pipes))
            for word in words
        ]
        for number in range(20):
            path = tmp_path / f"{number}.teach"
            for process in both:
                assert process.stdin is not None
                print(path, file=process.stdin, flush=True)
            heard = [process.stdout.readline().strip() for process in both if process.stdout is not None]
            (made,) = (word for word in heard if word in words)
            (refused,) = (line for line in heard if line not in words)
            assert refused.startswith(f"{path}: already exists; ")
            store = Store(path)
            assert {one.text for one in store.sentences.values()} == {made}
            store.close()
    assert {path.suffix for path in tmp_path.iterdir()} == {".teach"}


@pytest.mark.parametrize("links", [True, False])
def test_of_many_threads_that_create_a_project_all_but_one_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    path = tmp_path / "a.teach"

    def try_to(number: int) -> str:
        try:
            create(path, "spans", [DOG])
        except SapoError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as threads:
        heard = sorted(threads.map(try_to, range(8)))
    assert heard[0] == ""
    assert all(line.startswith(f"{path}: already exists; ") for line in heard[1:])
    assert [found.name for found in tmp_path.iterdir()] == ["a.teach"]
    Store(path).close()


def _no_links(source: object, target: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_changes_of_an_earlier_project_are_not_applied_to_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "a.teach-wal").write_bytes(b"changes")
    with pytest.raises(SapoError, match=r"a.teach-wal: belongs to an earlier project of this name; move it .*remove"):
        create(tmp_path / "a.teach", "spans", [DOG])


def test_only_one_server_opens_a_project_and_leaves_nothing(path: Path) -> None:
    for _ in range(2):
        with (
            sole_server(path),
            pytest.raises(SapoError, match=f"^{path}: another sapo teach has this project open;"),
            sole_server(path),
        ):
            pass
    assert [found.name for found in path.parent.iterdir()] == ["a.teach"]


def test_the_journal_is_only_added_to(path: Path) -> None:
    store = Store(path)
    store.write(lambda state: [ACCEPTED])
    store.close()
    with sqlite3.connect(path) as connection:
        for statement in ("DELETE FROM journal", "UPDATE journal SET author = 'ben'"):
            with pytest.raises(sqlite3.IntegrityError, match="the journal is only added to"):
                connection.execute(statement)
    connection.close()


def test_the_base_and_the_last_snapshots_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.teach"
    create(path, "spans", [DOG], model=b"base")
    for seq in range(1, 6):
        save_snapshot(path, Snapshot(seq, b"%d" % seq))
    store = Store(path)
    newest, base = store.snapshot(), store.base()
    assert newest == Snapshot(5, b"5")
    assert base == Snapshot(0, b"base", base=True)
    store.close()
    assert b"".join(row[0] for row in sqlite3.connect(path).execute("SELECT model FROM snapshots")) == b"base45"


def test_a_failed_decision_writes_nothing(path: Path) -> None:
    store = Store(path)

    def fails(state: object) -> list[Draft]:
        raise SapoError("no")

    with pytest.raises(SapoError, match=r"^no$"):
        store.write(fails)
    assert len(store.write(lambda state: [ACCEPTED])) == 1
    store.close()


def test_what_is_no_project_is_one_line(tmp_path: Path, path: Path) -> None:
    (tmp_path / "text.txt").write_text("a dog")
    (tmp_path / "cut.teach").write_bytes(path.read_bytes()[:5000])
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE x (y)")
    other.close()
    for name, why in (
        ("none.teach", "no such file"),
        ("text.txt", "not a project of sapo teach"),
        ("other.db", "an SQLite file, but not a project of sapo teach"),
        ("cut.teach", "damaged"),
    ):
        with pytest.raises(SapoError, match=f"^{tmp_path / name}: {why}"):
            Store(tmp_path / name)
    with pytest.raises(SapoError, match="already exists"):
        create(path, "spans", [DOG])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("INSERT INTO sentences VALUES (3, 'a dog', '[[0, 9]]', '', '')", "sentence 3: its tokens are not in its text"),
        ("INSERT INTO sentences VALUES (3, 'a dog', '{', '', '')", "sentence 3: its tokens are not in its text"),
        ("INSERT INTO journal VALUES (7, 0, 'a', 'accept', 1, '{\"tags\": [\"O\"]}')", "event 7 does not fit"),
        (
            'INSERT INTO journal VALUES (7, 0, \'a\', \'accept\', 1, \'{"tags": ["O", "O", "O"], "cuts": [[1, 2]]}\')',
            "event 7 does not fit",
        ),
        ("INSERT INTO journal VALUES (7, 0, 'a', 'accept', 1, '[]')", "damaged: event 7 of the journal"),
        ("INSERT INTO journal VALUES (7, 0, 'a', 'drop', 1, '{}')", "damaged: event 7 of the journal"),
        (EVENT.format('"seen":[1e400,1,1,0,0]'), "damaged: event 7 of the journal"),
        (EVENT.format('"seen":[1,1,1,0,1e400]'), "damaged: event 7 of the journal"),
        (EVENT.format('"seen":[1,1,1,0,' + "9" * 400 + "]"), "damaged: event 7 of the journal"),
        (EVENT.format('"name":"\\ud800"'), "damaged: event 7 of the journal"),
        ("INSERT INTO journal VALUES (7, 9e999, 'a', 'undo', 1, '{}')", "damaged: event 7 of the journal"),
        ("INSERT INTO journal VALUES (7, 0, 'a', 'label', NULL, '{\"name\":\"\\ud800\"}')", "damaged: event 7"),
        ("INSERT INTO journal VALUES (7, 0, 'a', 'label', NULL, '{}')", "damaged: event 7 of the journal"),
        ("UPDATE settings SET value = 'x'", "its kind is not one of spans, tags"),
        ("CREATE VIEW v AS SELECT 1", "it does not have the tables of a project"),
        (HIDDEN_TRIGGER, "it does not have the tables of a project"),
        ("PRAGMA user_version = 99", "has format 99, this sapo reads up to 1; install a newer sapo"),
    ],
)
def test_a_changed_file_is_one_line(path: Path, change: str, why: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    connection.close()
    with pytest.raises(SapoError, match=why):
        Store(path)


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_damaged_bytes_are_one_line_or_do_no_harm(path: Path, at: int, bytes_there: bytes) -> None:
    good = path.read_bytes()
    place = at % len(good)
    damaged = path.with_suffix(".damaged")
    damaged.write_bytes((good[:place] + bytes_there + good[place + len(bytes_there) :])[: len(good)])
    message = ""
    try:
        store = Store(damaged)
        store.write(lambda state: [ACCEPTED])
        store.close()
    except SapoError as error:
        message = str(error)
    assert "\n" not in message
    for name in (damaged.name, f"{damaged.name}-wal", f"{damaged.name}-shm"):
        (path.parent / name).unlink(missing_ok=True)


def test_limits_hold_for_projects(path: Path) -> None:
    with allow_limits(tokens=1), pytest.raises(SapoError, match="2 tokens in a sentence are more than 1"):
        Store(path)
    with allow_limits(sentences=1), pytest.raises(SapoError, match="2 sentences in a project are more than 1"):
        Store(path)
    store = Store(path)
    store.write(lambda state: [Draft(LABEL, "anna", name=name) for name in "XY"])
    store.close()
    with allow_limits(labels=1), pytest.raises(SapoError, match="2 labels are more than 1"):
        Store(path)


def rollback_journal(project: Path, victim: Path) -> bytes:
    """Return a journal of SQLite that names another file, which SQLite deletes after it has rolled back."""
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">5I", 0, 1, project.stat().st_size // 4096, 512, 4096)
    return head.ljust(512, b"\0") + struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(
        ">2I", len(name), sum(name)
    ) + magic  # fmt: skip


def test_a_rollback_journal_next_to_a_project_deletes_no_other_file(path: Path, tmp_path: Path) -> None:
    Store(path).close()
    precious, link = tmp_path / "precious.txt", tmp_path / "link.teach"
    precious.write_text("precious\n")
    path.with_name(f"{path.name}-journal").write_bytes(rollback_journal(path, precious))
    link.symlink_to(path)
    for one in (path, link):
        with pytest.raises(SapoError, match=r"a\.teach-journal: does not belong to a project of sapo teach; remove it"):
            Store(one)
    assert precious.exists()


def test_a_new_project_never_needs_a_rollback_journal(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
