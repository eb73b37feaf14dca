"""Train on a large corpus with --stream, and report the memory that it takes.

    python benchmarks/large_corpus.py large.txt
    python benchmarks/large_data.py large.txt CACHE -o model.sapo [OPTION OF sapo train ...]

Linux only. Prints what `sapo train` prints, each line with the seconds since the start and the memory at that moment,
and in the end the peaks: of all resident memory (VmHWM), which includes pages of files that the system can drop at any
time, and of memory that is not in a file (RssAnon, measured ten times a second).
"""

import subprocess
import sys
import threading
import time
from pathlib import Path

EVERY = 0.1  # seconds


def main() -> None:
    corpus, cache, *others = sys.argv[1:]
    command = [sys.executable, "-m", "sapo", "train", corpus, "--stream", cache, *others]
    started = time.monotonic()
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    status = Path(f"/proc/{running.pid}/status")
    peaks = {"RssAnon": 0.0, "VmHWM": 0.0}

    def watch() -> None:
        while running.poll() is None:
            for name, value in memory(status).items():
                if name in peaks:
                    peaks[name] = max(peaks[name], value)
            time.sleep(EVERY)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert running.stderr is not None
    for line in running.stderr:
        now = memory(status)
        places = f"{time.monotonic() - started:6.0f} s {now.get('RssAnon', 0):6.0f} MB"
        print(places, line.rstrip(), flush=True)
    watcher.join()
    print(f"peaks: {peaks['RssAnon']:.0f} MB not in files (RssAnon), {peaks['VmHWM']:.0f} MB in all (VmHWM)")
    raise SystemExit(running.returncode)


def memory(status: Path) -> dict[str, float]:
    """Return the memory of a process in megabytes, by the names of /proc; nothing once it has ended."""
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(size) / 1000 for name, size, _ in fields}


if __name__ == "__main__":
    main()
