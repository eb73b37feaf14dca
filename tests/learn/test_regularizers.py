"""L1 by cumulative penalty against the algorithm of Tsuruoka et al. (2009) written out, and no regularizer at all."""

from typing import Any

import numpy as np
import pytest

from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.search.lattice import LOSS


def pay(w: np.ndarray, received: np.ndarray, owed: float, places: Any) -> None:
    """Move weights towards 0 by all that they could have got and have not got so far, never past 0."""
    for place in places:
        before = w[place]
        if before > 0:
            w[place] = max(0.0, before - (owed + received[place]))
        elif before < 0:
            w[place] = min(0.0, before + (owed - received[place]))
        received[place] += w[place] - before


@pytest.mark.parametrize("strength", [0.1, 2.0])
@pytest.mark.parametrize("values", [True, False])
def test_l1_equals_the_cumulative_penalty_written_out(tiny: Any, strength: float, values: bool) -> None:
    corpus = tiny.corpus(9, values=values)
    settings = Settings(n=4, rate=0.3, strength=strength, regularizer="l1")
    weights = tiny.weights(9, corpus)
    weights.prepare(averaged=False, l1=True)
    literal = tiny.literal(corpus, tiny.weights(9, corpus))
    received = [np.zeros_like(literal.features), np.zeros_like(literal.edges)]
    owed = 0.0
    order = [0, 2, 1, 3, 2, 0, 3, 1, 1, 2]
    for sentence in order:
        literal.sample(sentence, 0.3, Settings(n=4, strength=0.0))
        owed += 0.3 * strength / corpus.sentences
        first, last = corpus.row_offsets[corpus.offsets[sentence : sentence + 2]]
        used = sorted(set(corpus.rows[first:last].tolist()))
        pay(literal.features, received[0], owed, [(row, label) for row in used for label in range(3)])
        pay(literal.edges, received[1], owed, list(np.ndindex(3, 3)))
    pay(literal.features, received[0], owed, list(np.ndindex(literal.features.shape)))
    assert literal.narrowest > 1e-4
    list(sapo_pass(weights, corpus, np.array(order), 0.3, settings, np.zeros(20)))
    weights.pay_penalties()
    learned = weights.true_weights()
    features, edges = learned.features, learned.edges
    np.testing.assert_allclose(features, literal.features, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(edges, literal.edges, rtol=1e-4, atol=2e-5)


def test_a_strong_l1_brings_most_weights_to_just_zero_and_counts_in_the_objective(tiny: Any) -> None:
    corpus = tiny.corpus(9)
    state = State(tiny.weights(9, corpus))
    state.weights.prepare(averaged=False, l1=True)
    settings = Settings(n=4, rate=0.3, strength=2.0, regularizer="l1", epochs=6, tolerance=0.0)
    seen = []

    def spying(*arguments: Any) -> Any:
        seen.append(arguments[-1])
        return sapo_pass(*arguments)

    learn(spying, corpus, settings, state)
    absolute = sum(float(np.abs(array).sum()) for array in state.weights.true_weights().blocks[:2])
    expected = (seen[-1][LOSS] + 2.0 * absolute) / corpus.sentences
    assert state.history[-1].objective == pytest.approx(expected, rel=1e-5)
    assert (final_weights(state).features == 0).mean() > 0.3


def test_without_a_regularizer_the_strength_does_not_matter(tiny: Any) -> None:
    corpus = tiny.corpus(9)
    results = []
    for settings in (Settings(regularizer="none", strength=9.0), Settings(strength=0.0)):
        state = State(tiny.weights(9, corpus))
        learn(sapo_pass, corpus, settings, state)
        results.append((final_weights(state).features.tobytes(), [record.objective for record in state.history]))
    assert results[0] == results[1]
