"""How long the first run takes on a fresh machine, beside an older commit: python benchmarks/first_minute.py [--make]

Each command runs with an empty cache, so it compiles what it needs; then again, with what the first run left. With
--make also `make demo` in a fresh clone, which installs the package first. Both commits run in turn. Waiting time
suffers from whatever else the machine does, processor time hardly; but it leaves out the processes that compile beside
the command.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAIN = [sys.executable, "-c", "from sapo.cli import main; main()"]
OLDER = "971f8e4"


def measure(command: list[str], env: dict[str, str], cwd: Path) -> tuple[float, float]:
    """Run a command; return the seconds of waiting and of the processor."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=env, cwd=cwd, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    waited, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return waited, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(tree: Path, room: Path) -> dict[str, list[str]]:
    """What a newcomer runs first."""
    sample = room / "train.txt"
    if not sample.exists():
        sentences = "".join(f"the DT\ncat{n} NN\nsleeps VBZ\nin IN\nOslo{n} NNP\n. .\n\n" for n in range(200))
        sample.write_text(sentences)
    return {
        "sapo train": [*MAIN, "train", str(sample), "-o", str(room / "model"), "--quiet"],
        "sapo demo": [*MAIN, "demo"],
    }


def first_and_second(tree: Path, room: Path) -> dict[str, tuple[float, float]]:
    """Measure each command with an empty cache, and once more."""
    found = {}
    for name, command in commands(tree, room).items():
        with tempfile.TemporaryDirectory() as cache:
            env = {**os.environ, "PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": cache}
            found[f"{name}, first"] = measure(command, env, room)
            found[f"{name}, second"] = measure(command, env, room)
    return found


def make_demo(tree: Path, room: Path) -> tuple[float, float]:
    """Measure `make demo` in a fresh clone with empty caches, but for that of pip."""
    clone = room / f"clone-{tree.name}"
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True).stdout
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    subprocess.run(["git", "checkout", "-q", head.strip()], cwd=clone, check=True)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"NUMBA_CACHE_DIR": str(clone / "cache"), "PYTHON": sys.executable}
    return measure(["make", "demo"], env, clone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--older", default=OLDER, help="the commit to compare with")
    parser.add_argument("--make", action="store_true", help="also measure make demo in a fresh clone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        room, older = Path(place), Path(place) / "older"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(older), given.older], cwd=ROOT, check=True)
        try:
            trees = {"older": older, "now": ROOT}
            found = {name: first_and_second(tree, room) for name, tree in trees.items()}
            if given.make:
                for name, tree in trees.items():
                    found[name]["make demo"] = make_demo(tree, room)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(older)], cwd=ROOT, check=True)
    print("| run | waiting, older | now | ratio | processor, older | now | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for run, (waited, used) in found["older"].items():
        waited_now, used_now = found["now"][run]
        print(
            f"| {run} | {waited:.1f} s | {waited_now:.1f} s | {waited_now / waited:.2f} "
            f"| {used:.1f} s | {used_now:.1f} s | {used_now / used:.2f} |"
        )


if __name__ == "__main__":
    main()
