"""Targets for project files of `sapo teach`: bytes, and rows and schemas that somebody made up."""

import contextlib
import functools
import json
import sqlite3
from pathlib import Path
from typing import Any

from fuzz.doors import file, room
from fuzz.target import BYTES, GOLDEN, JSON, Target
from sapo.apps.http import write_json
from sapo.apps.teach import messages
from sapo.apps.teach.answers import Answers
from sapo.apps.teach.classroom import Classroom
from sapo.apps.teach.project import exported
from sapo.apps.teach.pupil import Pupil
from sapo.apps.teach.retraining import Retraining
from sapo.apps.teach.state import ACCEPT, LABEL, UNDO, Draft, Seen, TaughtSentence
from sapo.apps.teach.store import Store, create
from sapo.errors import SapoError

SIDES = ("-wal", "-shm", "-journal")
TABLES = {"settings": 2, "sentences": 5, "journal": 6, "snapshots": 5}  # columns
EXPORTS = ("columns", "jsonl", "doccano")
TRIGGER = "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM sentences; END"
VIEW = "CREATE VIEW v AS SELECT 1"


def _project(data: bytes) -> None:
    """Open a project, and write to it."""
    path = file("a.teach", data)
    try:
        store = Store(path)
        try:
            store.write(lambda state: [Draft(ACCEPT, "anna", 1, ("B-X", "O"))])
            store.snapshot()
        finally:
            store.close()
    finally:
        _clean(path)


def _clean(path: Path) -> None:
    for end in SIDES:
        path.with_name(path.name + end).unlink(missing_ok=True)


@functools.cache
def _sound() -> bytes:
    path = room() / "seed.teach"
    path.unlink(missing_ok=True)
    seen = Seen(1, 1, 1, 0.9, 0.8)
    events = [Draft(LABEL, "anna", name="X"), Draft(ACCEPT, "anna", 1, ("B-X", "O"), seen=seen), Draft(UNDO, "anna", 1)]
    sentences = [TaughtSentence("Ann sees", ((0, 3), (4, 8)))] * 20
    create(path, "spans", sentences, events, (GOLDEN / "templates-2.sapo").read_bytes()[:500])
    return path.read_bytes()


def _rows(data: bytes) -> None:
    """Open a project with other rows, and look at all that a page shows of it."""
    path = file("a.teach", _sound())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        if not _forged(connection, data):
            return
    try:
        store = Store(path)
        with contextlib.closing(store):
            _look(store)
        with contextlib.closing(Store(path)) as again:
            assert again.sentences == store.sentences, "something in the file ran"
    finally:
        _clean(path)


def _forged(connection: sqlite3.Connection, data: bytes) -> bool:
    """Write the rows that JSON describes, and anything into the schema. Return False if SQLite refuses them."""
    try:
        value = json.loads(data)
        for table, columns in TABLES.items():
            for row in value.get(table, []):
                marks = ", ".join("?" * columns)
                connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", [_plain(one) for one in row])
        connection.commit()
        for statement in value.get("statements", []):
            connection.executescript(statement)
        connection.execute("PRAGMA writable_schema = ON")
        for row in value.get("schema", []):
            connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", [_plain(one) for one in row])
        for old, new in value.get("names", []):
            connection.execute("UPDATE sqlite_schema SET name = ? WHERE name = ?", (_plain(new), _plain(old)))
        connection.commit()
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError, sqlite3.Error, sqlite3.Warning):
        return False
    return True


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _look(store: Store) -> None:
    classroom = Classroom(store, Pupil(store.kind), Retraining(store.path), lambda *what: None)
    answers = Answers(classroom)
    forms = [messages.SentencesForm(), messages.SentencesForm(state="all", order="in-order")]
    shown = [answers.project(messages.Asked()), *map(answers.sentences, forms)]
    shown += [answers.slips(messages.Asked()), answers.disagreements(messages.Asked())]
    for one in shown:
        write_json(one)
    json.dumps(classroom.news(0)).encode()
    classroom.pairs()
    for format in EXPORTS:
        with contextlib.suppress(SapoError):
            exported(store, format)
    store.write(lambda state: [Draft(UNDO, "anna", event.sentence)] if (event := state.to_undo("anna")) else [])


def _row_seeds() -> list[bytes]:
    accept = {"tags": ["B-X", "O"], "seen": [1, 1, 1, 0.9, 0.8]}
    rows: dict[str, Any] = {
        "settings": [["kind", "spans"]],
        "sentences": [[1, "Ann sees", [[0, 3], [4, 8]], "", ""], [30, "Köln 😀", [[0, 4], [5, 6]], "a.txt", "d1"]],
        "journal": [
            [1, 1.5, "anna", "label", None, {"name": "X"}],
            [7, 1.5, "anna", "accept", 1, accept],
            [8, 2.5, "ben", "import", 30, {"tags": ["B-X", "I-X"]}],
            [9, 2.5, "ben", "undo", 30, {}],
            [11, 2.5, "ben", "accept", 30, {"tags": ["B-X", "O", "O"], "cuts": [[0, 1]]}],
            [10, 2.5, "ben", "redo", 30, {}],
        ],
        "snapshots": [[9, 3, 1.5, 0, "not a model"]],
    }
    schema: dict[str, Any] = {
        "statements": [TRIGGER, VIEW, "CREATE INDEX i ON journal (author)", "PRAGMA user_version = 1"],
        "schema": [["trigger", "sqlite_sequence", "journal", 0, TRIGGER], ["view", "sqlite_v", "sqlite_v", 0, VIEW]],
        "names": [["i", "sqlite_autoindex_journal_1"]],
    }
    one = {"journal": [[7, 1.5, "anna", "accept", 1, accept]]}  # changed much more often than that among all rows
    parts = [rows, one, *({key: value} for key, value in (rows | schema).items())]
    return [json.dumps(part).encode() for part in parts]


PROJECTS = {
    "project": Target(_project, lambda: [_sound()], BYTES),
    "project-rows": Target(_rows, _row_seeds, JSON),
}
