"""One process beside two workers of Ray on this machine: the time of an epoch, or of tagging many files.

    python benchmarks/cluster.py train CORPUS CACHE [OPTION OF sapo train ...]
    python benchmarks/cluster.py tag MODEL DIRECTORY

Linux only. Training makes one epoch from shards (--stream), which are written first if they are not there. Tagging
takes a directory of column files: Ray tags them one by one, and the one process all of them as one file. Ray is started
and ended by the command at first, and then runs already, as on a cluster. The results must be the same. Everything runs
one after the other; the machine should have nothing else to do. Memory (RssAnon, once a second: more would take time
from the workers) is that of the largest process, and of all processes that the command started. So are the processor
seconds; those of a Ray that runs already are not among them. If one process takes much longer than its processor
seconds, the machine was busy, and the comparison is worth nothing.
"""

import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

WORKERS = 2
EVERY = 1.0  # seconds
SETTLE = 5.0  # seconds in which Ray starts its own processes
RAY = ["--ray", "local", "--workers", str(WORKERS)]


def run(name: str, *arguments: str) -> float:
    """Run sapo; return the seconds it took, and print them with those of the processor and the peaks of memory."""
    started = time.monotonic()
    running = subprocess.Popen([sys.executable, "-m", "sapo", *arguments])
    largest = together = 0
    processor: dict[int, float] = {}  # seconds of each process so far

    def watch() -> None:
        nonlocal largest, together
        while running.poll() is None:
            found = usage(running.pid)
            sizes = [0, *(size for size, _ in found.values())]
            largest, together = max(largest, *sizes), max(together, sum(sizes))
            processor.update((process, seconds) for process, (_, seconds) in found.items())
            time.sleep(EVERY)

    watcher = threading.Thread(target=watch)
    watcher.start()
    watcher.join()
    if running.returncode:
        raise SystemExit(running.returncode)
    seconds = time.monotonic() - started
    print(f"{name}: {seconds:.1f} s ({sum(processor.values()):.1f} s of the processor), ", end="")
    print(f"{largest / 1000:.0f} MB (largest), {together / 1000:.0f} MB (all)", flush=True)
    return seconds


def usage(root: int) -> dict[int, tuple[int, float]]:
    """Return the kilobytes and the processor seconds of a process and of all that it started."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = dict(line.split(":", 1) for line in (path / "status").read_text().splitlines())
            times = (path / "stat").read_text().rsplit(")", 1)[1].split()[11:13]  # after the name: user and system
        except OSError:
            continue
        if "RssAnon" in fields:
            parents[int(path.name)] = int(fields["PPid"])
            found[int(path.name)] = int(fields["RssAnon"].split()[0]), sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    mine = {root}
    while more := {process for process, parent in parents.items() if parent in mine and process not in mine}:
        mine |= more
    return {process: found[process] for process in mine if process in found}


def train(corpus: str, cache: str, *options: str) -> None:
    """Make an epoch in one process, and one with workers."""
    with tempfile.TemporaryDirectory() as room:
        seconds = []
        for name, ray in (("one process", []), (f"{WORKERS} workers", RAY)):
            log = Path(room) / f"{len(ray)}.jsonl"
            common = ["--stream", cache, "--epochs", "1", "--log", str(log), "-o", f"{room}/model.sapo"]
            run(name, "train", corpus, *common, *ray, *options)
            entries = [json.loads(line) for line in log.read_text().splitlines()]
            seconds += [entry["seconds"] for entry in entries if entry["event"] == "pass"]
            print(f"{name}: {seconds[-1]:.1f} s for the epoch", flush=True)
            mixings = [entry for entry in entries if entry["event"] == "mixing"]
            parts = [part for entry in mixings for part in entry["workers"]]
            if parts:
                names = ("seconds", "processor_seconds")
                means = [sum(part[name] for part in parts) / len(mixings) / WORKERS for name in names]
                idle = [sum(entry[name] for entry in mixings) / len(mixings) for name in ("seconds", "mixing_seconds")]
                print(
                    f"  a part {means[0]:.2f} s ({means[1]:.2f} s of the processor), waited {idle[0]:.2f} s for", end=""
                )
                print(f", mixing {idle[1]:.2f} s, {sum(entry['bytes'] for entry in mixings) / 1e6:.0f} MB", flush=True)
        print(f"{seconds[0] / seconds[1]:.2f} times as fast")


def tag(model: str, directory: str) -> None:
    """Tag in one process, and with workers."""
    files = sorted(path for path in Path(directory).iterdir() if path.is_file())
    with tempfile.TemporaryDirectory(dir=Path(directory).resolve().parent) as room:
        whole, tagged = Path(room) / "whole.txt", Path(room) / "tagged"
        join(files, whole)
        alone = run("one process", "tag", model, str(whole), "-o", f"{room}/one.txt")
        for name, address in (("", "local"), (", Ray runs already", "auto")):
            with running_ray() if address == "auto" else nullcontext():
                ray = ["--ray", address, "--workers", str(WORKERS)]
                seconds = run(f"{WORKERS} workers{name}", "tag", model, directory, "-o", str(tagged), *ray)
            join([tagged / path.name for path in files], whole)
            same = filecmp.cmp(whole, f"{room}/one.txt", shallow=False)
            print(
                f"{alone / seconds:.2f} times as fast, {'the same results' if same else 'DIFFERENT RESULTS'}",
                flush=True,
            )
            shutil.rmtree(tagged)


@contextmanager
def running_ray() -> Iterator[None]:
    """Start Ray as on a cluster of one machine, and end it."""
    ray = [str(Path(sys.executable).with_name("ray"))]
    options = ["--head", f"--num-cpus={os.cpu_count()}", "--include-dashboard=false", "--disable-usage-stats"]
    subprocess.run([*ray, "start", *options], check=True, stdout=subprocess.DEVNULL)
    time.sleep(SETTLE)
    try:
        yield
    finally:
        subprocess.run([*ray, "stop", "--force"], check=False, stdout=subprocess.DEVNULL)


def join(files: list[Path], target: Path) -> None:
    """Write files one after the other."""
    with target.open("wb") as stream:
        for path in files:
            with path.open("rb") as source:
                shutil.copyfileobj(source, stream)


if __name__ == "__main__":
    {"train": train, "tag": tag}[sys.argv[1]](*sys.argv[2:])
