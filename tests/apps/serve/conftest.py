"""Small models, and an application that is asked without a network."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sapo
from asgi_client import AsgiClient, need_extra, served
from sapo.corpus.sample import sample_files

if TYPE_CHECKING:
    from sapo.apps.limits import Token

PLACES = [(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"]), (["New", "York"], ["B-LOC", "I-LOC"])]
CHUNKS = [([("the", "DT"), ("cat", "NN")], ["B-NP", "I-NP"]), ([("it", "PRP"), ("sat", "VB")], ["B-NP", "O"])]


class Client(AsgiClient):
    """Asks the application of models."""

    def __init__(self, *paths: Path, token: "Token | None" = None, **limits: Any) -> None:
        from sapo.apps.limits import RequestLimits
        from sapo.apps.serve.app import ServeApp
        from sapo.apps.serve.models import Models

        super().__init__()
        self.models = Models(paths, self.said.append)
        self.app = ServeApp(self.models, RequestLimits(**limits), self.said.append, token)


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip all tests of this directory where the extra is not installed."""
    need_extra("sapo serve")


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the models place (words), chunk (words and tags), ready (features) and tree (a UD pipeline)."""
    room = tmp_path_factory.mktemp("models")
    sapo.train(PLACES, template="ner", epochs=3).save(room / "place.sapo")
    sapo.train(CHUNKS, template="chunking", epochs=3).save(room / "chunk.sapo")
    ready = [([{"w": "a"}, {"w": "dog", "upper": False}], ["DT", "NN"])]
    sapo.train(ready, epochs=3).save(room / "ready.sapo")
    (room / "treebank.conllu").write_text(sample_files()["treebank.conllu"], "utf-8")
    sapo.UD.train(room / "treebank.conllu", epochs=3).save(room / "tree.sapo")
    return room


@pytest.fixture(scope="session")
def client(originals: Path) -> Client:
    return Client(*(originals / f"{name}.sapo" for name in ("place", "chunk", "ready", "tree")))


@pytest.fixture
def new_client() -> type[Client]:
    return Client


@pytest.fixture
def make_client(originals: Path) -> Callable[..., Client]:
    return lambda **limits: Client(originals / "place.sapo", **limits)


@pytest.fixture(scope="session")
def address(client: Client) -> Iterator[str]:
    """The URL of a real server, in a thread of this process."""
    from sapo.apps.http import bind

    with bind("127.0.0.1", 0) as bound, served(client.app, bound) as url:
        yield url
