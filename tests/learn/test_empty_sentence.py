"""A sentence without tokens teaches nothing; its loss is that of the only, empty tagging: zero."""

from typing import Any

import numpy as np
import pytest

from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.search.lattice import CORRECT, LOSS, TOKENS, UPDATES


@pytest.mark.parametrize("lengths", [(0,), (3, 0, 2)])
def test_an_empty_sentence_adds_nothing(tiny: Any, lengths: tuple[int, ...]) -> None:
    corpus = tiny.corpus(0, lengths=lengths)
    weights, totals = tiny.weights(0, corpus), np.zeros(20)
    before = [array.copy() for array in weights.true_weights().blocks[:2]]
    list(sapo_pass(weights, corpus, np.full(5, lengths.index(0)), 0.1, Settings(n=3, strength=0.0), totals))
    assert all(np.array_equal(a, b) for a, b in zip(weights.true_weights().blocks[:2], before, strict=True))
    assert totals[LOSS] == 0.0
    assert (totals[TOKENS], totals[UPDATES], totals[CORRECT]) == (0, 0, 0)


def test_an_empty_sentence_between_others_changes_nothing(tiny: Any) -> None:
    corpus = tiny.corpus(0, lengths=(3, 0, 2))
    results = []
    for order in ([0, 2], [0, 1, 2]):
        weights, totals = tiny.weights(0, corpus), np.zeros(20)
        list(sapo_pass(weights, corpus, np.array(order), 0.1, Settings(n=3, strength=0.0), totals))
        results.append((weights.features.tobytes(), weights.edges.tobytes(), totals[LOSS]))
    assert results[0] == results[1]
