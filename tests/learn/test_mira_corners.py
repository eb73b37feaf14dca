"""MIRA in interpreted kernels, and with features of small values."""

from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import UPDATES


def test_mira_runs_however_the_kernels_run(tiny: Any) -> None:
    """Keys of the table are wider than the numbers of labels, whose type must not decide."""
    corpus = tiny.corpus(0)
    weights = tiny.weights(0, corpus)
    totals = np.zeros(20)
    list(LEARNERS["mira"].run(weights, corpus, np.arange(corpus.sentences), 1.0, Settings(), totals))
    assert totals[UPDATES] > 0


@pytest.mark.parametrize("value", [1.0, 1e-3, 1e-5, 1e-8])
def test_the_size_of_a_value_does_not_matter(value: float) -> None:
    """Only a candidate with |D|^2 = 0 is the oracle itself: however short D is, the step is as long as it must be."""
    corpus = EncodedCorpus(
        np.array([0, 1]),
        np.array([0, 1]),
        np.zeros(1, np.int32),
        values=np.array([value], np.float32),
        gold=np.array([1], np.int32),
    )
    weights = Weights.zeros(1, 2)
    list(LEARNERS["mira"].run(weights, corpus, np.zeros(1, np.int64), 1.0, Settings(), np.zeros(20)))
    np.testing.assert_allclose(weights.features[0] * value, [-0.5, 0.5], rtol=1e-5)
