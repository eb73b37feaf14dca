"""Walks over a whole block of weights: of features, of pairs of labels, or of edge features.

Blocks are of v, with w = scale * v; `sums` and the clock are for averaging (see kernels/weights.py).
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Floats, Part


@kernel
def fold_scale(part: Part, scale: float, clock: float) -> None:
    """Make v the true weights before it outgrows single precision; the sum of all w so far stays what it is."""
    weights, sums = part.v, part.sums
    averaged = len(sums) > 0
    factor = np.float32(scale)
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            if averaged:
                sums[f, y] -= clock * weights[f, y]  # with a clock of 0 the sum is 0 * v - sums
            weights[f, y] *= factor


@kernel
def penalise_row(f: int, part: Part, clock: float, penalty: float) -> None:
    """L1: move each weight towards 0 by what it still owes of the penalty that it could have got, and not past it."""
    weights, sums, received = part.v, part.sums, part.received
    averaged = len(sums) > 0
    for y in range(weights.shape[1]):
        before = weights[f, y]
        if before > 0.0:
            after = max(0.0, before - (penalty + received[f, y]))
        elif before < 0.0:
            after = min(0.0, before + (penalty - received[f, y]))
        else:
            continue
        weights[f, y] = after
        received[f, y] += after - before
        if averaged:
            sums[f, y] += (after - before) * clock


@kernel
def penalise_all(part: Part, clock: float, penalty: float) -> None:
    """The same for all rows of a block."""
    for f in range(part.v.shape[0]):
        penalise_row(f, part, clock, penalty)


@kernel
def absolute_sum(weights: Floats) -> float:
    """Return the sum of |v|, without a second array of the size of the weights."""
    total = 0.0
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            total += abs(float(weights[f, y]))
    return total


@kernel
def squared_sum(weights: Floats) -> float:
    """Return the sum of v^2."""
    total = 0.0
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            total += np.float64(weights[f, y]) * np.float64(weights[f, y])
    return total
