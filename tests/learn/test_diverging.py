"""A rate or strength that makes training diverge ends in one clear error, not in a model of NaN."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.learn import LEARNERS
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings


def test_weights_that_grow_without_bounds_are_reported(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    corpus = dataclasses.replace(corpus, values=np.full(len(corpus.rows), 1e10, np.float32))
    state = State(tiny.weights(0, corpus))
    # interpreted kernels would warn of the overflow
    with pytest.raises(SapoError, match="training diverged"), np.errstate(all="ignore"):
        learn(sapo_pass, corpus, Settings(epochs=20, tolerance=0.0, strength=0.0, rate=1e30), state)


@pytest.mark.parametrize("learner", ["sapo", "crf-avg"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("strength", [8.0, 9.0, 1e4])
def test_a_strength_that_would_turn_the_weights_around_is_refused(
    tiny: Any, learner: str, threads: int, strength: float
) -> None:
    """w <- (1 - rate * strength / |S|) * w, with 4 sentences and a rate of 1/2."""
    corpus = tiny.corpus(0)
    weights = tiny.weights(0, corpus)
    before = weights.features.copy()
    settings = Settings(rate=0.5, strength=strength, threads=threads)
    with pytest.raises(SapoError, match=f"the strength {strength} is too large for 4 sentences at the rate 0.5; lower"):
        learn(LEARNERS[learner].run, corpus, settings, State(weights))
    assert (weights.features == before).all()


@pytest.mark.parametrize("regularizer", ["l1", "none"])
def test_where_nothing_is_multiplied_any_strength_will_do(tiny: Any, regularizer: str) -> None:
    corpus = tiny.corpus(0)
    settings = Settings(rate=0.5, strength=1e4, epochs=2, regularizer=regularizer)
    weights = tiny.weights(0, corpus)
    weights.prepare(averaged=False, l1=regularizer == "l1")
    assert learn(sapo_pass, corpus, settings, State(weights)).text == "all 2 epochs done"
