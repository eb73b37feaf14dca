"""The rounds of MIRA's solver end when no margin moves by more than 1e-9, however large the values of the features."""

import numpy as np
import pytest

from sapo.learn.mira import solve_dual


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_constraints_are_solved_alike_whatever_the_size_of_the_values(seed: int, size: float) -> None:
    """A margin is in the units of the loss; with values of 1e9 all of w is less than 1e-9, and cannot tell the end."""
    rng = np.random.default_rng(seed)
    rows = size * rng.normal(size=(5, 7))
    gram, wanted = rows @ rows.T, rng.normal(0.5, 1.0, size=5)
    dual = np.empty(5)
    solve_dual(gram, wanted, 5, dual)
    assert (gram @ dual - wanted).min() >= -1e-6
