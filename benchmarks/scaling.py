"""How long training on a cluster takes, by a few constants: fitted, checked against real runs, applied to large ones.

    python benchmarks/scaling.py MIXING.jsonl RUN.jsonl...

MIXING.jsonl comes from `benchmarks/mixing.py --json`; each RUN.jsonl is the --log of `sapo train --ray`. The script
fits the constants, compares what it expects of each run with what the run took, and prints a table for large clusters.

    a part      n tokens take LEARN * n seconds of a worker, and change C(n) = CHANGE * n ** HEAPS weights; finding them
                takes FIND seconds each
    a mixing    the driver gets the changes of all workers, mixes them in MIX seconds for each change, and sends what is
                left; W workers together change C(W * n) weights, but no more than the model has. A worker needs FOLLOW
                seconds for each of them
    the network carries BYTES for each change; the driver sends to one machine, which sends it on (a tree)
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

BYTES = 8  # a place and a value
CORES = 16  # of a machine
NETWORK = 1.25e9  # bytes a second between machines: 10 Gbit/s
LATENCY = 2e-3  # seconds for a call of Ray
PRICE = 0.04  # dollars for an hour of a core


@dataclass(frozen=True)
class Constants:
    """What was measured."""

    learn: float  # seconds a token
    find: float  # seconds a change
    mix: float  # seconds a change that arrives at the driver
    follow: float  # seconds a change that is sent to a worker
    change: float
    heaps: float
    most: float  # weights of the model

    def changes(self, tokens: float) -> float:
        """Return how many weights are changed by learning from so many tokens."""
        return min(self.most, self.change * tokens**self.heaps)


@dataclass(frozen=True)
class Epoch:
    """What an epoch of a run is expected to take."""

    learning: float  # seconds
    mixing: float
    network: float
    received: float  # bytes at the driver
    seconds: float


def expected(constants: Constants, tokens: float, workers: int, mixings: int, *, tree: bool = False) -> Epoch:
    """Return what an epoch takes. With `tree`, machines mix the changes of their own workers first."""
    part = tokens / workers / mixings
    own, all_changes = constants.changes(part), constants.changes(part * workers)
    machines = math.ceil(workers / CORES)
    learning = constants.learn * part + constants.find * own + constants.follow * all_changes
    arriving = workers * own
    if tree and machines > 1:
        # each machine mixes for itself, then pairs of machines, and so on up to the driver
        of_machine = constants.changes(part * CORES)
        steps = math.ceil(math.log2(machines))
        mixing = constants.mix * (CORES * own + steps * 2 * of_machine)
        received, carried = 2 * of_machine * BYTES, steps * of_machine * BYTES
    else:
        mixing, received = constants.mix * arriving, arriving * BYTES
        carried = received if machines > 1 else 0.0
    sent = all_changes * BYTES * math.ceil(math.log2(machines)) if machines > 1 else 0.0
    network = (carried + sent) / NETWORK + LATENCY
    seconds = mixings * (learning + mixing + network)
    return Epoch(mixings * learning, mixings * mixing, mixings * network, mixings * received, seconds)


def fitted(lines: list[dict], most: float) -> Constants:
    """Return the constants that suit the measurements, by least squares of relative errors."""
    sizes = [tuple(map(int, line["size"].split("x"))) for line in lines]
    parts = np.array(
        [line["tokens"] / workers / mixings for line, (workers, mixings) in zip(lines, sizes, strict=True)]
    )
    changes = np.array([line["part_bytes"] / BYTES for line in lines])
    heaps, change = np.polyfit(np.log(parts), np.log(changes), 1)
    seconds = np.array([line["part_seconds"] for line in lines])
    rows = np.stack([parts / seconds, changes / seconds], 1)
    learn, find = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    arriving = changes * np.array([workers for workers, _ in sizes])
    mix = float(np.median([line["mixing_seconds"] for line in lines] / arriving))
    return Constants(float(learn), max(float(find), 0.0), mix, mix / 2, float(np.exp(change)), float(heaps), most)


def of_run(path: Path, one: list[dict]) -> tuple[str, Constants, dict]:
    """Return a real run: its constants for tokens and changes, and what its epochs took by the processor's clock."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    start = next(line for line in lines if line["event"] == "start")
    mixings = [line for line in lines if line["event"] == "mixing"]
    workers = 1 + max(worker["lane"] for line in mixings for worker in line["workers"])
    epochs = max(line["epoch"] for line in mixings)
    slowest = sum(max(worker["processor_seconds"] for worker in line["workers"]) for line in mixings) / epochs
    return (
        path.name,
        start,
        {
            "workers": workers,
            "mixings": max(line["mixing"] for line in mixings),
            "tokens": start["tokens"],
            "learning": slowest,
            "mixing": sum(line["mixing_seconds"] for line in mixings) / epochs,
            "received": sum(line["bytes"] for line in mixings) / epochs,
            "part_changes": mean(worker["bytes"] / BYTES for line in mixings for worker in line["workers"]),
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mixing", type=Path)
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--weights", type=float, default=2**22 * 17, help="places of the large model")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.mixing.read_text().splitlines()]
    constants = fitted([line for line in lines if "x" in line["size"]], options.weights)
    print(constants)
    for path in options.runs:
        name, _, took = of_run(path, [])
        guess = expected(constants, took["tokens"], took["workers"], took["mixings"])
        print(
            f"{name}: {took['workers']} workers, {took['mixings']} mixings: learning {took['learning']:.1f} s "
            f"(expected {guess.learning:.1f}), mixing {took['mixing']:.2f} s ({guess.mixing:.2f}), "
            f"received {took['received'] / 1e6:.0f} MB ({guess.received / 1e6:.0f})"
        )
    tokens = 1e10
    print(f"\n{tokens:.0e} tokens: cores, mixings, hours an epoch, share of mixing and network, GB received, dollars")
    for cores, mixings, tree in (
        (16, 1600, False),
        (100, 1600, False),
        (100, 1600, True),
        (1000, 1600, False),
        (1000, 1600, True),
        (1000, 400, True),
    ):
        guess = expected(constants, tokens, cores, mixings, tree=tree)
        away = (guess.mixing + guess.network) / guess.seconds
        hours = guess.seconds / 3600
        print(
            f"{cores:>5} {mixings:>5} {'tree' if tree else 'driver':>6} {hours:8.2f} h {100 * away:5.1f} % "
            f"{guess.received / 1e9:8.0f} GB {hours * cores * PRICE:8.2f} $"
        )


if __name__ == "__main__":
    main()
