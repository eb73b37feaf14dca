"""L1 works with its default strength: it loses little compared with L2, and leaves a sparser model."""

import numpy as np
import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.tagger.tagger import Tagger


def chunker(regularizer: str, seed: int) -> Tagger:
    return sapo.train(
        sample_path("train"), columns=COLUMNS, label="chunk", epochs=5, regularizer=regularizer, seed=seed
    )


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[float, float]]:
    """The mean F1 on the held-out part and the mean number of weights that are not 0, by regularizer."""
    results = {}
    for regularizer in ("l2", "l1"):
        taggers = [chunker(regularizer, seed) for seed in (0, 1)]
        scores = [tagger.evaluate(sample_path("test")).main[1] for tagger in taggers]
        results[regularizer] = 100 * np.mean(scores), np.mean([one.model.parameters.nonzero for one in taggers])
    return results


def test_the_default_strength_of_l1_costs_little(found: dict[str, tuple[float, float]]) -> None:
    assert found["l1"][0] > found["l2"][0] - 1.0


def test_l1_leaves_a_sparser_model(found: dict[str, tuple[float, float]]) -> None:
    assert found["l1"][1] < 0.7 * found["l2"][1]
