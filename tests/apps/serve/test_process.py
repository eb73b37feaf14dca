"""The command as a process: where it listens, how it ends, what it takes, and its mistakes."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import sapo

# a request that takes a while, for as long as the test wants
SLOW = """
import pathlib, sys, time
from sapo.apps.serve import work
answers = work.plain_answers
def slow_answers(name, model, sentences, counts):
    if ["slowly"] in sentences:
        pathlib.Path(sys.argv[-1]).with_suffix(".begun").touch()
        time.sleep(1.5)
    return answers(name, model, sentences, counts)
work.plain_answers = slow_answers
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `sapo` with these arguments."""
    with ExitStack() as stack:

        def call(*args: object, before: str = "") -> subprocess.Popen[str]:
            code = f"{before}\nfrom sapo.cli import main; main()"
            process = subprocess.Popen(
                [sys.executable, "-c", code, *map(str, args)],
                env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)},
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield call


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.match(r"sapo: serving place at (http://127\.0\.0\.1:\d+)$", line):
            return found[1]
    raise AssertionError("it does not listen")


def ask(address: str, message: Any, path: str = "tag") -> Any:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    request = urllib.request.Request(f"{address}/{path}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_running_request_is_answered_before_the_end(
    start: Start, originals: Path, tmp_path: Path, sent: int, code: int
) -> None:
    model = tmp_path / "place.sapo"
    model.write_bytes((originals / "place.sapo").read_bytes())
    process = start("serve", "--port", 0, model, before=SLOW)
    address = address_of(process)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(ask(address, {"tokens": ["slowly"]})))
    asking.start()
    while not model.with_suffix(".begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sent)
    asking.join(60)
    assert answers[0]["sentences"][0]["tags"] == ["O"]
    assert process.stderr is not None
    rest = process.stderr.read()
    assert process.wait(60) == code
    assert rest.split() == ["sapo:", "interrupted"] * (code == 130)
    with pytest.raises(urllib.error.URLError):
        ask(address, {"tokens": ["in"]})


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="measures memory as Linux does")
def test_a_refused_request_takes_little_memory(start: Start, originals: Path) -> None:
    process = start("serve", "--port", 0, originals / "place.sapo")
    address = address_of(process)
    assert ask(address, {"tokens": ["in"]})["sentences"]
    idle = memory(process, "VmRSS")
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # from here on, the peak counts
    size = 3_900_000
    for body in (
        b'{"sentences": [%s[]]}' % (b"[]," * (size // 3)),
        b'{"sentences": [%s[]]}' % (b"[]," * 490_000),
        b'{"texts": [%s""]}' % (b'"",' * (size // 3)),
        b'{"text": "%s"}' % (b"!" * size),
        b'{"text": "%s"}' % ("😀 ".encode() * (size // 5)),
        b'{"tokens": [%s{}]}' % (b'{"":0},' * 490_000),
        b'{"tokens": ["%s"]}' % (b"x" * size),
    ):
        for path in ("tag", "nbest", "marginals"):
            with pytest.raises(urllib.error.HTTPError, match="422"):
                ask(address, body, path)
    assert memory(process, "VmHWM") - idle < 300_000


def memory(process: subprocess.Popen[str], name: str) -> int:
    """Return a figure of the memory of a process, in KB."""
    return int(Path(f"/proc/{process.pid}/status").read_text().partition(f"{name}:")[2].split()[0])


def test_other_names_are_refused_where_no_token_is_needed(start: Start, originals: Path, tmp_path: Path) -> None:
    port = int(address_of(start("serve", "--port", 0, originals / "place.sapo")).rpartition(":")[2])
    (tmp_path / "token").write_text("0123456789abcdef")
    guarded = start("serve", "--port", 0, originals / "place.sapo", "--token-file", tmp_path / "token")
    with_token = int(address_of(guarded).rpartition(":")[2])

    def status(port: int, host: str, **headers: str) -> int:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/models", headers={"Host": host, **headers})
            return connection.getresponse().status

    assert [status(port, f"{name}:{port}") for name in ("localhost", "127.0.0.1", "[::1]")] == [200] * 3
    assert [status(port, name) for name in ("evil.example", f"evil.example:{port}", "")] == [403] * 3
    assert status(port, f"localhost:{port}", Origin="http://evil.example") == 403
    assert status(with_token, "other.example", Authorization="Bearer 0123456789abcdef") == 200
    assert status(with_token, "other.example") == 401


def told(process: subprocess.Popen[str]) -> str:
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = said.splitlines()
    return line


def test_a_port_in_use_is_one_line(start: Start, originals: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = told(start("serve", originals / "place.sapo", "--port", port))
    assert line.startswith(f"sapo: cannot listen at 127.0.0.1:{port} (")
    assert line.endswith("; give another --port or --host")


def test_a_missing_package_is_one_line(start: Start, originals: Path) -> None:
    line = told(start("serve", originals / "place.sapo", before="import sys; sys.modules['uvicorn'] = None"))
    how = "pip install 'sapo-nlp[serve]', or pip install '.[serve]' in a clone"
    assert line == f"sapo: sapo serve needs the package uvicorn: {how}"


def test_a_missing_model_is_one_line(start: Start, tmp_path: Path) -> None:
    assert told(start("serve", tmp_path / "none.sapo", "--port", 0)) == f"sapo: {tmp_path}/none.sapo: no such file"
