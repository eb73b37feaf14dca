"""A perceptron that makes no mistake has nothing left to learn: two objectives of zero differ by nothing."""

from typing import Any

import numpy as np

from sapo.features.encoded import EncodedCorpus
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def test_training_stops_when_the_objective_stays_at_zero() -> None:
    corpus = EncodedCorpus(
        np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([0, 1], np.int32), gold=np.array([0, 1], np.int32)
    )
    state = State(Weights.zeros(2, 2))
    reason: Any = learn(sapo_pass, corpus, Settings(n=1, rate=1.0, strength=0.0, epochs=20), state)
    assert state.history[-1].objective == 0.0
    assert reason.text == "converged"
    assert state.epoch < 20
