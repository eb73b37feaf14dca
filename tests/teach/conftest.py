"""Small projects, and an application that is asked without a network."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from taught_text import GOLD, TEXT

if TYPE_CHECKING:
    from sapo.teach.classroom import Classroom
    from sapo.teach.guard import Guard

PORT = 8765


@dataclass(frozen=True, slots=True)
class Reply:
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks the application of a project."""

    def __init__(self, classroom: "Classroom", guard: "Guard | None" = None, **limits: Any) -> None:
        from sapo.serve.limits import Limits
        from sapo.teach.app import App
        from sapo.teach.guard import Guard
        from sapo.teach.hub import Hub

        self.said: list[str] = []
        self.close: Callable[[], None] = lambda: None
        self.classroom = classroom
        self.app = App(classroom, Hub(), guard or Guard(PORT), Limits(**limits), self.said.append)

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, b"", headers)

    def post(self, path: str, message: Any, **headers: str) -> Reply:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.ask("POST", path, body, {"content_type": "application/json", **headers})

    def accept(self, sentence: int, author: str = "anna", tags: list[str] | None = None, **more: Any) -> Any:
        reply = self.post("/api/accept", {"id": sentence, "tags": tags or GOLD[sentence], "author": author, **more})
        assert reply.status == 200, reply.body
        return reply.json

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        headers = {"host": f"localhost:{PORT}", **headers}
        fields = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
        return asyncio.run(self._asked(method, path, body, fields))

    async def _asked(self, method: str, path: str, body: bytes, fields: list[tuple[bytes, bytes]]) -> Reply:
        sent: list[Any] = []
        place, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": place, "query_string": query.encode(), "headers": fields}

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {a.decode(): b.decode() for a, b in start["headers"]}
        return Reply(start["status"], headers, b"".join(part["body"] for part in rest))


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip all tests of this directory where the extra is not installed."""
    for name in ("msgspec", "uvicorn", "httptools"):
        pytest.importorskip(name, reason=f"sapo teach needs the extra serve: {name} is not installed")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of seven sentences."""
    from sapo.teach.project import Start, make_project

    text = tmp_path / "notes.txt"
    text.write_text(TEXT)
    make_project(tmp_path / "notes.teach", Start([text], ["PER", "ORG", "LOC"]))
    return tmp_path / "notes.teach"


@pytest.fixture
def open_project() -> Iterator[Callable[..., Client]]:
    """Opens projects, and closes them in the end."""
    with ExitStack() as stack:

        def opened_client(path: Path, *, habits: Any = None, guard: Any = None, **limits: Any) -> Client:
            from sapo.teach.hub import Hub
            from sapo.teach.server import opened

            own = stack.enter_context(ExitStack())
            client = Client(own.enter_context(opened(path, Hub(), lambda line: None, habits)), guard, **limits)
            own.callback(client.app.worker.end)
            client.close = own.close
            return client

        yield opened_client


@pytest.fixture
def client(project: Path, open_project: Callable[..., Client]) -> Client:
    return open_project(project)
