"""Faults for all commands that write: python -m fuzz.faults --kills 20

Each command is killed at a random moment, stopped by SIGTERM, given a disk that is full, a directory that is read-only,
an input that vanishes, and a clock that jumps. Afterwards its target must be the old file or the new one, whole;
nothing else may be left; and there may be no traceback. A run that was killed and is resumed must give the same model.

Commands that are killed are forked from this process, which has loaded all that they need. So they are killed at work,
and not while Python starts.
"""

import argparse
import functools
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sapo
from fuzz.forking import Forked, warm_up
from sapo.apps.teach.state import ACCEPT, LABEL, Draft, TaughtSentence
from sapo.apps.teach.store import Store, create
from sapo.corpus.files import MODEL
from sapo.corpus.sample import sample_path
from sapo.tagger.file import model_bytes

Files = dict[str, bytes]  # by their names
FAST = ("-e", "2", "--rate", "0.1", "--strength", "1", "-q")
COMMANDS: dict[str, Sequence[str]] = {
    "train": ("train", "train.txt", "-o", "OUT", *FAST),
    "train-checkpoint": ("train", "train.txt", "-o", "OUT", *FAST, "--checkpoint", "OUT.state", "--log", "OUT.log"),
    "train-log": ("train", "train.txt", "-o", "OUT", *FAST, "--dev", "train.txt", "--log", "OUT.log"),
    "continue": ("train", "train.txt", "-o", "OUT", "--continue", "model.sapo", "--new-labels", "-e", "1", "-q"),
    "tag": ("tag", "model.sapo", "train.txt", "-o", "OUT"),
    "tag-nbest": ("tag", "model.sapo", "train.txt", "-o", "OUT", "--nbest", "3"),
    "pipeline": ("pipeline", "train.txt", "-o", "OUT", "--add", "chunks=model.sapo"),
    "convert": ("convert", "train.txt", "OUT.jsonl"),
    "convert-gz": ("convert", "train.txt", "OUT.txt.gz"),
    "convert-brat": ("convert", "train.txt", "OUT.brat", "--to", "brat"),
    "cluster": ("cluster", "train.txt", "-o", "OUT", "--clusters", "20", "-q"),
    "check": ("check", "train.txt", "--fix", "OUT", "--html", "OUT.html"),
    "errors": ("errors", "model.sapo", "train.txt", "--html", "OUT.html"),
    "explain": ("explain", "model.sapo", "The/DT cat/NN", "--token", "2", "--html", "OUT.html"),
    "prune": ("prune", "model.sapo", "-o", "OUT", "--below", "0.01"),
    "prune-in-place": ("prune", "model.sapo", "--below", "0.01"),
    "calibrate": ("calibrate", "model.sapo", "train.txt", "-o", "OUT"),
    "convert-split": ("convert", "train.txt", "OUT.parts", "--split", "80,10,10"),
    "demo": ("demo", "OUT.sample"),
    "stream": ("train", "train.txt", "-o", "OUT", *FAST, "--stream", "OUT.cache"),
    "teach-import": ("teach", "project.teach", "--import", "train.txt", "-q"),
    "teach-export": ("teach", "project.teach", "--export", "OUT.jsonl", "-q"),
}
MODELS = ("train", "train-checkpoint", "train-log", "continue", "prune", "calibrate", "stream")  # OUT is a model
RESUMED = {"train-checkpoint": "OUT.state", "stream": "OUT.cache/checkpoint"}
CACHE = "OUT.cache/"
PROJECT = "project.teach"
SLOWEST = 600  # seconds for a command, on a machine that has other work
ALLOWED = ("OUT", "train.txt", "model.sapo", PROJECT)
OLD = bytes(8) + MODEL + b" an old file\n"  # begins as a model does, so that no command refuses to replace it
TAUGHT = {"teach-import": ((1, 2), (61, 68)), "teach-export": ((1, 2),)}  # sentences and events, before and after


def environment() -> dict[str, str]:
    """Return what a command runs in."""
    return {
        **os.environ,
        "PYTHONPATH": str(Path(sapo.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",  # on a full disk Python would keep half of a compiled module
        "TMPDIR": ".",
    }


@functools.cache
def inputs(sentences: int = 60) -> Files:
    """Return the files that are there before a command runs."""
    lines = sample_path("train").read_text("utf-8").split("\n\n")[:sentences]
    rows = ["\n".join(" ".join(line.split()[:3]) for line in one.splitlines()) for one in lines]
    text = ("\n\n".join(rows) + "\n\n").encode()
    return {"train.txt": text, "model.sapo": _model(text), "OUT": OLD, PROJECT: _project()}


def _model(text: bytes) -> bytes:
    """Return a small model that was trained on these sentences."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "train.txt")
        path.write_bytes(text)
        return model_bytes(sapo.train(path, template="chunking", epochs=3, rate=0.2, strength=0.3).model)


@functools.cache
def _project() -> bytes:
    """Return a project of `sapo teach` with an accepted sentence."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, PROJECT)
        events = [Draft(LABEL, "anna", name="NP"), Draft(ACCEPT, "anna", 1, ("B-NP", "O"))]
        create(path, "spans", [TaughtSentence("Ann sees", ((0, 3), (4, 8)))], events, None)
        return path.read_bytes()


def taught(path: Path) -> tuple[int, int]:
    """Return how many sentences and events a project has."""
    store = Store(path)
    try:
        return len(store.sentences), len(store.state.log)
    finally:
        store.close()


def prepare(room: Path, sentences: int = 60) -> None:
    """Put the inputs into a directory."""
    for name, data in inputs(sentences).items():
        (room / name).write_bytes(data)


def start(
    room: Path, name: str, before: Callable[[], None] | None = None, more: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "sapo", *COMMANDS[name], *more],
        cwd=room,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=before,
    )


def fork(room: Path, name: str, more: Sequence[str] = ()) -> Forked:
    """Start a command in a child of this process."""
    return Forked(room, [*COMMANDS[name], *more])


def contents(room: Path) -> Files:
    """Return the files of a directory."""
    return {str(path.relative_to(room)): path.read_bytes() for path in sorted(room.rglob("*")) if path.is_file()}


def faults_of(room: Path, name: str, told: bytes, wanted: Files | None = None) -> list[str]:
    """Return what is wrong after a command has ended in whatever way; `wanted` is what it writes if nothing happens."""
    wrong = ["a traceback: " + told.decode(errors="replace")[-300:]] if b"Traceback" in told else []
    found, before = contents(room), inputs()
    for path, data in found.items():
        if Path(path).name.startswith(".") or not path.startswith(ALLOWED):
            wrong.append(f"left behind: {path}")
        elif path.endswith((".log", ".state")):  # these hold times
            wrong += ["torn: OUT.log"] if path.endswith(".log") and data and not data.endswith(b"\n") else []
        elif path.startswith((CACHE, PROJECT)):  # the cache goes on by itself, and a project is opened below
            pass
        elif wanted is not None and data not in (before.get(path), wanted.get(path)):
            wrong.append(f"torn: {path} has {len(data)} bytes, and {len(wanted.get(path, b''))} if nothing happens")
    if name in MODELS and found["OUT"] != OLD:
        try:
            sapo.Tagger.load(room / "OUT")
        except sapo.SapoError as error:
            wrong.append(f"torn: {error}")
    if name.startswith("teach") and taught(room / PROJECT) not in TAUGHT[name]:
        wrong.append(f"torn: the project has {taught(room / PROJECT)} sentences and events")
    if name == "tag" and found["OUT"] != OLD and not found["OUT"].endswith(b"\n\n"):
        wrong.append("torn: OUT")
    return wrong


def killed(room: Path, name: str, number: int, longest: float, rng: random.Random, **more: Any) -> list[str]:
    """Send a signal at a random moment. `launch` starts the command; `wanted` is as in `faults_of`."""
    launch, wanted = more.get("launch", start), more.get("wanted")
    with launch(room, name) as process:
        time.sleep(rng.random() * longest)
        process.send_signal(number)
        told = process.communicate(timeout=SLOWEST)[1]
    if name == "convert-brat":  # a directory has a name while it is written; the next run removes what was left of it
        with launch(room, name) as process:
            told += process.communicate(timeout=SLOWEST)[1]
    wrong = faults_of(room, name, told, wanted)
    if name in RESUMED and wanted is not None:
        with launch(room, name, more=["--resume"] if (room / RESUMED[name]).exists() else []) as process:
            told = process.communicate(timeout=SLOWEST)[1]
        wrong += faults_of(room, name, told, wanted)
        if (room / "OUT").read_bytes() != wanted["OUT"]:
            wrong.append("the resumed run gives another model")
        left = set(contents(room)) - set(wanted)
        wrong += [f"left behind: {left}"] if left else []
    return wrong


def full_disk(room: Path, name: str) -> list[str]:
    """Let no file become larger than 2 KB."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))  # noqa: E731
    with start(room, name, limit) as process:
        told = process.communicate(timeout=SLOWEST)[1]
    return faults_of(room, name, told)


def read_only(room: Path, name: str) -> list[str]:
    """Write into a directory that cannot be written to. The superuser can: then nothing is tried."""
    if os.geteuid() == 0:
        return []
    room.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with start(room, name) as process:
            told = process.communicate(timeout=SLOWEST)[1]
    finally:
        room.chmod(stat.S_IRWXU)
    return faults_of(room, name, told)


def vanished(room: Path, name: str) -> list[str]:
    """Take the input away while it is read."""
    with start(room, name) as process:
        time.sleep(0.1)
        (room / "train.txt").unlink()
        told = process.communicate(timeout=SLOWEST)[1]
    return faults_of(room, name, told)


JUMP = """
import time, runpy, sys
real, calls = time.perf_counter, [0]
def jumping():
    calls[0] += 1
    return real() + (-1e6 if calls[0] % 2 else 1e6)
time.perf_counter = time.monotonic = jumping
time.time = lambda: -5.0
sys.argv[0] = "sapo"
from sapo.cli import main
main()
"""


def clock(room: Path, name: str) -> list[str]:
    """Let the clock jump to and fro."""
    command = [sys.executable, "-c", JUMP, *COMMANDS[name]]
    done = subprocess.run(command, cwd=room, env=environment(), capture_output=True, timeout=SLOWEST)
    wrong = faults_of(room, name, done.stderr)
    return wrong if done.returncode == 0 else [*wrong, f"exit code {done.returncode}: {done.stderr[-200:]!r}"]


OTHERS = (("full disk", full_disk), ("read-only", read_only), ("vanished input", vanished), ("clock jump", clock))


def run(names: Sequence[str], kills: int, seed: int, *, others: bool = True) -> tuple[Counter[str], list[str]]:
    """Try all faults on these commands, or only signals; return how often each was tried, and what went wrong."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []

    def attempt(fault: str, name: str, use: Callable[[Path], list[str]]) -> None:
        with tempfile.TemporaryDirectory(prefix="sapo-faults-") as directory:
            room = Path(directory)
            prepare(room)
            counts[fault] += 1
            wrong.extend(f"{name}, {fault}: {one}" for one in use(room))

    with tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory))
        warm_up(Path(directory, "train.txt"), Path(directory, "model.sapo"))
    for name in names:
        wanted: Files = {}
        attempt("none", name, lambda room, name=name, wanted=wanted: _undisturbed(room, name, wanted))
        begin = time.monotonic()
        attempt("none", name, lambda room, name=name, wanted=wanted: _undisturbed(room, name, wanted))
        longest = time.monotonic() - begin
        how = {"launch": fork, "wanted": wanted, "longest": longest, "rng": rng}
        for fault, number in (("kill -9", signal.SIGKILL), ("SIGTERM", signal.SIGTERM)):
            for _ in range(kills if number == signal.SIGKILL else max(1, kills // 5)):
                attempt(fault, name, lambda room, name=name, n=number, how=how: killed(room, name, n, **how))
        for fault, use in OTHERS if others else ():
            attempt(fault, name, lambda room, name=name, use=use: use(room, name))
        print(f"{name:18} {counts['kill -9']:5} kills so far, within {longest:.2f} s; {len(wrong)} wrong", flush=True)
    return counts, wrong


def _undisturbed(room: Path, name: str, wanted: Files) -> list[str]:
    """Run a command to its end, and put what it writes into `wanted`; it must write the same each time."""
    with fork(room, name) as process:
        told = process.communicate(timeout=SLOWEST)[1]
    wrong = faults_of(room, name, told, wanted or None)
    wanted.update(contents(room))
    return wrong if process.returncode == 0 else [*wrong, f"exit code {process.returncode}: {told[-300:]!r}"]


def main() -> int:
    """Run the matrix; return 1 if something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each command; a fifth of it by SIGTERM")
    parser.add_argument("--kills-only", action="store_true", help="try no other faults")
    parser.add_argument("--command", action="append", choices=COMMANDS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, wrong = run(given.command or list(COMMANDS), given.kills, given.seed, others=not given.kills_only)
    print(", ".join(f"{fault} {count}" for fault, count in counts.items()))
    print("\n".join(wrong) or "nothing went wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
