"""How long a person waits for `sapo teach`: from accepting a sentence to fresh tags on a screen of 50 sentences.

    python benchmarks/teach_latency.py --data DIRECTORY --accepts 300 --clients 32

Trains a model on the words of CoNLL-2000, starts `sapo teach` with it on the test sentences, and measures over HTTP on
the same machine: one person alone; 32 people who look at screens and ask for taggings as fast as they are answered,
while one accepts; 32 people who each accept a sentence about once a second. Beside the time on the clock it prints the
processor time of the server for each accepted sentence, which other programs on the machine do not change.
"""

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.apps.http import write_json
from sapo.apps.teach import messages
from sapo.apps.teach.app import Hub, opened
from sapo.apps.teach.project import make_project
from sapo.apps.teach.retraining import Habits
from sapo.corpus.formats import read

SCREEN = 50


class Person:
    """A connection to the server; `waits` has the seconds of each answer, `served` what the server says of them."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.waits: list[float] = []
        self.served: list[float] = []
        self._version: int | None = None  # of the model, on the screen
        self.failed = 0
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method: str, path: str, message: Any = None) -> Any:
        body = None if message is None else json.dumps(message)
        started = time.perf_counter()
        self._connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        reply = self._connection.getresponse()
        answer = reply.read()
        self.waits.append(time.perf_counter() - started)
        self.served.append(float(reply.headers["Server-Timing"].partition("dur=")[2]) / 1000)
        self.failed += reply.status != 200
        return json.loads(answer)

    def accept(self, number: int, tags: Sequence[str], last: int) -> None:
        visible = [(number + step) % last + 1 for step in range(SCREEN)]
        message = {"id": number, "tags": tags, "author": self.name, "visible": visible, "version": self._version}
        self._version = self.ask("POST", "/api/accept", message)["model"]["version"]


def processor_seconds(process: "subprocess.Popen[str]") -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def told_of(title: str, people: Sequence[Person]) -> None:
    """Print how long people waited, and how long the server took from the head of a request to its answer."""
    failed = sum(one.failed for one in people)
    told(title, [wait for one in people for wait in one.waits], failed)
    told("    by the clock of the server", [wait for one in people for wait in one.served], failed)


def told(title: str, waits: Sequence[float], failed: int) -> None:
    """Print the quantiles of waits."""
    share = np.quantile(waits, [0.5, 0.95, 0.99, 1.0]) * 1000
    print(
        f"{title:<52} {len(waits):>6} answers, {failed} lost; "
        f"50 %: {share[0]:6.1f} ms  95 %: {share[1]:6.1f} ms  99 %: {share[2]:6.1f} ms  all: {share[3]:6.1f} ms"
    )


def alone(port: int, process: Any, gold: Sequence[Sequence[str]], accepts: int) -> None:
    """One person accepts one sentence after the other."""
    person = Person(port, "anna")
    for number in range(1, 11):  # the first ones are slower
        person.accept(number, gold[number - 1], len(gold))
    person.waits.clear()
    person.served.clear()
    before = processor_seconds(process)
    for number in range(11, 11 + accepts):
        person.accept(number, gold[number - 1], len(gold))
        time.sleep(0.05)
    used = processor_seconds(process) - before
    told_of("accept, screen of 50, one person", [person])
    print(f"{'':<52} processor time of the server: {1000 * used / accepts:.1f} ms for each, with work in idle time")


def inside(project: Path, gold: Sequence[Sequence[str]], accepts: int) -> None:
    """Accept in this process, without HTTP, and print the processor time of the thread that answers."""
    with opened(project, Hub(), lambda line: None, Habits(first=10**9)) as classroom:
        used = []
        for number in range(1, accepts + 1):
            visible = [(number + step) % len(gold) + 1 for step in range(SCREEN)]
            form = messages.AcceptForm(id=number, tags=list(gold[number - 1]), author="anna", visible=visible)
            started = time.thread_time()
            (answer,) = classroom.accept([form])
            write_json(answer)
            used.append(time.thread_time() - started)
    told("accept, screen of 50, processor time of the server", used[10:], 0)


def among_readers(port: int, gold: Sequence[Sequence[str]], accepts: int, clients: int) -> None:
    """One person accepts while others look at screens and ask for the best taggings."""
    stop = threading.Event()
    readers = [Person(port, f"reader{number}") for number in range(clients)]

    def read_on(person: Person, seed: int) -> None:
        rng = random.Random(seed)
        while not stop.is_set():
            first = rng.randrange(1, len(gold) - SCREEN)
            if rng.random() < 0.5:
                ids = ",".join(str(first + step) for step in range(SCREEN))
                person.ask("GET", f"/api/sentences?ids={ids}")
            else:
                person.ask("GET", f"/api/sentences/{first}/nbest?n=5")
            time.sleep(rng.uniform(0.5, 1.5))  # a person looks at what comes

    threads = [threading.Thread(target=read_on, args=(one, seed)) for seed, one in enumerate(readers)]
    for thread in threads:
        thread.start()
    person = Person(port, "anna")
    for number in range(400, 400 + accepts):
        person.accept(number, gold[number - 1], len(gold))
        time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()
    told_of(f"accept, among {clients} readers", [person])
    told_of(f"screens of 50 and n-best of {clients} readers", readers)


def together(port: int, gold: Sequence[Sequence[str]], clients: int, each: int) -> None:
    """Many people accept sentences, each about one a second, with a screen of their own."""
    people = [Person(port, f"person{number}") for number in range(clients)]

    def work(person: Person, number: int) -> None:
        rng = random.Random(number)
        for step in range(each):
            time.sleep(rng.uniform(0.5, 1.5))
            sentence = (700 + number * each + step) % len(gold)
            person.accept(sentence + 1, gold[sentence], len(gold))

    threads = [threading.Thread(target=work, args=(one, number)) for number, one in enumerate(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told_of(f"accept, {clients} people, a screen of 50 each", people)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SAPO_DATA", ".")))
    parser.add_argument("--accepts", type=int, default=300)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--model", type=Path, help="a model of words to begin with, instead of training one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sapo-teach-") as room:
        measure(Path(room), options)


def measure(room: Path, options: argparse.Namespace) -> None:
    """Make a project in a directory, and measure with it."""
    model = options.model or room / "chunk.sapo"
    if not model.exists():
        train = [(one.words, one.tags) for one in read(options.data / "conll2000" / "train.txt.gz")]
        sapo.train(train, template="ner", rate=0.2, strength=0.3, epochs=10).save(model)
    test = list(read(options.data / "conll2000" / "test.txt.gz"))
    gold = [list(one.tags or ()) for one in test]
    (room / "test.jsonl").write_text("".join(json.dumps({"tokens": list(one.words)}) + "\n" for one in test))
    make_project(room / "bench.teach", [room / "test.jsonl"], model=model)
    inside(room / "bench.teach", gold, min(options.accepts, 200))
    (room / "bench.teach").unlink()
    make_project(room / "bench.teach", [room / "test.jsonl"], model=model)
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{len(test):,} sentences; {sapo.Tagger.load(model).model.encoder.features:,} features in the model file")
    command = [sys.executable, "-m", "sapo", "teach", str(room / "bench.teach"), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"open http://127\.0\.0\.1:(\d+)/", line) for line in process.stderr)))
        port = int(found[1])
        threading.Thread(target=process.stderr.read, daemon=True).start()
        alone(port, process, gold, options.accepts)
        among_readers(port, gold, options.accepts // 3, options.clients)
        together(port, gold, options.clients, 10)
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
