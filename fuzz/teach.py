"""Kill `sapo teach` while a simulated person works: python -m fuzz.teach --kills 200 --seed 0

A server is forked, a person accepts sentences, takes them back and adds labels, and after a random time the server is
killed with SIGKILL. Afterwards every change that was acknowledged must be in the file, in order, with at most one more
that was on its way; the model in the file must load; and the next server must open the project.
"""

import argparse
import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sapo.apps.teach import pupil, retraining
from sapo.apps.teach.app import teach, warm_up
from sapo.apps.teach.project import make_project
from sapo.apps.teach.retraining import Habits
from sapo.apps.teach.store import Store
from sapo.corpus.formats import read
from sapo.corpus.sample import sample_path
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.tagger import Tagger

OFTEN = Habits(first=5, least=5, growth=0.05)
MOST = 20  # changes that are acknowledged before a server is killed
LONGEST = 0.05  # seconds between the last of them and the kill: time for the next to be anywhere


@dataclass
class Person:
    """Works until the server is gone, and remembers what was acknowledged."""

    connection: http.client.HTTPConnection
    rng: random.Random
    sentences: int
    enough: Callable[[int], None]  # told how many changes are acknowledged
    said: list[tuple[str, Any]] = field(default_factory=list)

    def work(self) -> None:
        """Accept, undo, redo and add labels, as fast as the server answers."""
        try:
            while True:
                self.enough(len(self.said))
                self._step()
        except (OSError, http.client.HTTPException):
            return

    def _step(self) -> None:
        what = self.rng.choices(("accept", "undo", "redo", "label"), (80, 10, 5, 5))[0]
        author = self.rng.choice(("anna", "ben"))
        if what == "accept":
            number = self.rng.randrange(1, self.sentences + 1)
            view = self._ask("GET", f"/api/sentences?ids={number}")["sentences"][0]
            tags = ["B-X" if self.rng.random() < 0.2 else "O" for _ in view["tokens"]]
            message = {"id": number, "tags": tags, "author": author, "visible": list(range(1, 11))}
            self._ask("POST", "/api/accept", message)
            self.said.append(("accept", [number, tags, author]))
        elif what == "label":
            name = f"L{self.rng.randrange(10**9)}"
            self._ask("POST", "/api/labels", {"name": name, "author": author})
            self.said.append(("label", name))
        elif self._ask("POST", f"/api/{what}", {"author": author, "visible": [1, 2]})["sentence"] is not None:
            self.said.append((what, author))

    def _ask(self, method: str, path: str, message: Any = None) -> Any:
        body = None if message is None else json.dumps(message)
        self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        reply = self.connection.getresponse()
        answer = json.loads(reply.read())
        if reply.status != 200:
            raise AssertionError(f"{method} {path}: {reply.status} {answer}")
        return answer


def serve_here(path: Path, write: int) -> None:
    """Serve in this process, which was forked; say where at the end of a pipe. Never returns."""
    try:
        teach(path, port=0, browser=False, say=lambda line: os.write(write, f"{line}\n".encode()), habits=OFTEN)
    except BaseException as error:
        os.write(write, f"{error!r}\n".encode())
    finally:
        os._exit(0)


def address_from(end: int) -> int:
    """Return the port that a server says at the other end of a pipe."""
    heard = []
    with os.fdopen(end) as lines:
        for line in lines:
            heard.append(line)
            if "open http" in line:
                return int(line.split("127.0.0.1:")[1].split("/")[0])
    raise AssertionError(f"the server did not start: {heard}")


def journal(path: Path) -> list[tuple[str, Any]]:
    """Return what is in a project, in the form of `Person.said`."""
    store = Store(path)
    try:
        snapshot = store.snapshot()
        if snapshot is not None:
            model_from_bytes(snapshot.model)
        return [
            ("accept", [event.sentence, list(event.tags), event.author])
            if event.kind == "accept"
            else ("label", event.name)
            if event.kind == "label"
            else (event.kind, event.author)
            for event in store.state.log
        ]
    finally:
        store.close()


def kill_once(path: Path, rng: random.Random, sentences: int) -> tuple[int, int]:
    """Let a person work, kill the server, and check; return how many changes were acknowledged and were on the way."""
    before = len(journal(path))
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        serve_here(path, write_end)
    os.close(write_end)
    try:
        port = address_from(read_end)
        killer = threading.Timer(rng.uniform(0.0, LONGEST), os.kill, (child, signal.SIGKILL))
        most = rng.randrange(MOST)

        def enough(acknowledged: int) -> None:
            if acknowledged >= most and not killer.ident:
                killer.start()

        person = Person(http.client.HTTPConnection("127.0.0.1", port, timeout=60), rng, sentences, enough)
        person.work()
        killer.join()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    after = [one for one in journal(path)[before:] if one != ("label", "X")]  # a label that comes with the tags
    said = person.said
    if after[: len(said)] != said or len(after) > len(said) + 1:
        raise AssertionError(f"acknowledged {len(said)}, found {len(after)}: {said[-3:]} {after[-3:]}")
    return len(said), len(after) - len(said)


def main() -> None:
    """Kill as often as asked, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    # training from scratch in a thread, so that snapshots are written often enough to be hit
    retraining.Process.train = _train_here  # type: ignore[method-assign]
    warm_up("spans")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as room:
        text, path = Path(room, "text.txt"), Path(room, "killed.teach")
        texts = [" ".join(one.words) for one in read(sample_path("train"))][:60]
        text.write_text("\n\n".join(texts))
        make_project(path, [text], ["X"])
        store = Store(path)
        sentences = len(store.sentences)
        store.close()
        acknowledged, further = 0, 0
        for number in range(1, options.kills + 1):
            said, more = kill_once(path, rng, sentences)
            acknowledged, further = acknowledged + said, further + more
            if sys.stderr.isatty():
                print(f"\r{number} kills, {acknowledged} changes", end="", file=sys.stderr)
        snapshot = Store(path).snapshot()
        print(
            f"{options.kills} kills, {acknowledged:,} acknowledged changes, none lost, {further} more on their way; "
            f"the model up to event {snapshot.seq if snapshot else 0} loads; {time.monotonic() - started:.0f} s"
        )


def _train_here(self: Any, kind: str, pairs: Any, base: bytes | None) -> bytes:
    return model_bytes(pupil.train_on_all(kind, pairs, Tagger(model_from_bytes(base)) if base else None).model)


if __name__ == "__main__":
    main()
