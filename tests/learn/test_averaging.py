"""Averaged weights: the mean of w over all samples, whatever the scale did meanwhile."""

from typing import Any

import numpy as np
import pytest

from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings

ORDER = [0, 2, 1, 3, 2, 0, 3, 1]


# with the strongest the scale falls to its bound within the run, and the average is a difference of large numbers
@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0, 2.0, 3.6])
@pytest.mark.parametrize("transitions", [True, False])
def test_the_average_is_the_mean_of_the_weights_after_each_sample(
    tiny: Any, strength: float, transitions: bool
) -> None:
    corpus = tiny.corpus(7, values=True)
    weights = tiny.weights(7, corpus, transitions=transitions)
    weights.prepare(averaged=True, l1=False)
    literal = tiny.literal(corpus, tiny.weights(7, corpus, transitions=transitions))
    settings = Settings(n=81, rate=1.0, strength=strength)
    for sentence in ORDER * 3:
        literal.sample(sentence, 1.0, settings)
    for samples in (ORDER, ORDER * 2):  # an average goes on over passes
        list(sapo_pass(weights, corpus, np.array(samples), 1.0, settings, np.zeros(20)))
    features, edges = literal.average()
    np.testing.assert_allclose(weights.true_weights().features, features, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights.true_weights().edges, edges, rtol=1e-4, atol=1e-5)


def test_averaging_does_not_change_what_is_learned(tiny: Any) -> None:
    corpus = tiny.corpus(8)
    settings = Settings(n=3, epochs=3, tolerance=0.0, seed=1)
    plain, averaged = State(tiny.weights(8, corpus)), State(tiny.weights(8, corpus))
    averaged.weights.prepare(averaged=True, l1=False)
    for state in (plain, averaged):
        learn(sapo_pass, corpus, settings, state)
    assert np.array_equal(plain.weights.features, averaged.weights.features)
    assert [record.objective for record in plain.history] == [record.objective for record in averaged.history]
    assert not np.allclose(final_weights(plain).features, final_weights(averaged).features)
