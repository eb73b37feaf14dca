"""Small models, and an application that is asked without a network."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sapo

if TYPE_CHECKING:
    from sapo.serve.limits import Token

PLACES = [(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"]), (["New", "York"], ["B-LOC", "I-LOC"])]
CHUNKS = [([("the", "DT"), ("cat", "NN")], ["B-NP", "I-NP"]), ([("it", "PRP"), ("sat", "VB")], ["B-NP", "O"])]


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
    """Asks an application; what it says in its log is in `said`."""

    def __init__(self, *paths: Path, token: "Token | None" = None, **limits: Any) -> None:
        from sapo.serve.app import App
        from sapo.serve.limits import Limits
        from sapo.serve.models import Models

        self.said: list[str] = []
        self.models = Models(paths, self.said.append)
        self.app = App(self.models, Limits(**limits), self.said.append, token)

    def post(self, path: str, message: Any, **headers: str) -> Reply:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.ask("POST", path, [body], {"content-type": "application/json", **headers})

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, [b""], headers)

    def ask(self, method: str, path: str, parts: list[bytes], headers: dict[str, str]) -> Reply:
        return asyncio.run(self.asked(method, path, parts, headers))

    async def asked(self, method: str, path: str, parts: list[bytes], headers: dict[str, str]) -> Reply:
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        waiting[-1]["more_body"] = False
        sending = iter(waiting)

        async def receive() -> Any:
            return next(sending)

        async def send(message: Any) -> None:
            sent.append(message)

        fields = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
        await self.app({"type": "http", "method": method, "path": path, "headers": fields}, receive, send)
        start, body = sent
        return Reply(start["status"], {a.decode(): b.decode() for a, b in start["headers"]}, body["body"])


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip all tests of this directory where the extra is not installed."""
    for name in ("msgspec", "uvicorn", "httptools"):
        pytest.importorskip(name, reason=f"sapo serve is an extra: {name} is not installed")


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the models place (words), chunk (words and tags) and ready (features)."""
    room = tmp_path_factory.mktemp("models")
    sapo.train(PLACES, template="ner", epochs=3).save(room / "place.sapo")
    sapo.train(CHUNKS, template="chunking", epochs=3).save(room / "chunk.sapo")
    ready = [([{"w": "a"}, {"w": "dog", "upper": False}], ["DT", "NN"])]
    sapo.train(ready, epochs=3).save(room / "ready.sapo")
    return room


@pytest.fixture(scope="session")
def client(originals: Path) -> Client:
    return Client(*(originals / f"{name}.sapo" for name in ("place", "chunk", "ready")))


@pytest.fixture
def new_client() -> type[Client]:
    return Client


@pytest.fixture
def make_client(originals: Path) -> Callable[..., Client]:
    return lambda **limits: Client(originals / "place.sapo", **limits)


@pytest.fixture(scope="session")
def address(client: Client) -> Iterator[str]:
    """The URL of a real server, in a thread of this process."""
    from sapo.serve.limits import Limits
    from sapo.serve.server import bind, listening_server

    with bind("127.0.0.1", 0) as bound:
        server = listening_server(client.app, Limits(), bound)
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)
