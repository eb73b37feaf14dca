"""A small model, and an application that is asked without a network."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sapo
from asgi_client import AsgiClient

PLACES = [
    (["We", "live", "in", "Oslo", "."], ["O", "O", "O", "B-LOC", "O"]),
    (["Anna", "is", "at", "home", "."], ["B-PER", "O", "O", "O", "O"]),
    (["New", "York", "is", "large", "."], ["B-LOC", "I-LOC", "O", "O", "O"]),
]


class Client(AsgiClient):
    """Asks an application; what it learned is in the file `output`."""

    def __init__(self, tool: str, output: Path | None, tagger: sapo.Tagger, token: str | None = None) -> None:
        from sapo.apps.assist.app import AssistApp
        from sapo.apps.assist.helper import Helper
        from sapo.apps.assist.inception import Inception
        from sapo.apps.assist.label_studio import LabelStudio
        from sapo.apps.limits import RequestLimits, Token

        super().__init__()
        self.output = output
        self.helper = Helper(tagger, "towns", output, self.said.append)
        limits = RequestLimits()
        answers = (LabelStudio if tool == "label-studio" else Inception)(self.helper, limits)
        self.app = AssistApp(answers, self.helper, limits, self.said.append, None if token is None else Token(token))


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip all tests of this directory where the extra is not installed."""
    for name in ("msgspec", "uvicorn", "httptools"):
        pytest.importorskip(name, reason=f"sapo serve needs the extra serve: {name} is not installed")


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
