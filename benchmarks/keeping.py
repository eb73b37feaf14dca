"""Which epoch to keep with a small dev set. Usage: SAPO_DATA=DIRECTORY python benchmarks/keeping.py [CORPUS ...]

300 sentences of each corpus are learned with the presets, 40 others are the dev set, and the first 1,500 of the dev
file (or of the rest of train) tell how good each epoch really was; seeds 0 to 3. The table has the mean score of the
epoch that each rule keeps: the best on dev, the last, the last unless an earlier one is better by so many standard
errors of the dev score, and the one that really was the best.
"""

import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapo.corpus.labeled import read_labeled
from sapo.learn.records import Observer, PassRecord, State
from sapo.training.data import encoded_dev_set
from sapo.training.plan import make_plan
from sapo.training.run import start
from zoo_corpora import Corpus, find_corpora

SENTENCES, DEV, JUDGED, SEEDS = 300, 40, 1500, 4
PATIENCE = 5
LEFT_OUT = ("brown-pos", "cws-msr", "genia-pos", "masc-pos", "ud-basque-bdt", "ud-german-gsd-small", "wsj-sample")


@dataclass(frozen=True, slots=True)
class Scored:
    """A run: the scores of each epoch on dev and on other sentences, and the standard error of the last on dev."""

    dev: list[float]
    real: list[float]
    error: float


def run(corpus: Corpus, seed: int) -> Scored:
    sentences = [(list(words), tags) for words, tags in corpus.sentences("train")]
    order = np.random.default_rng([seed, SENTENCES]).permutation(len(sentences)).tolist()
    learned, dev, rest = np.split(np.array(order), [SENTENCES, SENTENCES + DEV])
    judged = [(list(words), tags) for words, tags in corpus.sentences("dev")] if "dev" in corpus.parts() else []
    judged = judged or [sentences[place] for place in rest]
    run = start(
        make_plan(
            [sentences[place] for place in learned],
            dev=[sentences[place] for place in dev],
            seed=seed,
            patience=1000,
        )
    )
    other = encoded_dev_set(run.data.encoder, read_labeled(judged[:JUDGED], "dev").blocks, run.data.gold)
    real: list[float] = []

    class Watch(Observer):
        def passed(self, record: PassRecord, state: State) -> None:
            real.append(other.evaluate(state.weights.true_weights()).main[1])

    outcome = run.finish([Watch()])
    assert run.data.dev is not None
    error = run.data.dev.evaluate(outcome.tagger.model.parameters).error
    return Scored([record.dev or 0.0 for record in outcome.history], real, error)


def best_on_dev(found: Scored) -> int:
    """The first epoch that none of the next five is better than."""
    best = 0
    for epoch, value in enumerate(found.dev):
        if value > found.dev[best]:
            best = epoch
        if epoch - best >= PATIENCE:
            break
    return best


def last_unless(errors: float) -> Callable[[Scored], int]:
    def rule(found: Scored) -> int:
        best = int(np.argmax(found.dev))
        return best if found.dev[best] > found.dev[-1] + errors * found.error else len(found.dev) - 1

    return rule


RULES: dict[str, Callable[[Scored], int]] = {
    "best on dev": best_on_dev,
    "last": lambda found: len(found.dev) - 1,
    **{f"{errors:g} errors": last_unless(errors) for errors in (0.25, 0.5, 1.0, 2.0)},
    "really the best": lambda found: int(np.argmax(found.real)),
}


def main() -> None:
    corpora = find_corpora(Path(os.environ["SAPO_DATA"]), sys.argv[1:])
    print(f"| corpus | {' | '.join(RULES)} |\n|---|{'--:|' * len(RULES)}", flush=True)
    rows = []
    for corpus in corpora:
        if corpus.name in LEFT_OUT and not sys.argv[1:]:
            continue
        runs = [run(corpus, seed) for seed in range(SEEDS)]
        rows.append([100 * statistics.mean(found.real[rule(found)] for found in runs) for rule in RULES.values()])
        print(f"| {corpus.name} | {' | '.join(f'{value:.2f}' for value in rows[-1])} |", flush=True)
    print(f"| mean | {' | '.join(f'{statistics.mean(column):.2f}' for column in zip(*rows, strict=True))} |")


if __name__ == "__main__":
    if "SAPO_DATA" not in os.environ:
        sys.exit("set SAPO_DATA to the directory of the corpora")
    main()
