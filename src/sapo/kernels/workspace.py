"""The arrays that a learner works in: made once for a run of samples, filled anew for each."""

from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import inlined, kernel
from sapo.kernels.types import Doubles, Floats, Ints, Longs


class Workspace(NamedTuple):
    """Room for the lattice of the longest sentence, and for what is found there."""

    node: Floats  # [longest, K] K is L, or fewer where lists are short
    edge: Floats  # [stages, K, K]
    edge_to: Floats  # [stages, K, K] edge_to[t, y, p] = edge[t, p, y]
    best: Floats  # [longest, K]
    row: Floats  # [L]
    oracle: Ints  # [longest]
    paths: Ints  # [n, longest]
    scores: Doubles  # [n] of the paths, best first
    coefficients: Doubles  # [n] of the paths in an update
    lists: Ints  # [longest, K] the labels of each token's nodes, where lists are short
    counts: Ints  # [longest] how many labels each token has there
    place: Ints  # [L] -1 everywhere, between uses
    full: Floats  # [1, L] the scores of one token
    begins: Ints  # [longest] which nodes are to be scored
    changing: Ints  # [longest, n + 1] the labels of each token that an update changes
    sizes: Ints  # [longest] how many they are
    changes: Floats  # [longest, n + 1] by what they change


@kernel
def make_workspace(longest: int, L: int, stages: int, n: int, most: int) -> Workspace:
    """Return arrays for sentences of up to `longest` tokens and n candidates; with `most` lists are short."""
    K = min(most, L) if most > 0 else L
    if most > 0:
        stages = longest
    edge = np.empty((stages, K, K), np.float32)
    edge_to = np.empty((stages, K, K), np.float32)
    if most > 0:  # some are never written, and must be numbers
        edge[:] = 0.0
        edge_to[:] = 0.0
    place = np.empty(L, np.int32)
    for y in range(L):
        place[y] = -1
    return Workspace(
        np.empty((longest, K), np.float32),
        edge,
        edge_to,
        np.empty((longest, K), np.float32),
        np.empty(L, np.float32),
        np.empty(longest, np.int32),
        np.empty((n, longest), np.int32),
        np.empty(n, np.float64),
        np.empty(n, np.float64),
        np.empty((longest if most > 0 else 0, K), np.int32),
        np.empty(longest, np.int32),
        place,
        np.empty((1, L), np.float32),
        np.empty(longest, np.int32),
        np.empty((longest, n + 1), np.int32),
        np.zeros(longest, np.int32),
        np.empty((longest, n + 1), np.float32),
    )


@kernel
@inlined
def window(work: Workspace, begin: int, end: int) -> Workspace:
    """Return the part of a lattice from one token up to another, as a lattice of its own."""
    staged = work.edge.shape[0] > 1
    return Workspace(
        work.node[begin:end],
        work.edge[begin:end] if staged else work.edge,
        work.edge_to[begin:end] if staged else work.edge_to,
        work.best[begin:end],
        work.row,
        work.oracle[begin:end],
        work.paths,
        work.scores,
        work.coefficients,
        work.lists[begin:end],
        work.counts[begin:end],
        work.place,
        work.full,
        work.begins[begin:end],
        work.changing[begin:end],
        work.sizes[begin:end],
        work.changes[begin:end],
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
