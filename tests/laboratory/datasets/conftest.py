"""A web server in a thread, and a corpus whose files lie there. No test uses the real network."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from laboratory.datasets.registry import Corpus, CorpusFile, Source

TRAIN, TEST = b"a DT\ndog NN\n\n" * 5000, b"a DT\ncat NN\n\n"


@dataclass
class Web:
    """What the server answers, and what it was asked for."""

    url: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    cut_after: dict[str, int] = field(default_factory=dict)
    stall: bool = False  # send half, then wait until the test ends
    announce: bool = True  # the length, before the body
    asked: list[str] = field(default_factory=list)
    half_sent: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    state = Web(pages={"/train.txt": TRAIN, "/test.txt": TEST})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            body = state.pages.get(self.path, b"")
            self.send_response(state.status.get(self.path, 200 if self.path in state.pages else 404))
            if state.announce:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if state.stall:
                self.wfile.write(body[: len(body) // 2])
                state.half_sent.set()
                state.over.wait(60)
            else:
                self.wfile.write(body[: state.cut_after.get(self.path)])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    state.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_corpus(url: str, *, known: bool = True) -> Corpus:
    """Two files at this address; whether the checksum of the first is known can be chosen."""
    return Corpus(
        name="tiny",
        task="part of speech",
        tokens=10_002,
        files=(
            CorpusFile("train.txt.gz", sha256(TRAIN) if known else None, (Source(f"{url}/train.txt"),)),
            CorpusFile("test.txt.gz", sha256(TEST), (Source(f"{url}/test.txt"),)),
        ),
        columns=("word", "pos"),
        terms="free",
        license="free for all",
        citation="Nobody (2000)",
    )


@pytest.fixture
def tiny(web: Web) -> dict[str, Corpus]:
    return {"tiny": make_corpus(web.url)}


@pytest.fixture
def unknown(web: Web) -> dict[str, Corpus]:
    return {"tiny": make_corpus(web.url, known=False)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no SAPO_DATA."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SAPO_DATA", raising=False)
    return tmp_path / "home" / "sapo" / "corpora"
