"""The command as a process: it opens, tells pages what happens, ends gracefully, and survives kill -9."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.apps.teach.store import Store, sole_server
from taught_text import GOLD

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{Path(sapo.__file__).parent.parent}{os.pathsep}{ROOT}"}


def command_for(project: Path) -> list[str]:
    return [sys.executable, "-m", "sapo", "teach", str(project), "--no-browser", "--port", "0"]


@pytest.fixture
def server(project: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `sapo teach` and return the process and its address."""
    command = command_for(project)
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = None
        for line in process.stderr:
            found = re.search(r"open (http://127\.0\.0\.1:\d+)/ ", line)
            if found:
                break
        assert found is not None
        yield process, found[1]
        process.kill()


def post(address: str, path: str, message: Any) -> Any:
    data, kind = json.dumps(message).encode(), {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, data, kind), timeout=60) as reply:
        return json.load(reply)


def test_pages_hear_what_happens_and_the_end_is_graceful(
    server: tuple[subprocess.Popen[str], str], project: Path
) -> None:
    process, address = server
    with urllib.request.urlopen(f"{address}/", timeout=60) as page:
        assert b"<script" in page.read()
    with urllib.request.urlopen(f"{address}/api/events", timeout=60) as events:
        assert events.readline() == b": here\n"
        post(address, "/api/accept", {"id": 1, "tags": GOLD[1], "author": "anna"})
        lines = [events.readline().decode() for _ in range(3)]
        heard = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:"))
        assert (heard["kind"], heard["id"], heard["author"]) == ("accepted", 1, "anna")
        post(address, "/api/lock", {"id": 2, "author": "ben"})
        with urllib.request.urlopen(f"{address}/api/events", timeout=60) as later:  # a page that comes back
            lines = [later.readline().decode() for _ in range(4)]
        heard = json.loads(lines[-1].removeprefix("data:"))
        assert (heard["kind"], heard["id"], heard["author"]) == ("lock", 2, "ben")
        process.send_signal(signal.SIGINT)
        events.read()  # the server says goodbye
    assert process.wait(60) == 130
    store = Store(project)
    assert store.state.accepted() == [1]
    assert store.snapshot() is not None
    store.close()


def test_a_project_has_one_server_at_a_time_and_is_free_after_kill(
    server: tuple[subprocess.Popen[str], str], project: Path
) -> None:
    process, _ = server
    link = project.with_name("link.teach")
    link.symlink_to(project)
    for path in (project, link):
        second = subprocess.run(command_for(path), env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        last = second.stderr.splitlines()[-1]
        assert (second.returncode, "another sapo teach has this project open; use its page" in last) == (2, True)
    process.kill()
    process.wait(60)
    with sole_server(project):  # what a third server asks for
        pass


def test_nothing_acknowledged_is_lost_by_kill() -> None:
    command = [sys.executable, "-m", "fuzz.teach", "--kills", "3"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.match(r"3 kills, \d+ acknowledged changes, none lost", done.stdout)
