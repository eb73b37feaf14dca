"""What mixing costs in score, bytes and processor time, with the workers of a cluster one after the other.

    SAPO_DATA=DIRECTORY python benchmarks/mixing.py conll2000 --seeds 3 4x16 8x16 [--json OUT.jsonl]

4x16 is four workers that are mixed sixteen times an epoch. The workers run in this process, without Ray, so that times
are those of a processor, and many workers need no more cores than one. Scores are those after the last epoch: on the
dev set of UD English EWT, and on a fifth of the training sentences of CoNLL-2000 and JNLPBA, which are held out.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from time import process_time

import numpy as np

import sapo
from sapo.apps.ray.lanes import MemoryLanes, cut_lanes
from sapo.apps.ray.training import Driver
from sapo.apps.ray.worker import Setup, Worker
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.samples import Counts
from sapo.training.plan import make_plan
from sapo.training.run import start

HELD_OUT = 5


class OneProcess:
    """Does parts one after the other, in the place of `sapo.apps.ray.pool.Pool`."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.worker, self.version = setup, Worker(setup), 0
        self.busy, self.steps, self.parts, self.say = [], [], [], print

    def hand_out(self, parts, settings) -> None:
        self.parts = parts

    def collect(self, settings, *, all_of_them=False):
        steps, self.steps = self.steps, []
        return [
            self.worker.learn(part, settings, self.version, None, *(steps if number == 0 else ()))
            for number, part in enumerate(self.parts)
        ]

    def mixed(self, step) -> None:
        self.steps.append(step)
        self.version += 1


@dataclass(frozen=True)
class InTurn:
    """The place of a `Cluster` whose workers do their parts one after the other, here. It learns the same."""

    workers: int
    mixings: int
    log: Callable[[dict], None]

    @contextmanager
    def passes(self, learner, source, settings, state, checkpoint) -> Iterator[Callable]:
        lanes = list(cut_lanes(source, self.workers, settings.seed))
        setup = Setup.of(
            learner, state.weights, MemoryLanes(self.workers, lanes.__getitem__, Counts(np.bincount(source.rows)))
        )
        yield Driver(OneProcess(setup), state, self.mixings, self.log, None).one_pass


def corpus(name: str):
    """Return training and held-out data."""
    data = Path(os.environ["SAPO_DATA"])
    if name == "ewt":
        return str(data / "ud-ewt" / "train.conllu.gz"), str(data / "ud-ewt" / "dev.conllu.gz")
    path = {"conll2000": "conll2000/train.txt.gz", "jnlpba": "jnlpba/train.pos.txt.gz"}[name]
    sentences = list(sapo.read(data / path))
    order = np.random.default_rng(123).permutation(len(sentences)).tolist()
    held = len(order) // HELD_OUT
    return [sentences[i] for i in order[held:]], [sentences[i] for i in order[:held]]


def one_process(run) -> dict:
    """Train as usual; return the score and the processor seconds of an epoch."""
    begun = run.system.begin(run.plan, run.data, run.settings)
    state, before = State(begun.weights), process_time()
    learn(begun.one_pass, run.data.corpus, begun.settings, state)
    seconds = (process_time() - before) / state.epoch
    return {"score": 100 * run.data.dev.evaluate(begun.weights.true_weights()).main[1], "epoch_seconds": seconds}


def several(run, workers: int, mixings: int) -> dict:
    """Train with several workers; return the score, and what the log says on average."""
    begun = run.system.begin(run.plan, run.data, run.settings)
    state, source, log = State(begun.weights), run.data.corpus, []
    with InTurn(workers, mixings, log.append).passes("sapo", source, begun.settings, state, None) as passes:
        learn(begun.one_pass, source, begun.settings, state, passes=passes)
    parts = [part for entry in log for part in entry["workers"]]
    return {
        "score": 100 * run.data.dev.evaluate(begun.weights.true_weights()).main[1],
        "epoch_seconds": sum(part["processor_seconds"] for part in parts) / state.epoch,
        "part_seconds": mean(part["processor_seconds"] for part in parts),
        "part_bytes": mean(part["bytes"] for part in parts),
        "mixed_bytes": mean(entry["mixed_bytes"] for entry in log),
        "mixing_seconds": mean(entry["mixing_seconds"] for entry in log),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=["conll2000", "ewt", "jnlpba"])
    parser.add_argument("sizes", nargs="+", metavar="WORKERSxMIXINGS")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    train, held = corpus(options.corpus)
    found: dict[str, list[dict]] = {}
    for seed in range(options.seeds):
        run = start(make_plan(train, dev=held, seed=seed))
        run = replace(run, settings=replace(run.settings, tolerance=0.0))
        about = {"corpus": options.corpus, "seed": seed, "tokens": run.data.corpus.tokens}
        for size in ["1", *options.sizes]:
            workers, _, mixings = size.partition("x")
            result = several(run, int(workers), int(mixings)) if mixings else one_process(run)
            found.setdefault(size, []).append(result)
            line = {**about, "size": size, **result}
            print(json.dumps(line), flush=True)
            if options.json:
                with options.json.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
    alone = mean(result["score"] for result in found["1"])
    for size, results in found.items():
        score = mean(result["score"] for result in results)
        print(f"{options.corpus} {size:>6}: {score:.2f} ({score - alone:+.2f}), {options.seeds} seeds")


if __name__ == "__main__":
    main()
