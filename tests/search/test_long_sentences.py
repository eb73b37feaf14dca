"""Ten thousand tokens: what was added up before must not drown the differences."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sapo.search.lattice import Lattice
from sapo.search.topn import top_n, viterbi

TOKENS, LABELS = 10_000, 3
Doubles = NDArray[np.float64]


@pytest.fixture(scope="module", params=[0.0, 20.0, -20.0])
def lattice(request: pytest.FixtureRequest) -> Lattice:
    """Every node has the given score on the average, so that a tagging adds up to a large number."""
    rng = np.random.default_rng(5)
    return Lattice(
        (request.param + rng.normal(size=(TOKENS, LABELS))).astype(np.float32),
        rng.normal(size=(LABELS, LABELS)).astype(np.float32),
    )


def double_viterbi(lattice: Lattice) -> float:
    """The score of the best tagging, in double precision."""
    best: Doubles = lattice.node[0].astype(np.float64)
    for node in lattice.node[1:].astype(np.float64):
        best = node + (best[:, None] + lattice.edge).max(axis=0)
    return float(best.max())


def double_score(lattice: Lattice, path: NDArray[np.int32]) -> float:
    node, edge = lattice.node.astype(np.float64), lattice.edge.astype(np.float64)
    return float(node[np.arange(TOKENS), path].sum() + edge[path[:-1], path[1:]].sum())


def test_the_taggings_of_a_long_sentence_are_the_best_ones(lattice: Lattice) -> None:
    best = double_viterbi(lattice)
    one, five = viterbi(lattice), top_n(lattice, n=5)
    scores = np.array([double_score(lattice, path) for path in five.paths])
    # a rounding error of single precision in the sum would be 0.02 here
    assert double_score(lattice, one.paths[0]) == pytest.approx(best, abs=1e-4, rel=0)
    assert scores[0] == pytest.approx(best, abs=1e-4, rel=0)
    assert np.array_equal(one.paths[0], five.paths[0])
    assert len(np.unique(five.paths, axis=0)) == 5
    # what a candidate loses against the best one is small, and exact to single precision
    assert five.scores[0] - five.scores == pytest.approx(scores[0] - scores, abs=1e-4, rel=0)
    assert one.scores[0] == five.scores[0]


def test_a_difference_at_the_first_token_is_still_seen_at_the_last() -> None:
    node = np.full((TOKENS, 2), 7.7, np.float32)
    node[0] = [1.0, 1.001]
    # labels never change on the way: the sentence is won or lost at its first token
    found = top_n(Lattice(node, np.array([[0, -np.inf], [-np.inf, 0]], np.float32)), n=3)
    assert found.paths[:, -1].tolist() == [1, 0]
    assert found.scores[0] - found.scores[1] == pytest.approx(0.001, rel=1e-2)
