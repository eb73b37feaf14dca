"""Faults for all commands that write: python -m fuzz.faults --kills 20

Each command is killed at a random moment, stopped by SIGTERM, given a disk that is full, a directory that is read-only,
an input that vanishes, and a clock that jumps. Afterwards its target must be the old file or the new one, whole;
nothing else may be left; and there may be no traceback.
"""

import argparse
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

import sapo
from sapo.corpus.sample import sample_path

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "templates-2.sapo"
FAST = ("-e", "2", "--rate", "0.1", "--strength", "1", "-q")
COMMANDS: dict[str, Sequence[str]] = {
    "train": ("train", "train.txt", "-o", "OUT", *FAST),
    "train-checkpoint": ("train", "train.txt", "-o", "OUT", *FAST, "--checkpoint", "OUT.state", "--log", "OUT.log"),
    "continue": ("train", "train.txt", "-o", "OUT", "--continue", "model.sapo", "--new-labels", "-e", "1", "-q"),
    "tag": ("tag", "model.sapo", "train.txt", "-o", "OUT"),
    "convert": ("convert", "train.txt", "OUT.jsonl"),
    "convert-gz": ("convert", "train.txt", "OUT.txt.gz"),
    "prune": ("prune", "model.sapo", "-o", "OUT", "--below", "0.01"),
    "split": ("split", "train.txt", "-o", "OUT.parts"),
}
ALLOWED = ("OUT", "train.txt", "model.sapo")
OLD = b"an old file\n"


def environment() -> dict[str, str]:
    """Return what a command runs in."""
    return {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent), "TMPDIR": "."}


def prepare(room: Path, sentences: int = 60) -> None:
    """Put the inputs into a directory."""
    lines = sample_path("train").read_text("utf-8").split("\n\n")[:sentences]
    rows = ["\n".join(" ".join(line.split()[:3]) for line in one.splitlines()) for one in lines]
    (room / "train.txt").write_text("\n\n".join(rows) + "\n\n", "utf-8")
    (room / "model.sapo").write_bytes(GOLDEN.read_bytes())
    (room / "OUT").write_bytes(OLD)


def start(room: Path, name: str, before: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "sapo", *COMMANDS[name]],
        cwd=room,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=before,
    )


def faults_of(room: Path, name: str, told: bytes) -> list[str]:
    """Return what is wrong after a command has ended in whatever way."""
    wrong = ["a traceback: " + told.decode(errors="replace")[-300:]] if b"Traceback" in told else []
    for path in room.iterdir():
        if path.name.startswith(".") or not path.name.startswith(ALLOWED):
            wrong.append(f"left behind: {path.name}")
    out = room / "OUT"
    if name in ("train", "train-checkpoint", "continue", "prune") and out.read_bytes() != OLD:
        try:
            sapo.Tagger.load(out)
        except sapo.SapoError as error:
            wrong.append(f"torn: {error}")
    if name == "tag" and out.read_bytes() != OLD and not out.read_bytes().endswith(b"\n\n"):
        wrong.append("torn: OUT")
    return wrong


def killed(room: Path, name: str, number: int, longest: float, rng: random.Random) -> list[str]:
    """Send a signal at a random moment."""
    with start(room, name) as process:
        time.sleep(rng.random() * longest)
        process.send_signal(number)
        told = process.communicate(timeout=60)[1]
    return faults_of(room, name, told)


def full_disk(room: Path, name: str) -> list[str]:
    """Let no file become larger than 2 KB."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))  # noqa: E731
    with start(room, name, limit) as process:
        told = process.communicate(timeout=120)[1]
    return faults_of(room, name, told)


def read_only(room: Path, name: str) -> list[str]:
    """Write into a directory that cannot be written to. The superuser can: then nothing is tried."""
    if os.geteuid() == 0:
        return []
    room.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with start(room, name) as process:
            told = process.communicate(timeout=120)[1]
    finally:
        room.chmod(stat.S_IRWXU)
    return faults_of(room, name, told)


def vanished(room: Path, name: str) -> list[str]:
    """Take the input away while it is read."""
    with start(room, name) as process:
        time.sleep(0.1)
        (room / "train.txt").unlink()
        told = process.communicate(timeout=120)[1]
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
    done = subprocess.run(command, cwd=room, env=environment(), capture_output=True, timeout=120)
    wrong = faults_of(room, name, done.stderr)
    return wrong if done.returncode == 0 else [*wrong, f"exit code {done.returncode}: {done.stderr[-200:]!r}"]


def run(names: Sequence[str], kills: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Try all faults on these commands; return how often each was tried, and what went wrong."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []

    def attempt(fault: str, name: str, use: Callable[[Path], list[str]]) -> None:
        with tempfile.TemporaryDirectory(prefix="sapo-faults-") as directory:
            room = Path(directory)
            prepare(room)
            counts[fault] += 1
            wrong.extend(f"{name}, {fault}: {one}" for one in use(room))

    for name in names:
        begin = time.monotonic()
        attempt("none", name, lambda room, name=name: _undisturbed(room, name))
        longest = time.monotonic() - begin
        for fault, number in (("kill -9", signal.SIGKILL), ("SIGTERM", signal.SIGTERM)):
            for _ in range(kills):
                attempt(fault, name, lambda room, name=name, n=number, long=longest: killed(room, name, n, long, rng))
        for fault, use in (("full disk", full_disk), ("read-only", read_only), ("vanished input", vanished)):
            attempt(fault, name, lambda room, name=name, use=use: use(room, name))
        attempt("clock jump", name, lambda room, name=name: clock(room, name))
        print(f"{name:18} {kills * 2 + 5} faults; {len(wrong)} wrong so far", flush=True)
    return counts, wrong


def _undisturbed(room: Path, name: str) -> list[str]:
    with start(room, name) as process:
        told = process.communicate(timeout=120)[1]
    wrong = faults_of(room, name, told)
    return wrong if process.returncode == 0 else [*wrong, f"exit code {process.returncode}: {told[-300:]!r}"]


def main() -> int:
    """Run the matrix; return 1 if something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each kind, for each command")
    parser.add_argument("--command", action="append", choices=COMMANDS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, wrong = run(given.command or list(COMMANDS), given.kills, given.seed)
    print(", ".join(f"{fault} {count}" for fault, count in counts.items()))
    print("\n".join(wrong) or "nothing went wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
