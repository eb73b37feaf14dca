"""How long training on a cluster takes, by a few constants: fitted, checked against other runs, applied to large ones.

    python benchmarks/scaling.py FIT.jsonl... [--check RUN.jsonl...]

All files are the --log of `sapo train --ray` on the same corpus. The script fits the constants to the first ones,
compares what it expects of each run with what the run took, and prints a table for large clusters.

    a part      n tokens change C(n) = CHANGE * n ** HEAPS weights, and take LEARN * n + FIND * C(n) seconds
    a mixing    the driver mixes the changes of all workers, MIX seconds for each. W workers together change C(W * n)
                weights, but no more than the model has; each worker follows, FOLLOW seconds for each of them
    the network carries BYTES for each change; what the driver sends goes from machine to machine, as in a tree

MIX and FOLLOW are measured here by the clock of the processor; those of the logs are by the same clock.
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from sapo import jit
from sapo.apps.ray.changes import Change, mix
from sapo.apps.ray.worker import follow
from sapo.learn.weights import Weights

BYTES = 8  # a place and a value
CORES = 16  # of a machine
NETWORK = 1.25e9  # bytes a second between machines: 10 Gbit/s
LATENCY = 2e-3  # seconds for a call of Ray
PRICE = 0.04  # dollars for an hour of a core
TOKENS = 1e10
WEIGHTS = 2**22 * 17  # of the large model: features and 17 labels
DRIVER, MACHINES, SHARES = "the driver", "machines first", "each machine a share"  # who mixes
# cores, mixings an epoch, and who mixes
LARGE = (
    (1, 16, DRIVER),
    (16, 16, DRIVER),
    (100, 16, DRIVER),
    (100, 16, MACHINES),
    (100, 16, SHARES),
    (1000, 16, DRIVER),
    (1000, 16, MACHINES),
    (1000, 16, SHARES),
)


@dataclass(frozen=True)
class Constants:
    """What was measured."""

    learn: float  # seconds a token
    find: float  # seconds a change
    mix: float  # seconds a change that arrives at the driver
    follow: float  # seconds a change that is sent to a worker
    change: float
    heaps: float
    spread: float  # of the times of equal parts: their relative standard deviation

    def changes(self, tokens: float, weights: float) -> float:
        """Return how many weights are changed by learning from so many tokens."""
        return min(weights, self.change * tokens**self.heaps)


@dataclass(frozen=True)
class Epoch:
    """What an epoch takes: seconds, and bytes that the driver receives."""

    learning: float
    mixing: float
    network: float
    received: float

    @property
    def seconds(self) -> float:
        """All of it, one after the other."""
        return self.learning + self.mixing + self.network


def expected(
    constants: Constants, tokens: float, workers: int, mixings: int, weights: float, who: str = DRIVER
) -> Epoch:
    """Return what an epoch takes.

    Who mixes: the driver alone, as it is now; machines, first what their own workers changed, then pairs of machines,
    and so on; or each machine a share of the weights, for all workers.
    """
    part = tokens / workers / mixings
    own, of_all = constants.changes(part, weights), constants.changes(part * workers, weights)
    machines = math.ceil(workers / CORES)
    steps = math.ceil(math.log2(machines)) if machines > 1 else 0
    slowest = 1 + constants.spread * math.sqrt(2 * math.log(workers))  # of so many, about
    learning = slowest * (constants.learn * part + constants.find * own) + constants.follow * of_all
    mixed, received = workers * own, workers * own * BYTES
    sent = steps * of_all * BYTES
    if machines > 1 and who == MACHINES:
        of_machine = constants.changes(part * CORES, weights)
        mixed, received = CORES * own + 2 * steps * of_machine, 2 * steps * of_machine * BYTES
    elif machines > 1 and who == SHARES:
        mixed, received, sent = workers * own / machines, workers * own / machines * BYTES, of_all * BYTES
    carried = (received if machines > 1 else 0.0) + sent
    mixing, network = constants.mix * mixed, carried / NETWORK + LATENCY
    return Epoch(mixings * learning, mixings * mixing, mixings * network, mixings * received)


@dataclass(frozen=True)
class Run:
    """A real run."""

    name: str
    workers: int
    mixings: int
    tokens: float
    parts: np.ndarray  # tokens, changes and processor seconds of each part
    epochs: int
    slowest: float  # processor seconds of the slowest worker of each mixing, added up, of an epoch


def read_run(path: Path) -> Run:
    """Read the log of a run."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    log = [line for line in lines if line["event"] == "mixing"]
    parts = [(one["tokens"], one["bytes"] / BYTES, one["processor_seconds"]) for line in log for one in line["workers"]]
    epochs = max(line["epoch"] for line in log)
    slowest = sum(max(one["processor_seconds"] for one in line["workers"]) for line in log) / epochs
    workers = 1 + max(one["lane"] for line in log for one in line["workers"])
    mixings = max(line["mixing"] for line in log)
    tokens = sum(part[0] for part in parts) / epochs
    return Run(path.stem, workers, mixings, tokens, np.array(parts), epochs, slowest)


def fitted(runs: list[Run]) -> Constants:
    """Return the constants that suit the runs, by least squares of relative errors."""
    tokens, changes, seconds = np.concatenate([run.parts for run in runs]).T
    heaps, change = np.polyfit(np.log(tokens), np.log(changes), 1)
    rows = np.stack([tokens / seconds, changes / seconds], 1)
    learn, find = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    spread = float(np.std(seconds / (learn * tokens + find * changes)))
    return Constants(float(learn), float(find), *measured(), float(np.exp(change)), float(heaps), spread)


def measured(features: int = 1 << 22, labels: int = 17, size: int = 2_000_000) -> tuple[float, float]:
    """Return the seconds that mixing and following take for each change."""
    jit.compile_kernels()
    weights, rng = Weights.zeros(features, labels), np.random.default_rng(0)
    changes = []
    for _ in range(4):
        places = np.unique(rng.integers(features * labels, size=size)).astype(np.uint32)
        changes.append(Change(places, np.ones(len(places), np.float32), 1.0))
    for _ in range(2):  # the first time kernels are loaded, and rows are made
        begun = process_time()
        mixed = mix(changes)
        half = process_time()
        follow(weights, mixed, fold=False)
        ended = process_time()
    return (half - begun) / sum(len(one.places) for one in changes), (ended - half) / len(mixed.places)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fit", type=Path, nargs="+")
    parser.add_argument("--check", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    constants = fitted([read_run(path) for path in options.fit])
    print(constants)
    for path in (*options.fit, *options.check):
        run = read_run(path)
        guess = expected(constants, run.tokens, run.workers, run.mixings, math.inf)
        followed = constants.follow * constants.changes(run.tokens / run.mixings, math.inf) * run.mixings
        received = run.parts[:, 1].sum() * BYTES / run.epochs
        print(
            f"{'checked' if path in options.check else 'fitted'}: {run.workers} workers, {run.mixings} mixings:"
            f" slowest workers {run.slowest:.1f} s an epoch (expected {guess.learning - followed:.1f}),"
            f" received {received / 1e6:.0f} MB (expected {guess.received / 1e6:.0f})"
        )
    print(f"\n{TOKENS:.0e} tokens, an epoch:")
    for cores, mixings, who in LARGE:
        guess = expected(constants, TOKENS, cores, mixings, WEIGHTS, who)
        hours, away = guess.seconds / 3600, 1 - guess.learning / guess.seconds
        print(
            f"| {cores:,} | {mixings:,} | {who} | {hours:.2f} | {100 * away:.0f} %"
            f" | {guess.received / 1e9:,.0f} | {hours * cores * PRICE:,.2f} |"
        )


if __name__ == "__main__":
    main()
