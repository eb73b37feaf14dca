"""Forward-backward where edges are forbidden: a way that no other one feeds can fall behind by more than any number.

Of finite scores a label is never further behind than one edge, but with forbidden edges (of a tag scheme, a rule or a
forced tag, in learning as in tagging) the difference adds up over the sentence. Where it comes too near to the smallest
number, forward-backward goes by logarithms.
"""

import numpy as np
import pytest

from sapo.jit.arrays import Doubles, Floats
from sapo.search import marginals

NEVER_MEET = np.array([[0, -np.inf], [-np.inf, 0]], np.float32)


def forward_backward(node: Floats, edge: Floats) -> tuple[float, Doubles, Doubles]:
    T, L = node.shape
    marginal, pairs = np.full((T, L), np.nan), np.full((1, L, L), np.nan)
    with np.errstate(all="ignore"):  # interpreted kernels would warn before the numbers can be seen
        log_z = marginals.forward_backward(
            node, edge[np.newaxis], T, np.empty((T, L)), np.empty((T, L)), marginal, pairs
        )
    return float(log_z), marginal, pairs[0]


def test_two_ways_that_never_meet_are_both_kept_through_a_long_sentence() -> None:
    """Both score 2000, one in the first half and one in the second."""
    node = np.zeros((400, 2), np.float32)
    node[:200, 0] = node[200:, 1] = 10
    log_z, marginal, pairs = forward_backward(node, NEVER_MEET)
    assert log_z == pytest.approx(2000 + np.log(2), abs=1e-6)
    np.testing.assert_allclose(marginal, 0.5, atol=1e-9)
    np.testing.assert_allclose(pairs, np.eye(2) * 399 / 2, atol=1e-6)


def test_the_only_way_through_a_long_sentence_is_found_though_it_looks_bad_until_the_end() -> None:
    node = np.zeros((100, 2), np.float32)
    node[:, 0] = 10
    node[-1, 0] = -np.inf
    log_z, marginal, _ = forward_backward(node, NEVER_MEET)
    assert log_z == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(marginal[:, 1], 1.0, atol=1e-9)


def test_edges_that_lie_far_apart_in_different_rows_are_far_apart() -> None:
    """All edges of a step are taken relative to the best one of them, so their spread is taken over all rows."""
    node = np.array([[-np.inf, 0], [0, 0]], np.float32)
    edge = np.array([[1000, 1000], [-1000, -1000]], np.float32)
    log_z, marginal, _ = forward_backward(node, edge)
    assert log_z == pytest.approx(-1000 + np.log(2), abs=1e-9)
    np.testing.assert_allclose(marginal, [[0.0, 1.0], [0.5, 0.5]], atol=1e-9)
