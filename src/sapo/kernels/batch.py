"""Lattices of several sentences in; out the n best taggings of each, or sums over all of its taggings."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.forward import forward_backward
from sapo.kernels.topn import top_n
from sapo.kernels.types import Doubles, Floats, Ints, Longs
from sapo.kernels.viterbi import best_scores


@kernel
def top_n_batch(
    nodes: Floats,  # [B, T, L] padded behind each sentence
    edge: Floats,  # [1, L, L]
    edge_to: Floats,  # [1, L, L] edge_to[0, y, p] = edge[0, p, y]
    lengths: Longs,  # [B]
    n: int,
    paths: Longs,  # [B, n, T] out; what is not found, and what is padding, is left as it is
    found: Ints,  # [B] out
) -> None:
    """All sentences share the edges. A sentence without tokens has one tagging, the empty one."""
    B, T, L = nodes.shape
    best = np.empty((T, L), np.float32)
    row = np.empty(L, np.float32)
    mine = np.empty((n, T), np.int32)
    scores: Doubles = np.empty(n, np.float64)
    for b in range(B):
        length = lengths[b]
        found[b] = 1
        if length > 0:
            best_scores(nodes[b], edge, length, best, row)
            found[b] = top_n(best, edge_to, length, n, np.inf, mine, scores, row)
            for k in range(found[b]):
                for t in range(length):
                    paths[b, k, t] = mine[k, t]


@kernel
def normalise_batch(
    nodes: Floats,  # [B, T, L] padded behind each sentence
    edge: Floats,  # [1, L, L]
    lengths: Longs,  # [B]
    log_z: Doubles,  # [B] out: the log of the sum of exp(score) over all taggings
    marginals: Floats,  # [B, T, L] out: P(y_t = y | x); what is padding is left as it is
    pairs: Floats,  # [B, L, L] out: the expected number of each pair of labels
) -> None:
    """All sentences share the edges. A sentence without tokens has one tagging, with a score of 0."""
    B, T, L = nodes.shape
    alpha = np.empty((T, L), np.float64)
    beta = np.empty((T, L), np.float64)
    marginal = np.empty((T, L), np.float64)
    expected = np.empty((1, L, L), np.float64)
    for b in range(B):
        length = lengths[b]
        log_z[b] = 0.0
        if length > 0:
            log_z[b] = forward_backward(nodes[b], edge, length, alpha, beta, marginal, expected)
        if length > 0 and log_z[b] > -np.inf:
            marginals[b, :length] = marginal[:length]
            pairs[b] = expected[0]
