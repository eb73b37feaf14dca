"""The loss of a perceptron is a whole number, so that two passes are often alike long before it has converged."""

from typing import Any

from sapo.learn import LEARNERS
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def test_a_perceptron_that_still_makes_mistakes_goes_on(tiny: Any) -> None:
    """Both passes have a loss of 0.5 a sample; the third or fourth one would have none."""
    corpus = tiny.corpus(4)
    state = State(Weights.zeros(3 + corpus.tokens, 3, transitions=False))
    settings = Settings(epochs=20, regularizer="none", strength=0.0, tolerance=1e-9)
    reason = learn(LEARNERS["perceptron"].run, corpus, settings, state)
    assert reason.text == "converged"
    assert state.history[-1].accuracy == 1
