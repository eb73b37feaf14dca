"""The target for project files of `sapo teach`: a file in, opened and written to."""

from fuzz.doors import file, room
from fuzz.target import GOLDEN, Target
from sapo.apps.teach.state import ACCEPT, LABEL, UNDO, Draft, TaughtSentence
from sapo.apps.teach.store import Store, create


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
        for end in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)


def _seeds() -> list[bytes]:
    path = room() / "seed.teach"
    path.unlink(missing_ok=True)
    events = [Draft(LABEL, "anna", name="X"), Draft(ACCEPT, "anna", 1, ("B-X", "O")), Draft(UNDO, "anna", 1)]
    sentences = [TaughtSentence("Ann sees", ((0, 3), (4, 8)))] * 20
    create(path, "spans", sentences, events, (GOLDEN / "templates-2.sapo").read_bytes()[:500])
    return [path.read_bytes()]


PROJECTS = {"project": Target(_project, _seeds)}
