"""The objective of crf-lbfgs beside that of CRFsuite, on the same features of CoNLL-2000.

    SAPO_DATA=DIRECTORY python benchmarks/objective.py --c1 0.1 --c2 0.1 [--sentences 500]

Both run until they converge, which takes minutes on all sentences. Prints iterations, objective and weights that are
not zero. The result does not depend on a seed.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from chunking_sklearn_crfsuite import features_and_chunks, read
from sapo.learn.batch_crf import BatchOptions
from sapo.learn.settings import Settings
from sapo.training.plan import LabelOptions, Plan
from sapo.training.run import start


def ours(sentences: list[tuple[Any, Any]], c1: float, c2: float) -> tuple[int, float, int]:
    """Return iterations, objective and weights that are not zero."""
    kind = {"regularizer": "l2", "strength": 2 * c2} if c2 else {"regularizer": "l1", "strength": c1}
    plan = Plan(
        data=sentences,
        labels=LabelOptions(constraints=False),
        learner="crf-lbfgs",
        settings=Settings(epochs=10_000, tolerance=1e-5, patience=20, **kind),
        batch=BatchOptions(l1=c1),
    )
    outcome = start(plan).finish()
    parameters = outcome.tagger.model.parameters
    weights = parameters.rows.nonzero + int(np.count_nonzero(parameters.edges))
    return len(outcome.history), outcome.history[-1].objective * len(sentences), weights


def theirs(sentences: list[tuple[Any, Any]], c1: float, c2: float) -> tuple[int, float, int]:
    """Return the same for CRFsuite."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False, params={"c1": c1, "c2": c2})
    for tokens, tags in sentences:
        trainer.append(tokens, tags)
    with tempfile.TemporaryDirectory() as room:
        trainer.train(str(Path(room) / "model"))
    last = trainer.logparser.iterations[-1]
    return last["num"], last["loss"], last["active_features"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--c1", type=float, default=0.1)
    parser.add_argument("--c2", type=float, default=0.1)
    parser.add_argument("--sentences", type=int, default=10**9)
    given = parser.parse_args()
    tokens, tags = features_and_chunks(read(Path(os.environ["SAPO_DATA"]) / "conll2000" / "train.txt.gz"))
    sentences = list(zip(tokens, tags, strict=True))[: given.sentences]
    print(f"{len(sentences):,} sentences, c1 {given.c1}, c2 {given.c2}")
    for name, run in (("sapo", ours), ("CRFsuite", theirs)):
        iterations, objective, weights = run(sentences, given.c1, given.c2)
        print(f"{name:9} {iterations:6,} iterations  objective {objective:.3f}  {weights:,} weights", flush=True)


if __name__ == "__main__":
    main()
