"""Norms and shrinking of groups of weights."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints


@kernel
def add_squares(weights: Floats, group_of: Ints, squares: Doubles) -> None:
    """squares[g] += sum of the squared weights of group g."""
    for f in range(weights.shape[0]):
        total = 0.0
        for y in range(weights.shape[1]):
            total += np.float64(weights[f, y]) * np.float64(weights[f, y])
        squares[group_of[f]] += total


@kernel
def scale_groups(weights: Floats, group_of: Ints, factors: Doubles, sums: Floats, clock: float) -> None:
    """Multiply each weight by the factor of its group."""
    averaged = len(sums) > 0
    for f in range(weights.shape[0]):
        factor = factors[group_of[f]]
        for y in range(weights.shape[1]):
            change = weights[f, y] * (factor - 1.0)
            weights[f, y] += change
            if averaged:
                sums[f, y] += change * clock
