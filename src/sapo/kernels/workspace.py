"""The arrays that a learner works in: made once for a run of samples, filled anew for each."""

from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints, Longs


class Workspace(NamedTuple):
    """Room for the lattice of the longest sentence, and for what is found there."""

    node: Floats  # [longest, L]
    edge: Floats  # [stages, L, L]
    edge_to: Floats  # [stages, L, L] edge_to[t, y, p] = edge[t, p, y]
    best: Floats  # [longest, L]
    row: Floats  # [L]
    oracle: Ints  # [longest]
    paths: Ints  # [n, longest]
    scores: Doubles  # [n] of the paths, best first
    coefficients: Doubles  # [n] of the paths in an update


@kernel
def make_workspace(longest: int, L: int, stages: int, n: int) -> Workspace:
    """Return arrays for sentences of up to `longest` tokens and n candidates."""
    return Workspace(
        np.empty((longest, L), np.float32),
        np.empty((stages, L, L), np.float32),
        np.empty((stages, L, L), np.float32),
        np.empty((longest, L), np.float32),
        np.empty(L, np.float32),
        np.empty(longest, np.int32),
        np.empty((n, longest), np.int32),
        np.empty(n, np.float64),
        np.empty(n, np.float64),
    )


@kernel
def longest_of(order: Longs, offsets: Longs) -> int:
    """Return the number of tokens of the longest of these sentences, at least 1."""
    longest = 1
    for sentence in order:
        longest = max(longest, offsets[sentence + 1] - offsets[sentence])
    return longest


@kernel
def stages_of(edge_row_offsets: Longs, longest: int) -> int:
    """Return how many stages the edges need: one, unless there are edge features."""
    return longest if len(edge_row_offsets) > 1 else 1
