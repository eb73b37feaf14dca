"""Forward-backward where edge scores lie far apart: more than some 370, and mass is lost before a row is divided.

Of alpha[t,y] = weight[t,y] * sum_p alpha[t-1,p] * factor[p,y] all three may be exp(-600), and their product is 0. But
the sum of the row may be as small as exp(-600), and then y is only exp(-600) times less probable than the best label,
which the next edges can make good.
"""

from itertools import pairwise, product

import numpy as np
import pytest

from sapo.jit.arrays import Doubles, Floats
from sapo.search import marginals


def forward_backward(node: Floats, edge: Floats) -> tuple[float, Doubles, Doubles]:
    T, L = node.shape
    marginal, pairs = np.full((T, L), np.nan), np.full((1, L, L), np.nan)
    log_z = marginals.forward_backward(node, edge[np.newaxis], T, np.empty((T, L)), np.empty((T, L)), marginal, pairs)
    return float(log_z), marginal, pairs[0]


def log_sum(scores: Doubles, axis: int) -> Doubles:
    top = scores.max(axis=axis, keepdims=True)
    summed: Doubles = np.log(np.exp(scores - top).sum(axis=axis)) + top.squeeze(axis)
    return summed


def all_scores(node: Floats, edge: Floats) -> tuple[list[tuple[int, ...]], Doubles]:
    paths = list(product(range(len(edge)), repeat=len(node)))
    scores = [
        sum(float(node[t, y]) for t, y in enumerate(path)) + sum(float(edge[p, y]) for p, y in pairwise(path))
        for path in paths
    ]
    return paths, np.array(scores)


@pytest.mark.parametrize("seed", range(10))
def test_scores_of_300_either_way_are_not_too_large(seed: int) -> None:
    rng = np.random.default_rng(seed)
    node = rng.choice(np.float32([-300, 300]), (5, 3)) + rng.normal(size=(5, 3)).astype(np.float32)
    edge = rng.choice(np.float32([-300, 300]), (3, 3)) + rng.normal(size=(3, 3)).astype(np.float32)
    paths, scores = all_scores(node, edge)
    expected = np.zeros((5, 3))
    for path, probability in zip(paths, np.exp(scores - log_sum(scores, axis=0)), strict=True):
        expected[np.arange(5), path] += probability
    log_z, marginal, _ = forward_backward(node, edge)
    assert log_z == pytest.approx(float(log_sum(scores, axis=0)), rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(marginal, expected, atol=1e-9)


def test_ten_thousand_tokens_with_scores_up_to_300_lose_no_mass() -> None:
    rng = np.random.default_rng(300)
    node = rng.uniform(-300, 300, (10_000, 3)).astype(np.float32)
    edge = rng.uniform(-300, 300, (3, 3)).astype(np.float32)
    marginals = node[0].astype(np.float64)
    for row in node[1:]:
        marginals = row + log_sum(marginals[:, None] + edge.astype(np.float64), axis=0)
    assert forward_backward(node, edge)[0] == pytest.approx(float(log_sum(marginals, axis=0)), rel=1e-11)
