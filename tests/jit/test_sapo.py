"""The kernel of Algorithm 1 in every mode: along the slope of the loss, and never outside of its arrays."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import CANDIDATES, LOSS, TOKENS, UPDATES, make_lattice
from sapo.search.topn import top_n

FEATURES, LABELS = 4, 3


def loss(corpus: EncodedCorpus, features: np.ndarray, edges: np.ndarray) -> float:
    """Minus the log-probability of the oracle of a corpus of one sentence, by enumeration."""
    node = [features[corpus.rows[a:b]].sum(axis=0) for a, b in pairwise(corpus.row_offsets.tolist())]
    scores = {
        path: sum(node[t][y] for t, y in enumerate(path)) + sum(edges[pair] for pair in pairwise(path))
        for path in product(range(LABELS), repeat=len(node))
    }
    return math.log(sum(map(math.exp, scores.values()))) - float(scores[tuple(corpus.gold.tolist())])


@pytest.mark.parametrize("seed", range(3))
def test_with_all_taggings_a_sample_moves_every_weight_down_the_slope_of_the_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corpus = EncodedCorpus(
        np.array([0, 3]),
        np.array([0, 2, 3, 5]),
        rng.integers(FEATURES, size=5).astype(np.int32),
        gold=rng.integers(LABELS, size=3).astype(np.int32),
    )
    before = (rng.normal(size=(FEATURES, LABELS)), rng.normal(size=(LABELS, LABELS)))
    weights = Weights.of(before[0].astype(np.float32), before[1].astype(np.float32))
    totals = np.zeros(20)
    list(sapo_pass(weights, corpus, np.zeros(1, np.int64), 1.0, Settings(n=LABELS**3, strength=0.0), totals))
    assert totals[LOSS] == pytest.approx(loss(corpus, *before), abs=1e-4)
    for which, after in enumerate(weights.true_weights().blocks[:2]):
        for place in np.ndindex(after.shape):
            nearby = []
            for step in (1e-4, -1e-4):
                moved = [array.copy() for array in before]
                moved[which][place] += step
                nearby.append(loss(corpus, *moved))
            slope = (nearby[0] - nearby[1]) / 2e-4
            assert after[place] == pytest.approx(before[which][place] - slope, abs=1e-4)


@pytest.mark.parametrize("n", [1, 3])
def test_the_loss_of_a_long_sentence_is_that_of_its_lattice(n: int) -> None:
    rng = np.random.default_rng(n)
    corpus = EncodedCorpus(
        np.array([0, 150]),
        np.arange(151),
        rng.integers(FEATURES, size=150).astype(np.int32),
        gold=rng.integers(LABELS, size=150).astype(np.int32),
    )
    weights = Weights.of(rng.normal(size=(FEATURES, LABELS)).astype(np.float32), np.eye(3, dtype=np.float32))
    lattice = make_lattice(corpus, 0, weights.true_weights())
    totals = np.zeros(20)
    list(sapo_pass(weights, corpus, np.zeros(1, np.int64), 0.1, Settings(n=n), totals))
    best = top_n(lattice, n=n).scores
    expected = float(np.logaddexp.reduce(best)) - lattice.path_score(corpus.gold)
    assert totals[LOSS] == pytest.approx(expected, abs=1e-3)


@given(
    lengths=st.lists(st.integers(1, 70), min_size=1, max_size=4),
    labels=st.integers(1, 6),
    n=st.integers(1, 9),
    stop_ratio=st.sampled_from([math.inf, 3.0, 1.0]),
    valued=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=25)
def test_sentences_and_candidates_of_any_number_stay_inside(
    lengths: list[int], labels: int, n: int, stop_ratio: float, valued: bool, seed: int
) -> None:
    """In the checked mode a step outside of an array raises; in the others the weights would hardly stay finite."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, size=sum(lengths))
    corpus = EncodedCorpus(
        np.cumsum([0, *lengths]),
        np.cumsum([0, *sizes.tolist()]),
        rng.integers(FEATURES, size=sizes.sum()).astype(np.int32),
        rng.normal(size=sizes.sum() if valued else 0).astype(np.float32),
        rng.integers(labels, size=sum(lengths)).astype(np.int32),
    )
    weights, totals = Weights.zeros(FEATURES, labels), np.zeros(20)
    order = rng.permutation(len(lengths))
    list(sapo_pass(weights, corpus, order, 0.1, Settings(n=n, stop_ratio=stop_ratio), totals))
    assert np.isfinite(weights.features).all()
    assert np.isfinite(weights.edges).all()
    assert totals[TOKENS] == sum(lengths)
    assert 0 <= totals[UPDATES] <= sum(lengths)
    assert len(lengths) <= totals[CANDIDATES] <= n * len(lengths)
    assert totals[LOSS] >= -1e-3
