"""Small projects, and an application that is asked without a network."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from asgi_client import AsgiClient, need_extra
from taught_text import GOLD, TEXT

if TYPE_CHECKING:
    from sapo.apps.http import Guard
    from sapo.apps.teach.classroom import Classroom

PORT = 8765


class Client(AsgiClient):
    """Asks the application of a project."""

    def __init__(self, classroom: "Classroom", guard: "Guard | None" = None, **limits: Any) -> None:
        from sapo.apps.http import Guard
        from sapo.apps.limits import RequestLimits
        from sapo.apps.teach.app import Hub, TeachApp

        super().__init__(host=f"localhost:{PORT}")
        self.close: Callable[[], None] = lambda: None
        self.classroom = classroom
        self.app = TeachApp(classroom, Hub(), guard or Guard(PORT), RequestLimits(**limits), self.said.append)

    def accept(self, sentence: int, author: str = "anna", tags: list[str] | None = None, **more: Any) -> Any:
        reply = self.post("/api/accept", {"id": sentence, "tags": tags or GOLD[sentence], "author": author, **more})
        assert reply.status == 200, reply.body
        return reply.json


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip all tests of this directory where the extra is not installed."""
    need_extra("sapo teach")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of seven sentences."""
    from sapo.apps.teach.project import make_project

    text = tmp_path / "notes.txt"
    text.write_text(TEXT)
    make_project(tmp_path / "notes.teach", [text], ["PER", "ORG", "LOC"])
    return tmp_path / "notes.teach"


@pytest.fixture
def open_project() -> Iterator[Callable[..., Client]]:
    """Opens projects, and closes them in the end."""
    with ExitStack() as stack:

        def opened_client(path: Path, *, habits: Any = None, guard: Any = None, **limits: Any) -> Client:
            from sapo.apps.teach.app import Hub, opened

            own = stack.enter_context(ExitStack())
            client = Client(own.enter_context(opened(path, Hub(), lambda line: None, habits)), guard, **limits)
            own.callback(client.app.worker.end)
            client.close = own.close
            return client

        yield opened_client


@pytest.fixture
def client(project: Path, open_project: Callable[..., Client]) -> Client:
    return open_project(project)
