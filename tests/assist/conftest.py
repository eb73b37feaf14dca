"""A small model, and an application that is asked without a network."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sapo

PLACES = [
    (["We", "live", "in", "Oslo", "."], ["O", "O", "O", "B-LOC", "O"]),
    (["Anna", "is", "at", "home", "."], ["B-PER", "O", "O", "O", "O"]),
    (["New", "York", "is", "large", "."], ["B-LOC", "I-LOC", "O", "O", "O"]),
]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the application sent."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks an application; what it says in its log is in `said`, and what it learned in the file `output`."""

    def __init__(self, tool: str, output: Path | None, tagger: sapo.Tagger, token: str | None = None) -> None:
        from sapo.assist.app import App
        from sapo.assist.helper import Helper
        from sapo.assist.inception import Inception
        from sapo.assist.label_studio import LabelStudio
        from sapo.serve.limits import Limits, Token

        self.said: list[str] = []
        self.output = output
        self.helper = Helper(tagger, "towns", output, self.said.append)
        limits = Limits()
        answers = (LabelStudio if tool == "label-studio" else Inception)(self.helper, limits)
        self.app = App(answers, self.helper, limits, self.said.append, None if token is None else Token(token))

    def post(self, path: str, message: Any, **headers: str) -> Reply:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return asyncio.run(self._ask("POST", path, body, {"content-type": "application/json", **headers}))

    def get(self, path: str, **headers: str) -> Reply:
        return asyncio.run(self._ask("GET", path, b"", headers))

    async def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self.app({"method": method, "path": path, "headers": fields}, receive, send)
        return Reply(sent[0]["status"], sent[1]["body"])


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip all tests of this directory where the extra is not installed."""
    for name in ("msgspec", "uvicorn", "httptools"):
        pytest.importorskip(name, reason=f"sapo assist needs the extra serve: {name} is not installed")


@pytest.fixture(scope="session")
def towns() -> sapo.Tagger:
    return sapo.train(PLACES, template="ner")


@pytest.fixture
def client(towns: sapo.Tagger, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Make clients, which learn unless told otherwise."""
    made: list[Client] = []

    def make(tool: str, *, learns: bool = True, tagger: sapo.Tagger | None = None, token: str | None = None) -> Client:
        made.append(Client(tool, tmp_path / "learned.sapo" if learns else None, tagger or towns, token))
        return made[-1]

    yield make
    for one in made:
        one.app.worker.end()
