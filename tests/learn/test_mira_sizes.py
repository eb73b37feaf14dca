"""The rounds of MIRA's solver end when w moves by less than 1e-9, however large the values of the features are."""

import numpy as np
import pytest

from sapo.kernels import mira


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_constraints_are_solved_alike_whatever_the_size_of_the_values(seed: int, size: float) -> None:
    """With values of 1e9 all of w is no more than that, and the first round is the last. Better end when no margin
    moves, by abs(new - dual[k]) * gram[k, k], which is in the units of the loss."""
    rng = np.random.default_rng(seed)
    rows = size * rng.normal(size=(5, 7))
    gram, wanted = rows @ rows.T, rng.normal(0.5, 1.0, size=5)
    dual = np.empty(5)
    mira.solve_dual(gram, wanted, 5, dual)
    assert (gram @ dual - wanted).min() >= -1e-6
