"""The weights while they are learned: w = scale * v."""

import numpy as np
import pytest

from sapo.learn.weights import SCALE, Weights


def halved(features: list[list[float]], edges: list[list[float]]) -> Weights:
    """v as given, and a scale of one half."""
    weights = Weights.of(np.array(features, np.float32), np.array(edges, np.float32))
    weights.state[SCALE] = 0.5
    return weights


def test_weights_begin_at_zero() -> None:
    weights = Weights.zeros(4, 3)
    assert (weights.features.shape, weights.edges.shape, weights.scale, weights.transitions) == (
        (4, 3),
        (3, 3),
        1.0,
        True,
    )
    assert not weights.features.any()
    assert not weights.edges.any()
    assert (weights.w_complexity(), weights.squared_norm()) == (0.0, 0.0)


def test_true_weights_are_scaled_copies() -> None:
    weights = halved([[1, -2]], [[4, 0], [0, -8]])
    learned = weights.true_weights()
    features, edges = learned.features, learned.edges
    assert features.tolist() == [[0.5, -1.0]]
    assert edges.tolist() == [[2.0, 0.0], [0.0, -4.0]]
    features[:] = edges[:] = 99
    assert weights.features.tolist() == [[1, -2]]
    assert weights.edges.tolist() == [[4, 0], [0, -8]]


def test_w_complexity_is_the_mean_of_all_absolute_weights() -> None:
    weights = halved([[1, -2]], [[4, 0], [0, -8]])
    assert weights.w_complexity() == pytest.approx(0.5 * (1 + 2 + 4 + 8) / 6)


def test_the_squared_norm_is_that_of_the_true_weights() -> None:
    weights = halved([[1, -2]], [[4, 0], [0, -8]])
    assert weights.squared_norm() == pytest.approx(0.25 * (1 + 4 + 16 + 64))


def test_the_norms_of_many_weights_add_up_in_double_precision() -> None:
    # in single precision the sum is off by more than the objective may change between two passes
    weights = Weights.zeros(3_000, 100, matrix=True)
    weights.features[:] = 0.1
    value = float(np.float32(0.1))
    count = weights.features.size + weights.edges.size
    assert weights.squared_norm() == pytest.approx(value**2 * weights.features.size, rel=1e-6)
    assert weights.w_complexity() == pytest.approx(value * weights.features.size / count, rel=1e-6)
