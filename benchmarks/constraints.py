"""What constraints cost and bring: invalid taggings, F1, and time, with and without, on real test sets.

    SAPO_DATA=DIRECTORY python benchmarks/constraints.py [--passes 10] [--seeds 0 1 2]

Times are of this process's CPU, of single passes and taggings in turn with and without constraints, after one each that
is not counted; the ratio is that of the medians.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sapo.conditions import Conditions
from sapo.constraints import scheme_bans, transition_counts
from sapo.learn import LEARNERS, Settings, tag
from sapo.learn.loop import draw_order
from sapo.training import Prepared, prepare, run, with_calibrated_rate

TASKS = {"conll2000": "chunking", "jnlpba": "ner"}
VARIANTS = {
    "without": Conditions(constraints=False),
    "with": Conditions(),
    "scheme bioes": Conditions(scheme="bioes"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    for name, template in TASKS.items():
        directory = Path(os.environ["SAPO_DATA"]) / name
        train, test = directory / "train.txt.gz", directory / "test.txt.gz"
        all_prepared = {
            variant: prepare(train, dev=test, template=template, conditions=conditions)
            for variant, conditions in VARIANTS.items()
        }
        for learner in ("sapo", "crf", "perceptron"):
            times(name, learner, all_prepared["without"], all_prepared["with"], arguments.repeats)
        for variant, prepared in all_prepared.items():
            for seed in arguments.seeds:
                quality(name, variant, prepared, seed, arguments.passes)


def quality(name: str, variant: str, prepared: Prepared, seed: int, passes: int) -> None:
    """F1 on the test set, and how many of its sentences have an invalid tagging."""
    settings = with_calibrated_rate(prepared, Settings(seed=seed, epochs=passes, tolerance=0.0), "sapo")
    test = prepared.dev
    assert test is not None
    tagger = run(_without_dev(prepared), settings).tagger
    found = tagger.as_shown(tag(test.corpus, tagger.parameters))
    offsets, labels = test.corpus.offsets, list(tagger.labels)
    invalid = sum(
        bool(transition_counts(found[a:b], np.array([0, b - a]), len(labels))[scheme_bans(labels, "iob2") < 0].any())
        for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    )
    f1 = test.evaluate(tagger.parameters).main[1]
    print(f"{name} {variant} seed {seed}: F1 {100 * f1:.2f}, invalid {invalid} of {len(offsets) - 1}", flush=True)


def _without_dev(prepared: Prepared) -> Prepared:
    import dataclasses

    return dataclasses.replace(prepared, dev=None)


def times(name: str, learner: str, free: Prepared, bound: Prepared, repeats: int) -> None:
    """CPU seconds of a pass and of tagging the test set, in turn."""
    both = {"without": free, "with": bound}
    settings = with_calibrated_rate(bound, Settings(), learner)
    passes: dict[str, list[float]] = {variant: [] for variant in both}
    taggings: dict[str, list[float]] = {variant: [] for variant in both}
    for _ in range(repeats + 1):
        for variant, prepared in both.items():
            weights = prepared.zero_weights(averaged=LEARNERS[learner].averaged)
            order = draw_order(prepared.corpus, settings, 1)

            def one_pass(prepared: Prepared = prepared, weights=weights, order=order) -> None:  # type: ignore[no-untyped-def]
                chunks = LEARNERS[learner].run(weights, prepared.corpus, order, settings.rate, settings, np.zeros(20))
                for _ in chunks:
                    pass

            passes[variant].append(_cpu(one_pass))
            parameters = weights.true_weights()
            assert prepared.dev is not None
            corpus = prepared.dev.corpus
            taggings[variant].append(_cpu(lambda corpus=corpus, parameters=parameters: tag(corpus, parameters)))
    for what, found in (("pass", passes), ("tagging", taggings)):
        medians = {variant: statistics.median(seconds[1:]) for variant, seconds in found.items()}
        ratio = medians["with"] / medians["without"]
        print(
            f"{name} {learner} {what}: {medians['without']:.3f} s without, {medians['with']:.3f} s with, x{ratio:.3f}"
        )


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
