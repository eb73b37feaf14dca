"""Bi-LSTM-SAPO with and without a margin beside Bi-LSTM-CRF: Markdown tables of dev and test scores, and seconds.

    SAPO_DATA=DIRECTORY python benchmarks/neural_margin.py --sentences 2000 --passes 10 --seeds 3

Each system is a learner and its options, such as "bilstm-sapo margin=1 token_loss=0". Inputs are words, and on
CoNLL-2000 also parts of speech. Training takes the first sentences; the last tenth of train is the dev set where there
is no file for it. Scores are F1 or accuracy after the last pass, and seconds are of the processor. Every run goes to a
file when it is done, and is not run again.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.evaluate.scores import score

SYSTEMS = ("bilstm-crf", "bilstm-sapo margin=0", "bilstm-sapo margin=0.5")
Pair = tuple[list[tuple[str, ...]], list[str]]


@dataclass(frozen=True, slots=True)
class Task:
    train: str
    dev: str | None  # None: the last tenth of train
    test: str
    template: str
    label: str | None = None

    def read(self, part: str) -> list[Pair]:
        path = Path(os.environ["SAPO_DATA"]) / str({"train": self.train, "dev": self.dev, "test": self.test}[part])
        return [
            (list(zip(*self._inputs(sentence), strict=True)), list(sentence.tags or ()))
            for sentence in sapo.read(path, label=self.label)
        ]

    def _inputs(self, sentence: sapo.Sentence) -> list[Sequence[str]]:
        return [sentence.words] if self.label else [*sentence.columns.values()]

    def parts(self, sentences: int) -> dict[str, list[Pair]]:
        train = self.read("train")
        cut = len(train) if self.dev else len(train) * 9 // 10
        dev = self.read("dev") if self.dev else train[cut:]
        return {"train": train[: min(cut, sentences)], "dev": dev, "test": self.read("test")}


TASKS = {
    "chunking": Task("conll2000/train.txt.gz", None, "conll2000/test.txt.gz", "chunking"),
    "bioner": Task("jnlpba/train.txt.gz", None, "jnlpba/test.txt.gz", "ner"),
    "xpos": Task("ud-ewt/train.conllu.gz", "ud-ewt/dev.conllu.gz", "ud-ewt/test.conllu.gz", "pos", label="xpos"),
}


def run(task: Task, parts: dict[str, list[Pair]], system: str, *, passes: int, seed: int) -> dict[str, Any]:
    """Train one network; return its scores in per cent, and the seconds of the processor."""
    learner, *given = system.split()
    options: dict[str, Any] = {name: json.loads(value) for name, value in (one.split("=") for one in given)}
    options = {"batch": 32, "epochs": passes, "tolerance": 0.0, "seed": seed, **options}
    started = time.process_time()
    tagger = sapo.train(parts["train"], template=task.template, learner=learner, **options)
    seconds = time.process_time() - started
    return {part: evaluate(tagger, parts[part]) for part in ("dev", "test")} | {"seconds": seconds}


def evaluate(tagger: sapo.Tagger, pairs: list[Pair]) -> float:
    gold = [tags for _, tags in pairs]
    found = tagger.tag_many([tokens for tokens, _ in pairs])
    known = sorted({tag for tags in itertools.chain(gold, found) for tag in tags})
    number = {tag: place for place, tag in enumerate(known)}
    right, given = (np.array([number[tag] for tags in each for tag in tags], np.int32) for each in (gold, found))
    return 100 * score(known, right, given, np.cumsum([0, *map(len, gold)])).main[1]


def table(results: dict[str, dict[str, Any]], systems: Sequence[str], part: str) -> str:
    lines = [f"| {part} | {' | '.join(TASKS)} |", "|---" + "|--:" * len(TASKS) + "|"]
    for system in systems:
        cells = []
        for task in TASKS:
            found = [one[part] for key, one in results.items() if key.startswith(f"{task}, {system}, ")]
            spread = f" ± {statistics.stdev(found):.2f}" if len(found) > 1 else ""
            cells.append(f"{statistics.mean(found):.2f}{spread}" if found else "-")
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--sentences", type=int, default=2000, help="of train, the first ones")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3, help="0, 1 ...")
    parser.add_argument("--results", type=Path, default=Path("runs/neural_margin"), help="a directory")
    given = parser.parse_args()
    systems = given.systems.split(",")
    path = given.results / f"{given.sentences}-sentences-{given.passes}-passes.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in given.tasks.split(","):
        parts = TASKS[name].parts(given.sentences)
        for seed, system in itertools.product(range(given.seeds), systems):
            key = f"{name}, {system}, seed {seed}"
            if key not in results:
                results[key] = run(TASKS[name], parts, system, passes=given.passes, seed=seed)
                path.write_text(json.dumps(results, indent=1))
                print(key, {part: round(value, 2) for part, value in results[key].items()}, file=sys.stderr, flush=True)
    for part in ("dev", "test", "seconds"):
        print(table(results, systems, part) + "\n")


if __name__ == "__main__":
    main()
