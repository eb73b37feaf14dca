"""The start rate: found on the data, smaller where features are shared more, and without a trace in the weights."""

from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.training.choice import start_rate


def repeated(times: int) -> EncodedCorpus:
    """Every feature of a token comes `times` times: one step moves its score by as much more."""
    rng = np.random.default_rng(0)
    sentences, tokens = 60, 300
    rows = np.repeat(rng.integers(12, size=tokens), times).astype(np.int32)
    return EncodedCorpus(
        np.linspace(0, tokens, sentences + 1).astype(np.int64),
        np.arange(tokens + 1) * times,
        rows,
        gold=rng.integers(3, size=tokens).astype(np.int32),
    )


def test_features_that_come_more_often_get_a_smaller_rate() -> None:
    rates = [start_rate(repeated(times), Weights.zeros(12, 3), seed=0) for times in (1, 8, 64)]
    assert rates[0] >= rates[1] > rates[2]
    assert 0 < rates[2] < rates[0] <= 0.1


def test_the_weights_are_as_new_afterwards() -> None:
    weights, fresh = Weights.zeros(12, 3, averaged=True, l1=True), Weights.zeros(12, 3)
    start_rate(repeated(4), weights, seed=0)
    assert not weights.features.any()
    assert not weights.rows.dense_sums.any()
    assert weights.state.tolist() == fresh.state.tolist()


def test_the_rate_depends_on_the_seed_alone() -> None:
    rates = [start_rate(repeated(64), Weights.zeros(12, 3), seed=seed) for seed in (3, 3)]
    assert rates[0] == rates[1]


@pytest.mark.parametrize("times", [1, 64])
def test_training_at_this_rate_lowers_the_objective(times: int) -> None:
    corpus = repeated(times)
    state: Any = State(Weights.zeros(12, 3))
    rate = start_rate(corpus, state.weights, seed=0)
    learn(sapo_pass, corpus, Settings(rate=rate, epochs=6, tolerance=0.0, strength=0.1), state)
    assert state.history[-1].objective < state.history[0].objective
