"""Let atheris choose the inputs by what they reach in the code: pip install atheris, on Linux only.

Each target runs in a process of its own, for atheris never returns. Kernels are interpreted, so that their branches
count too; Python itself checks the bounds.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz.run import FINDINGS, SLOWEST, add_counts


def run_guided(given: argparse.Namespace) -> int:
    """Run each target for its share of the time; return 1 if something was found."""
    from fuzz.targets import TARGETS, installed

    names = [name for name in TARGETS if not given.target or any(name.startswith(one) for one in given.target)]
    names = [name for name in names if installed(name)]
    counts: Counter[str] = Counter()
    FINDINGS.mkdir(exist_ok=True)
    found = 0
    for name in names:
        seconds = max(1, int(given.seconds / len(names)))
        with tempfile.TemporaryDirectory() as corpus:
            for number, data in enumerate(TARGETS[name].seeds()):
                Path(corpus, str(number)).write_bytes(data)
            options = [
                f"-max_total_time={seconds}",
                f"-timeout={SLOWEST}",
                "-rss_limit_mb=1536",
                "-print_final_stats=1",
            ]
            options += [f"-artifact_prefix={FINDINGS}/{name}-", *([f"-seed={given.seed}"] if given.seed else [])]
            command = [sys.executable, "-m", "fuzz.guided", name, *options, corpus]
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
        tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        counts[name] += int(tried[1]) if tried else 0
        found += done.returncode != 0
        print(f"{name:24} {counts[name]:10,} inputs  {'FOUND' if done.returncode else 'nothing found'}", flush=True)
        if done.returncode:
            print(done.stderr[-3000:], file=sys.stderr)
    add_counts(counts)
    return int(found > 0)


def main() -> None:
    """Run one target for ever: the arguments are its name, and those of libFuzzer."""
    import atheris

    with atheris.instrument_imports(include=["sapo"]):
        from fuzz.target import ARRAYS
        from fuzz.targets import TARGETS, quiet, use
    from fuzz.mutations import mutated
    from sapo import jit
    from sapo.jit import kernels as _jit

    jit.compile_kernels = lambda **_: None
    _jit.INTERPRETED_PAIRS = sys.maxsize
    quiet()
    name = sys.argv.pop(1)
    target = TARGETS[name]
    pool = target.seeds()

    def change(data: bytes, most: int, seed: int) -> Any:
        rng = random.Random(seed)
        if target.form != ARRAYS and rng.random() < 0.5:
            return atheris.Mutate(data, most)
        return mutated(data or pool[0], rng, pool, target.form)[:most]

    atheris.Setup([*sys.argv, "-max_len=200000"], lambda data: bool(use(name, data)) and None, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
