"""sapo beside python-crfsuite on CoNLL-2000, in one run: ratios, since machines differ and are noisy.

    SAPO_DATA=DIRECTORY python benchmarks/run.py [PART ...]

Parts: accuracy, pass, train, tag, threads, memory, start. Without any, all of them (about five minutes).
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
SAPO = str(Path(sys.executable).with_name("sapo"))
PEER = [sys.executable, str(HERE / "crfsuite_peer.py")]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(*command: str) -> tuple[float, float, str]:
    """Wall seconds, peak megabytes and output of a command."""
    with tempfile.NamedTemporaryFile("r") as usage:
        done = subprocess.run(
            [sys.executable, "-c", WATCH, usage.name, *command],
            env=ONE_THREAD,
            capture_output=True,
            text=True,
            check=True,
        )
        measured = json.loads(Path(usage.name).read_text())
    return measured["seconds"], measured["peak_mb"], done.stdout


# The peak of a child's memory is only known to its parent: a small parent for each command.
WATCH = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.run(sys.argv[2:]).returncode
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
json.dump({"seconds": seconds, "peak_mb": peak}, open(sys.argv[1], "w"))
sys.exit(code)
"""


class Bench:
    """The corpora unpacked in a room of their own, and what several parts need."""

    def __init__(self, room: Path) -> None:
        corpora = Path(os.environ["SAPO_DATA"]) / "conll2000"
        self.room = room
        self.train = str(room / "train.txt")
        self.test = str(room / "test.txt")
        for name in ("train", "test"):
            (room / f"{name}.txt").write_bytes(gzip.decompress((corpora / f"{name}.txt.gz").read_bytes()))
        self.model = str(room / "chunk.sapo")
        self.million = str(room / "million.txt")
        (room / "million.txt").write_bytes((room / "test.txt").read_bytes().rstrip(b"\n").join([b"", b"\n\n"]) * 21)
        self.sapo_train("--epochs", "1")  # compile once, outside of all measurements
        run(SAPO, "tag", self.model, self.test, "-o", str(room / "warm.txt"))

    def sapo_train(self, *options: str, output: str | None = None) -> tuple[float, float]:
        command = [SAPO, "train", self.train, "-t", "chunking", "-o", output or self.model, "--quiet", *options]
        seconds, peak, _ = run(*command)
        return seconds, peak

    def f1(self, tagged: str) -> float:
        return float(json.loads(run(SAPO, "eval", tagged, "--json")[2])["overall"]["f1"])


def accuracy(bench: Bench) -> None:
    """Default settings, seeds 0, 1, 2."""
    scores = []
    for seed in ("0", "1", "2"):
        bench.sapo_train("--seed", seed)
        found = json.loads(run(SAPO, "eval", bench.model, bench.test, "--json")[2])
        scores.append((100 * found["overall"]["f1"], 100 * found["token_accuracy"]))
        print(f"accuracy: seed {seed}: F1 {scores[-1][0]:.2f}, token accuracy {scores[-1][1]:.2f}")
    print(f"accuracy: mean F1 {statistics.mean(f1 for f1, _ in scores):.2f}")


def one_pass(bench: Bench) -> None:
    """One pass with n=5 against one iteration of the averaged perceptron, taking turns."""
    ours, theirs = [], []
    for _ in range(3):
        log = bench.room / "log.jsonl"
        bench.sapo_train("--epochs", "8", "--log", str(log))
        ours += [json.loads(line)["seconds"] for line in log.read_text().splitlines()[1:]]
        iterations = json.loads(run(*PEER, "train", bench.train, str(bench.room / "ap.crf"), "ap", "8")[2])
        theirs += iterations["iterations"]
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"pass: sapo {a:.3f} s, crfsuite averaged perceptron {b:.3f} s (medians of {len(ours)}), ratio {a / b:.2f}")


def file_to_model(bench: Bench) -> None:
    """`sapo train` with its defaults against L-BFGS from the same file, F1 on test beside it."""
    ours = min(bench.sapo_train()[0] for _ in range(3))
    found = json.loads(run(SAPO, "eval", bench.model, bench.test, "--json")[2])
    model, tagged = str(bench.room / "lbfgs.crf"), str(bench.room / "lbfgs.txt")
    theirs, _, _ = run(*PEER, "train", bench.train, model, "lbfgs")
    speed = json.loads(run(*PEER, "tag", bench.test, model, tagged)[2])["tokens_per_second"]
    print(f"train: sapo {ours:.1f} s (F1 {100 * found['overall']['f1']:.2f}), crfsuite L-BFGS {theirs:.1f} s ", end="")
    print(f"(F1 {100 * bench.f1(tagged):.2f}), {theirs / ours:.1f} times faster; crfsuite tags {speed:,.0f} tokens/s")


def tagging(bench: Bench) -> None:
    """A million tokens, file in to file out; the time of a small file is the start-up."""
    out = str(bench.room / "tagged.txt")
    million = min(run(SAPO, "tag", bench.model, bench.million, "-o", out)[0] for _ in range(5))
    once = min(run(SAPO, "tag", bench.model, bench.test, "-o", out)[0] for _ in range(5))
    tokens = sum(bool(line.strip()) for line in Path(bench.test).read_text(encoding="utf-8").splitlines())
    speed = 20 * tokens / (million - once)
    print(f"tag: {speed:,.0f} tokens/s after start-up; {21 * tokens:,} tokens in {million:.2f} s, start-up and all")


def threads(bench: Bench) -> None:
    """Five million tokens in one thread and in two, start-up left out."""
    five = bench.room / "five.txt"
    five.write_bytes(Path(bench.million).read_bytes() * 5)
    out = str(bench.room / "tagged.txt")
    seconds = {}
    for count in ("1", "2"):
        command = (SAPO, "tag", bench.model, "-o", out, "--threads", count)
        whole = min(run(*command[:3], str(five), *command[3:])[0] for _ in range(3))
        small = min(run(*command[:3], bench.test, *command[3:])[0] for _ in range(3))
        seconds[count] = whole - small
    print(
        f"threads: one {seconds['1']:.2f} s, two {seconds['2']:.2f} s, {seconds['1'] / seconds['2']:.2f} times faster"
    )


def memory(bench: Bench) -> None:
    """Peak of training beside crfsuite's; peak of tagging a file and one 21 times as long."""
    ours = bench.sapo_train()[1]
    model = str(bench.room / "m.crf")
    listed, streamed = (run(*PEER, how, bench.train, model, "lbfgs", "10")[1] for how in ("train-lists", "train"))
    print(f"memory: training: sapo {ours:.0f} MB; crfsuite {listed:.0f} MB with its features in lists, as its ", end="")
    print(f"tutorial has them, {streamed:.0f} MB when they are handed over sentence by sentence")
    out = str(bench.room / "tagged.txt")
    small, large = (run(SAPO, "tag", bench.model, path, "-o", out)[1] for path in (bench.test, bench.million))
    print(f"memory: tagging: {small:.0f} MB for the test file, {large:.0f} MB for one 21 times as long")


def start(bench: Bench) -> None:
    """The shortest commands, cold."""
    one = bench.room / "one.txt"
    one.write_text(Path(bench.test).read_text(encoding="utf-8").split("\n\n")[0] + "\n\n", encoding="utf-8")
    for name, command in (
        ("sapo --help", [SAPO, "--help"]),
        ("sapo tag, one sentence", [SAPO, "tag", bench.model, str(one)]),
    ):
        times = [run(*command)[0] for _ in range(9)]
        print(f"start: {name}: {min(times):.2f} s (best of 9; median {statistics.median(times):.2f})")


PARTS: dict[str, Callable[[Bench], None]] = {
    "accuracy": accuracy,
    "pass": one_pass,
    "train": file_to_model,
    "tag": tagging,
    "threads": threads,
    "memory": memory,
    "start": start,
}


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown or "SAPO_DATA" not in os.environ:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as room:
        bench = Bench(Path(room))
        for name in chosen:
            PARTS[name](bench)


if __name__ == "__main__":
    main()
