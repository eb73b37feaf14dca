"""Try inputs on all targets for some time, keep what goes wrong, and count: python -m fuzz.run --seconds 60

With --engine atheris inputs are guided by coverage, one target at a time; without, changes are drawn at random from a
seed, which is several times as fast. Kernels are compiled with checks of bounds (they are interpreted under atheris).
"""

import argparse
import fcntl
import hashlib
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FINDINGS = HERE / "findings"
COUNTS = HERE / "counts.json"
SLOWEST = 10  # seconds for an input
TICK = 0.5  # seconds between two looks at whether an input still runs
POOL = 200  # inputs that are changed further
GROWTH = 2  # how much larger than the seeds they may be
LARGEST = 1 << 20  # KB of memory that the process may take more than before the input
REFUSED = 300 << 10  # KB, if the input is refused


class HangError(BaseException):
    """An input took too long."""


class Watch:
    """Raises HangError if an input runs for too many ticks.

    One timer for all inputs costs them nothing, and a process that is paused hears only one tick.
    """

    def __init__(self) -> None:
        self.number = 0  # of the input that runs; 0: none
        self._seen, self._ticks = 0, 0

    def start(self) -> None:
        signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _tick(self, signal_number: int, frame: object) -> None:
        self._ticks = self._ticks + 1 if self.number and self.number == self._seen else 0
        self._seen = self.number
        if self._ticks * TICK >= SLOWEST:
            self._ticks = 0
            raise HangError


def main() -> int:
    """Run the harness; return 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", action="append", help="a target, or the beginning of its name; default: all")
    parser.add_argument("--seed", type=int, default=None, help="default: drawn, and printed")
    parser.add_argument("--engine", choices=("own", "atheris"), default="own")
    given = parser.parse_args()
    if given.engine == "atheris":
        from fuzz.guided import run_guided

        return run_guided(given)
    from fuzz.targets import TARGETS, installed, quiet, use
    from sapo import jit

    jit.compile_kernels(boundscheck=True)
    quiet()
    names = [name for name in TARGETS if not given.target or any(name.startswith(one) for one in given.target)]
    for name in [name for name in names if not installed(name)]:
        print(f"{name}: left out, {TARGETS[name].needs} is not installed")
        names.remove(name)
    seed = int.from_bytes(os.urandom(4), "little") if given.seed is None else given.seed
    print(f"seed {seed}; {len(names)} targets; {given.seconds:.0f} s", flush=True)
    for name in names:  # kernels are compiled before any clock runs
        for data in TARGETS[name].seeds():
            use(name, data)
    watch = Watch()
    watch.start()
    tried = found = 0
    end = time.monotonic() + given.seconds
    for place, name in enumerate(names):
        share = (end - time.monotonic()) / (len(names) - place)
        done, wrong = try_out(name, time.monotonic() + share, random.Random(f"{seed} {name}"), watch)
        add_counts({name: done})
        tried += done
        found += wrong
        print(f"{name:28} {done:10,} inputs  {wrong} findings", flush=True)
    watch.stop()
    print(f"{tried:,} inputs, {found} findings")
    return int(found > 0)


def try_out(name: str, end: float, rng: random.Random, watch: Watch) -> tuple[int, int]:
    """Try changed inputs on a target until the time is over; return how many, and how many findings.

    No input is tried or counted twice. One with a message that was not seen before reaches something new, so it is
    changed further.
    """
    from fuzz.mutations import mutated
    from fuzz.targets import TARGETS

    form, pool = TARGETS[name].form, TARGETS[name].seeds()
    largest = GROWTH * max(map(len, pool))
    wrong = 0
    seen: set[str] = set()
    tried = {hash(data) for data in pool}
    seeds = len(tried)
    while time.monotonic() < end:
        data = mutated(rng.choice(pool), rng, pool, form)
        key = hash(data)
        if key in tried:
            continue
        tried.add(key)
        watch.number = len(tried)
        fault, said = outcome(name, data)
        watch.number = 0
        if fault is not None and fault not in seen:
            seen.add(fault)
            wrong += 1
            keep(name, data, fault)
        elif fault is None and len(data) <= largest and len(pool) < POOL and (said not in seen or rng.random() < 0.002):
            seen.add(said)
            pool.append(data)
    return len(tried) - seeds, wrong


def outcome(name: str, data: bytes) -> tuple[str | None, str]:
    """Try an input; return what went wrong, in short, or None, and what the target said."""
    from fuzz.targets import use

    before = _peak()
    said = ""
    try:
        said = use(name, data)
    except HangError:
        return f"{name}: longer than {SLOWEST} s", ""
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if "/sapo/" in frame.filename]
        last = where[-1] if where else traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} ({str(error)[:80]})", ""
    grown, most = _peak() - before, REFUSED if said else LARGEST
    return (f"{name}: {grown >> 10} MB of memory" if grown > most else None), said


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def keep(name: str, data: bytes, fault: str) -> None:
    """Save a finding."""
    FINDINGS.mkdir(exist_ok=True)
    path = FINDINGS / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    print(f"FOUND {path.name}: {fault}", file=sys.stderr, flush=True)


def add_counts(counts: Mapping[str, int]) -> None:
    """Add to the number of inputs that were tried so far; others may do so at the same time."""
    with COUNTS.open("a+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.seek(0)
        known: dict[str, Any] = json.loads(held.read() or "{}")
        for name, count in counts.items():
            known[name] = known.get(name, 0) + count
        held.truncate(0)
        held.write(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
