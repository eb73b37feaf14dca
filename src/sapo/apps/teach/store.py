"""Store a project as one SQLite file: sentences, the journal of what people did, and snapshots of the model.

Every event is on the disk before anyone hears that it was taken (WAL with synchronous=FULL). Several processes may
open a project: each reads what others have written before it writes itself. Rows of the journal are only added. Only
one of these processes may serve it: the model and the locks of sentences are in the memory of the server.
"""

import contextlib
import functools
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sapo.apps.taggers import SPANS, TAGS
from sapo.apps.teach.state import ACCEPT, IMPORT, Draft, Event, ProjectState, TaughtSentence, check_sentence, read_event
from sapo.corpus.files import SQLITE_MAGIC, check_writable, open_regular, part_name, remove_abandoned
from sapo.errors import SapoError, check_limit

try:
    import fcntl
except ImportError:  # Windows: several servers can open a project
    fcntl = None  # type: ignore[assignment]

APPLICATION = 0x5361706F  # "Sapo"
FORMAT = 1
JOURNAL = "-journal"  # the end of the name of a file that a project, which has a -wal file, never needs
PATIENCE = 10.0  # seconds to wait while another process writes
KEPT = 2  # snapshots besides the base
TABLES = {
    "settings": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
    "sentences": "id INTEGER PRIMARY KEY, text TEXT NOT NULL, offsets TEXT NOT NULL, source TEXT NOT NULL, "
    "document TEXT NOT NULL",
    "journal": "seq INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, author TEXT NOT NULL, kind TEXT NOT NULL, "
    "sentence INTEGER REFERENCES sentences(id), value TEXT NOT NULL",
    "snapshots": "id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, time REAL NOT NULL, base INTEGER NOT NULL, "
    "model BLOB NOT NULL",
}
NEVER = "BEGIN SELECT RAISE(ABORT, 'the journal is only added to'); END"
SCHEMA = (
    *(f"CREATE TABLE {name} ({columns}) STRICT" for name, columns in TABLES.items()),
    f"CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal {NEVER}",
    f"CREATE TRIGGER journal_is_not_shortened BEFORE DELETE ON journal {NEVER}",
)
EVENTS = "SELECT seq, time, author, kind, sentence, value FROM journal WHERE seq > ? ORDER BY seq"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A model as bytes, which has learned all events up to `seq`. The model that a project began with is its base."""

    seq: int
    model: bytes
    base: bool = False


def is_project(path: str | Path) -> bool:
    """Return whether a file begins as an SQLite file does."""
    try:
        with open_regular(path) as stream:
            return stream.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except (OSError, ValueError):
        return False


def create(
    path: str | Path,
    kind: str,
    sentences: Sequence[TaughtSentence],
    drafts: Iterable[Draft] = (),
    model: bytes | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a new project, whole or not at all. Raise SapoError if the file is there already."""
    target = Path(path)
    taken = SapoError(f"{target}: already exists; sapo teach {target} opens it, and a new project needs a new name")
    if target.exists():
        raise taken
    for ending in ("-wal", JOURNAL):  # SQLite would apply these changes to the new project
        if (left := target.with_name(target.name + ending)).exists():
            raise SapoError(f"{left}: belongs to an earlier project of this name; move it next to that, or remove it")
    check_writable(target)
    remove_abandoned(target)
    part = part_name(target)
    try:
        with _as_sapo_error(target), contextlib.closing(_connected(part)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")  # if anything fails, the file is removed
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            with _transaction(connection):
                for statement in SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO settings VALUES ('kind', ?)", (kind,))
                if names:
                    connection.execute("INSERT INTO settings VALUES ('names', ?)", (json.dumps(names),))
                _add_sentences(connection, sentences)
                _add_events(connection, drafts)
                if model is not None:
                    _add_snapshot(connection, Snapshot(0, model, base=True))
            connection.execute("PRAGMA journal_mode = WAL")
        with _as_sapo_error(target):
            try:
                _give_name(part, target)
            except FileExistsError:  # since we looked
                raise taken from None
    finally:
        part.unlink(missing_ok=True)


def _give_name(part: Path, target: Path) -> None:
    """Move a file to a name that is free. Raise FileExistsError if it is not; renaming would replace the other file."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: take the name first
        target.touch(exist_ok=False)
        try:
            part.replace(target)
        except BaseException:
            target.unlink()
            raise


class Store:
    """An open project. Only one thread may use it; `state` is the fold of the journal as far as it was read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise SapoError(f"{path}: no such file; to make a project: sapo teach TEXT... -o {path}")
        if not is_project(path):
            raise SapoError(
                f"{path}: not a project of sapo teach; to make one from a text: sapo teach {path} -o PROJECT"
            )
        with _as_sapo_error(self.path):
            _refuse_rollback(self.path)
            self._connection = _connected(self.path)
            try:
                _check_file(self._connection, self.path)
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self.kind, self.names = self._read_kind(), self._read_names()
                self.sentences = dict(self._read_sentences())
                self.state = ProjectState()
                self.refresh()
                check_limit("labels", len(self.state.labels), self.path, "labels")
            except BaseException:
                self._connection.close()
                raise

    def refresh(self) -> list[Event]:
        """Read what was added since the last look, and return the events."""
        with _as_sapo_error(self.path):
            try:
                events = [read_event(row) for row in self._connection.execute(EVENTS, (self.state.seq,))]
            except SapoError as error:
                raise SapoError(f"{self.path}: damaged: {error}") from None
            if any(event.sentence is not None and event.sentence not in self.sentences for event in events):
                self.sentences.update(self._read_sentences(after=max(self.sentences, default=0)))
            for event in events:
                self._apply(event)
            return events

    def write(self, decide: Callable[[ProjectState], Iterable[Draft]]) -> list[Event]:
        """Write events, on the disk when this returns. `decide` sees the state that they are added to.

        Returns all events that are new to this process, those of others too.
        """
        with _as_sapo_error(self.path), _transaction(self._connection):
            others = self.refresh()
            rows = _add_events(self._connection, decide(self.state))
        events = [read_event(row) for row in rows]
        for event in events:
            self._apply(event)
        return others + events

    def add(self, sentences: Sequence[TaughtSentence], drafts: Callable[[Sequence[int]], Iterable[Draft]]) -> None:
        """Add sentences, and events that `drafts` makes from their numbers, all at once."""
        with _as_sapo_error(self.path), _transaction(self._connection):
            self.refresh()
            _add_events(self._connection, drafts(_add_sentences(self._connection, sentences)))
        self.refresh()

    def snapshot(self) -> Snapshot | None:
        """Return the newest snapshot, or None if there is none."""
        return self._snapshot("ORDER BY seq DESC, id DESC")

    def base(self) -> Snapshot | None:
        """Return the model that the project began with, if it began with one."""
        return self._snapshot("WHERE base = 1")

    def close(self) -> None:
        """Close the file."""
        with _as_sapo_error(self.path):
            self._connection.close()

    def _snapshot(self, which: str) -> Snapshot | None:
        with _as_sapo_error(self.path):
            row = self._connection.execute(f"SELECT seq, model, base FROM snapshots {which} LIMIT 1").fetchone()
        return None if row is None else Snapshot(row[0], row[1], bool(row[2]))

    def _read_kind(self) -> str:
        row = self._connection.execute("SELECT value FROM settings WHERE name = 'kind'").fetchone()
        if row is None or row[0] not in (SPANS, TAGS):
            raise SapoError(f"{self.path}: damaged: its kind is not one of {SPANS}, {TAGS}")
        return str(row[0])

    def _read_names(self) -> dict[str, list[str]]:
        """Return the lists of names that the project began with."""
        row = self._connection.execute("SELECT value FROM settings WHERE name = 'names'").fetchone()
        try:
            names: dict[str, list[str]] = {} if row is None else json.loads(row[0])
            for kind, some in names.items():
                if not isinstance(some, list) or not all(isinstance(one, str) for one in (kind, *some)):
                    raise ValueError
        except (ValueError, AttributeError, RecursionError):
            raise SapoError(f"{self.path}: damaged: its lists of names") from None
        return names

    def _read_sentences(self, after: int = 0) -> Iterator[tuple[int, TaughtSentence]]:
        (count,) = self._connection.execute("SELECT count(*) FROM sentences").fetchone()
        check_limit("sentences", count, self.path, "sentences in a project")
        rows = self._connection.execute(
            "SELECT id, text, offsets, document FROM sentences WHERE id > ? ORDER BY id", (after,)
        )
        for number, text, offsets, document in rows:
            try:
                sentence = replace(check_sentence(text, json.loads(offsets)), document=document)
            except (SapoError, ValueError, RecursionError):
                raise SapoError(f"{self.path}: damaged: sentence {number}: its tokens are not in its text") from None
            check_limit("tokens", len(sentence.offsets), f"{self.path}: sentence {number}", "tokens in a sentence")
            yield number, sentence

    def _apply(self, event: Event) -> None:
        """Apply an event to the sentences and the state."""
        if event.kind in (ACCEPT, IMPORT):
            number = event.sentence or 0
            try:
                sentence = self.sentences[number].cut(event.cuts) if event.cuts else self.sentences[number]
                if len(sentence.offsets) != len(event.tags):
                    raise KeyError
            except (KeyError, SapoError):
                raise SapoError(f"{self.path}: damaged: event {event.seq} does not fit its sentence") from None
            self.sentences[number] = sentence
        self.state.apply(event)


def save_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Keep a snapshot, and remove old ones but for the base. Any thread may do this."""
    with _as_sapo_error(path), contextlib.closing(_connected(path)) as connection, _transaction(connection):
        _add_snapshot(connection, snapshot)
        connection.execute(
            "DELETE FROM snapshots WHERE base = 0 AND id NOT IN "
            "(SELECT id FROM snapshots WHERE base = 0 ORDER BY seq DESC, id DESC LIMIT ?)",
            (KEPT,),
        )


@contextmanager
def sole_server(path: Path) -> Iterator[None]:
    """Keep other servers from opening a project. Raise SapoError if one has it open.

    The lock is on a file next to the project, because SQLite locks the project itself. It ends with the process, even
    if that is killed.
    """
    if fcntl is None:
        yield
        return
    real = path.resolve()
    side = real.with_name(f"{real.name}-lock")
    with _as_sapo_error(path):
        lock = _lock(side)
    if lock is None:
        raise SapoError(f"{path}: another sapo teach has this project open; use its page, or stop it first")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            side.unlink()
        os.close(lock)


def _lock(side: Path) -> int | None:
    """Return the descriptor of a locked file, or None if another process has locked it."""
    while True:
        lock = os.open(side, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:  # this file system has no locks
            return lock
        if os.fstat(lock).st_nlink:
            return lock
        os.close(lock)  # the last server removed it after we opened it


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    return connection


@functools.cache
def _schema() -> list[str]:
    """Return the schema of a project as SQLite stores it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        return _schema_of(connection)


def _schema_of(connection: sqlite3.Connection) -> list[str]:
    return sorted(map(repr, connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")))


def _refuse_rollback(path: Path) -> None:
    """Raise SapoError if there is a rollback journal next to a project: it can make SQLite delete any file.

    SQLite takes the name of another file from it (the super-journal of a transaction over several databases), and
    deletes that file after the rollback.
    """
    for one in {path, path.resolve()}:
        if (journal := one.with_name(one.name + JOURNAL)).exists():
            raise SapoError(f"{journal}: does not belong to a project of sapo teach; remove it, then open the project")


def _check_file(connection: sqlite3.Connection, path: Path) -> None:
    """Raise SapoError unless this is a project: a foreign schema might run something when it is read."""
    (application,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise SapoError(f"{path}: an SQLite file, but not a project of sapo teach")
    if version > FORMAT:
        raise SapoError(f"{path}: has format {version}, this sapo reads up to {FORMAT}; install a newer sapo")
    if _schema_of(connection) != _schema():
        raise SapoError(f"{path}: damaged: it does not have the tables of a project")
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise SapoError(f"{path}: damaged ({str(found).splitlines()[-1]:.80})")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _add_sentences(connection: sqlite3.Connection, sentences: Sequence[TaughtSentence]) -> list[int]:
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM sentences").fetchone()
    numbers = list(range(last + 1, last + 1 + len(sentences)))
    rows = (
        (number, one.text, json.dumps(one.offsets, separators=(",", ":")), one.source, one.document)
        for number, one in zip(numbers, sentences, strict=True)
    )
    connection.executemany("INSERT INTO sentences VALUES (?, ?, ?, ?, ?)", rows)
    return numbers


def _add_events(connection: sqlite3.Connection, drafts: Iterable[Draft]) -> list[tuple[Any, ...]]:
    """Add events, and return their rows."""
    now = time.time()
    added = []
    for draft in drafts:
        row = (now, draft.author, draft.kind, draft.sentence, draft.value())
        cursor = connection.execute("INSERT INTO journal VALUES (NULL, ?, ?, ?, ?, ?)", row)
        added.append((cursor.lastrowid, *row))
    return added


def _add_snapshot(connection: sqlite3.Connection, snapshot: Snapshot) -> None:
    row = (snapshot.seq, time.time(), int(snapshot.base), snapshot.model)
    connection.execute("INSERT INTO snapshots VALUES (NULL, ?, ?, ?, ?)", row)


@contextmanager
def _as_sapo_error(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or the system into one line."""
    try:
        yield
    except SapoError:
        raise
    except sqlite3.Error as error:
        raise SapoError(f"{path}: {_reason(error)}") from None
    except UnicodeDecodeError:
        raise SapoError(f"{path}: damaged: not UTF-8") from None
    except OSError as error:
        raise SapoError(f"{path}: cannot be written ({error.strerror or error})") from None


def _reason(error: sqlite3.Error) -> str:
    text = " ".join(str(error).split())[:200]
    if "locked" in text:
        return f"another program has been writing to it for {PATIENCE:g} s; try again"
    if "readonly" in text:
        return "cannot be written; check the permissions of the file and its directory"
    return f"damaged, or not a project of sapo teach ({text})"
