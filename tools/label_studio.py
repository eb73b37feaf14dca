"""Use `sapo serve --tool label-studio` with the real Label Studio: `make test-label-studio`.

Installs Label Studio into an environment of its own, starts both on this machine, connects them, and looks at what a
person would see: suggestions for a task, and better ones after an annotation.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import sapo

VERSION = "1.23.2"
ENVIRONMENT = Path(os.environ.get("LABEL_STUDIO_VENV", ".venv-label-studio"))
TOKEN = "0123456789abcdef0123456789abcdef01234567"  # of an instance that lives for a minute, on this machine only
START, CONNECT = 1800.0, 120.0  # seconds
PLACES = [
    (["We", "live", "in", "Oslo", "."], ["O", "O", "O", "B-LOC", "O"]),
    (["Anna", "is", "at", "home", "."], ["B-PER", "O", "O", "O", "O"]),
    (["New", "York", "is", "large", "."], ["B-LOC", "I-LOC", "O", "O", "O"]),
]
CONFIG = """<View>
  <Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/><Label value="ORG"/></Labels>
  <Text name="text" value="$text"/>
</View>"""
TEXTS = ["We live in Oslo.", "The offices of Acme are closed.", "Acme has offices."]


def install() -> Path:
    """Return the program, installed if it is not there."""
    program = ENVIRONMENT / "bin" / "label-studio"
    if not program.exists():
        print(f"installing Label Studio {VERSION} into {ENVIRONMENT}")
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"label-studio=={VERSION}"], check=True)
    return program


def free_port() -> int:
    """Return a port that nobody uses: not one that the system gives to others while Label Studio starts."""
    for port in range(18080, 18180):
        with socket.socket() as bound:
            try:
                bound.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    sys.exit("no port is free from 18080 to 18179")


@contextmanager
def running(command: list[str], **how: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a server, and end it."""
    with subprocess.Popen(command, text=True, **how) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


class Studio:
    """The API of Label Studio."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, message: Any = None) -> Any:
        body = None if message is None else json.dumps(message).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Token {TOKEN}"}
        request = urllib.request.Request(f"{self.address}{path}", body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=CONNECT) as reply:
                return json.loads(reply.read() or b"null")
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode()[:500]}")

    def wait(self, process: subprocess.Popen[str]) -> None:
        """Wait until it answers."""
        end = time.monotonic() + START
        while time.monotonic() < end:
            if process.poll() is not None:
                sys.exit("Label Studio ended; its log is above")
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=5):
                    return
            except (OSError, HTTPException):
                time.sleep(1)
        sys.exit(f"Label Studio did not answer within {START:.0f} s")

    def suggestions(self, project: int, task: int) -> tuple[str, list[tuple[str, str]]]:
        """Let Label Studio fetch predictions of a task, and return the newest: its version and its spans."""
        selected = {"selectedItems": {"all": False, "included": [task]}}
        self.ask("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", selected)
        newest = max(self.ask("GET", f"/api/predictions?task={task}"), key=lambda one: one["id"])
        regions = [region["value"] for region in newest["result"]]
        return newest["model_version"], [(one["text"], one["labels"][0]) for one in regions]


def listening(process: subprocess.Popen[str]) -> str:
    """Return the address of `sapo serve --tool`, once it listens."""
    assert process.stderr is not None
    for line in process.stderr:
        print(line, end="")
        if found := re.search(r"at (http://127\.0\.0\.1:\d+) for", line):
            return found[1]
    sys.exit("sapo serve --tool did not start")


def check(what: str, found: Any, expected: Any) -> None:
    print(f"{'ok' if found == expected else 'WRONG'}: {what}: {found}")
    if found != expected:
        sys.exit(f"expected {expected}")


def lesson(studio: Studio, backend: str) -> None:
    """Do what a person does."""
    project = studio.ask("POST", "/api/projects", {"title": "towns", "label_config": CONFIG})["id"]
    connected = studio.ask("POST", "/api/ml", {"project": project, "url": backend, "title": "sapo"})
    check("the backend is connected", (connected["state"], connected["model_version"]), ("CO", "towns-3"))
    studio.ask("POST", f"/api/projects/{project}/import", [{"text": text} for text in TEXTS])
    listed = studio.ask("GET", f"/api/tasks?project={project}")["tasks"]
    tasks = {one["data"]["text"]: one["id"] for one in listed}
    version, spans = studio.suggestions(project, tasks[TEXTS[0]])
    check("suggestions for the first task", (version, spans), ("towns-3", [("Oslo", "LOC")]))
    value = {"start": 15, "end": 19, "text": "Acme", "labels": ["ORG"]}
    region = {"from_name": "label", "to_name": "text", "type": "labels", "value": value}
    studio.ask("POST", f"/api/tasks/{tasks[TEXTS[1]]}/annotations/", {"result": [region]})
    version, spans = studio.suggestions(project, tasks[TEXTS[2]])
    check(
        "suggestions for the third task, after the second was annotated",
        (version, spans),
        ("towns-4", [("Acme", "ORG")]),
    )


def main() -> None:
    program = install()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        sapo.train(PLACES, template="ner").save(room / "towns.sapo")
        port = free_port()
        # by default it neither asks addresses of this machine nor sends events to them
        local = {"ML_BLOCK_LOCAL_IP": "false", "SSRF_PROTECTION_ENABLED": "false"}
        inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        start = [str(program), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
        start += ["--data-dir", str(room / "studio"), "--username", "anna@example.org", "--password", "only-a-test"]
        start += ["--user-token", TOKEN, "--enable-legacy-api-token"]
        assist = [sys.executable, "-m", "sapo", "serve", "--tool", "label-studio", str(room / "towns.sapo")]
        assist += ["-o", str(room / "learned.sapo"), "--port", "0"]
        studio = Studio(f"http://127.0.0.1:{port}")
        log = (room / "log.txt").open("w+")
        with log, running(start, env={**inherited, **local}, stdout=log, stderr=log) as label_studio:
            try:
                studio.wait(label_studio)
                with running(assist, stderr=subprocess.PIPE) as backend:
                    lesson(studio, listening(backend))
            except BaseException:
                log.seek(0)
                print(log.read()[-5000:], file=sys.stderr)
                raise
        learned = sapo.Tagger.load(room / "learned.sapo").tag_text(TEXTS[2]).spans
        check("the model on disk", [(span.text, span.type) for span in learned], [("Acme", "ORG")])
    print(f"Label Studio {VERSION} and sapo {sapo.__version__} work together")


if __name__ == "__main__":
    main()
