"""Processor seconds of a pass in memory and from shards on disk, in one run.

    python benchmarks/stream_speed.py FILE [--min-count 3] [--epochs 4]

The first pass is shown apart: it is measured from its first samples on, without the reading of the first chunk. The
buffer is a quarter of the data, so that there are several chunks. FILE may be one of benchmarks/large_corpus.py.
"""

import argparse
import statistics
import tempfile
import time
from typing import Any

import sapo
from sapo.learn.records import Observer, PassRecord, State
from sapo.training.plan import StreamOptions


class Clock(Observer):
    """Notes the processor seconds between the ends of passes."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def samples(self, epoch: int, done: int, of: int) -> None:
        if not self.ends:
            self.ends.append(time.process_time())

    def passed(self, record: PassRecord, state: State) -> None:
        self.ends.append(time.process_time())

    @property
    def seconds(self) -> list[float]:
        """The seconds of each pass."""
        return [after - before for before, after in zip(self.ends, self.ends[1:], strict=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--min-count", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    fixed: dict[str, Any] = {"template": "pos", "rate": 0.2, "strength": 0.3, "epochs": options.epochs}
    fixed["min_count"] = options.min_count
    clocks = {"memory": Clock(), "shards": Clock()}
    tokens = sapo.train(options.file, observers=[clocks["memory"]], **fixed).model.record["tokens"]
    with tempfile.TemporaryDirectory() as directory:
        stream = StreamOptions(directory, shard=tokens // 16, buffer=tokens // 4)
        sapo.train(options.file, observers=[clocks["shards"]], stream=stream, **fixed)
    for name, clock in clocks.items():
        later = statistics.mean(clock.seconds[1:])
        print(f"{name}: first pass {clock.seconds[0]:.2f} s, then {later:.2f} s, {tokens / later / 1000:.0f}k tokens/s")


if __name__ == "__main__":
    main()
