"""What constraints cost and bring: invalid taggings, F1, and time, with and without, on real test sets.

    SAPO_DATA=DIRECTORY python benchmarks/constraints.py [--passes 10] [--seeds 0 1 2] [--repeats 8] [--missing]

Times are of this process's CPU, of the first four passes and of tagging the test set, in turn with and without
constraints; of several repeats the least counts, which other work on the machine has disturbed least.
"""

import argparse
import dataclasses
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from sapo.features.encoded import EncodedCorpus, subset
from sapo.jit.arrays import Bools
from sapo.learn import LEARNERS
from sapo.learn.samples import draw_order
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.decoding import tag_corpus
from sapo.tagger.decoding import best_tags
from sapo.tags.recognition import scheme_bans, transition_counts
from sapo.training.data import TrainingData
from sapo.training.plan import Options
from sapo.training.run import read_data, train_on, with_start_rate

PASSES, TAGGINGS = 4, 5  # that are timed in each repeat
TASKS = {"conll2000": "chunking", "jnlpba": "ner"}
VARIANTS: dict[str, Options] = {
    "without": {"constraints": False},
    "with": {},
    "scheme bioes": {"scheme": "bioes"},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--missing", action="store_true", help="only: what tags that are missing cost")
    arguments = parser.parse_args()
    if arguments.missing:
        missing_tags(arguments.seeds)
        return
    for name, template in TASKS.items():
        directory = Path(os.environ["SAPO_DATA"]) / name
        train, test = directory / "train.txt.gz", directory / "test.txt.gz"
        all_prepared = {
            variant: read_data(train, dev=test, template=template, **labels) for variant, labels in VARIANTS.items()
        }
        for learner in ("sapo", "crf", "perceptron"):
            times(name, learner, all_prepared["without"], all_prepared["with"], arguments.repeats)
        for variant, prepared in all_prepared.items():
            for seed in arguments.seeds:
                quality(name, variant, prepared, seed, arguments.passes)


def quality(name: str, variant: str, prepared: TrainingData, seed: int, passes: int) -> None:
    """F1 on the test set, and how many of its sentences have an invalid tagging."""
    settings = with_start_rate(prepared, Settings(seed=seed, epochs=passes, tolerance=0.0), "sapo")
    test = prepared.dev
    assert test is not None
    tagger = train_on(dataclasses.replace(prepared, dev=None), settings).tagger
    found = best_tags(tagger.model, test.corpus)
    offsets, labels = test.corpus.offsets, list(tagger.labels)
    invalid = sum(
        bool(transition_counts(found[a:b], np.array([0, b - a]), len(labels))[scheme_bans(labels, "iob2") < 0].any())
        for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    )
    f1 = test.evaluate(tagger.model.tagging).main[1]
    print(f"{name} {variant} seed {seed}: F1 {100 * f1:.2f}, invalid {invalid} of {len(offsets) - 1}", flush=True)


def missing_tags(seeds: list[int]) -> None:
    """F1 on CoNLL-2000, three passes, where training tags are taken away, of tokens or of whole sentences."""
    directory = Path(os.environ["SAPO_DATA"]) / "conll2000"
    full = read_data(directory / "train.txt.gz", dev=directory / "test.txt.gz", template="chunking")
    assert full.dev is not None
    for learner in ("sapo", "crf", "perceptron"):
        found: dict[str, list[float]] = {}
        for seed in seeds:
            for name, lesson in _lessons(full.corpus, seed).items():
                partly = dataclasses.replace(full, gold=dataclasses.replace(full.gold, corpus=lesson), dev=None)
                settings = with_start_rate(partly, Settings(epochs=3, tolerance=0.0, seed=seed), learner)
                tagger = train_on(partly, settings, learner=learner).tagger
                found.setdefault(name, []).append(100 * full.dev.evaluate(tagger.model.tagging).main[1])
        for name, scores in found.items():
            told = " / ".join(f"{score:.2f}" for score in scores)
            print(f"conll2000 {learner}, {name}: F1 {told}, mean {np.mean(scores):.2f}", flush=True)


def _lessons(corpus: EncodedCorpus, seed: int) -> dict[str, EncodedCorpus]:
    rng = np.random.default_rng(seed)
    tokens, sentences = rng.random(corpus.tokens), rng.random(corpus.sentences)
    return {
        "no tags missing": corpus,
        **{f"{share:.0%} of the tags missing": _without(corpus, tokens < share) for share in (0.3, 0.7, 0.95)},
        "90% of the sentences untagged": _without(corpus, np.repeat(sentences < 0.9, np.diff(corpus.offsets))),
        "90% of the sentences left out": subset(corpus, np.flatnonzero(sentences >= 0.9)),
    }


def _without(corpus: EncodedCorpus, missing: Bools) -> EncodedCorpus:
    return dataclasses.replace(corpus, gold=np.where(missing, -1, corpus.gold).astype(np.int32))


def times(name: str, learner: str, free: TrainingData, bound: TrainingData, repeats: int) -> None:
    """CPU seconds of the first passes and of tagging the test set, in turn; the least of all repeats counts."""
    both = {"without": free, "with": bound}
    settings = with_start_rate(bound, Settings(), learner)
    passes = {variant: np.full(PASSES, np.inf) for variant in both}
    taggings = {variant: np.full(1, np.inf) for variant in both}
    for _ in range(repeats):
        weights = {variant: prepared.zero_weights() for variant, prepared in both.items()}
        for epoch in range(PASSES):
            for variant, prepared in both.items():
                seconds = _cpu(partial(_learn, learner, prepared, weights[variant], settings, epoch + 1))
                passes[variant][epoch] = min(seconds, passes[variant][epoch])
        for _ in range(TAGGINGS):
            for variant, prepared in both.items():
                assert prepared.dev is not None
                seconds = _cpu(partial(tag_corpus, prepared.dev.corpus, weights[variant].true_weights()))
                taggings[variant] = np.minimum(taggings[variant], seconds)
    for what, found in (("passes", passes), ("tagging", taggings)):
        least = {variant: float(seconds.sum()) for variant, seconds in found.items()}
        told = f"{least['without']:.3f} s without, {least['with']:.3f} s with, x{least['with'] / least['without']:.3f}"
        print(f"{name} {learner} {what}: {told}", flush=True)


def _learn(learner: str, prepared: TrainingData, weights: Weights, settings: Settings, epoch: int) -> None:
    order = draw_order(prepared.corpus.sentences, settings, epoch)
    for _ in LEARNERS[learner].run(weights, prepared.corpus, order, settings.rate_of(epoch), settings, np.zeros(20)):
        pass


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
