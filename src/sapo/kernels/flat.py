"""Weights as one vector, sentence by sentence: the scores of a lattice, and the gradient of a CRF.

All in double precision: a gradient over all sentences is a sum of millions, and a minimiser compares sums that differ
little.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.forward import forward_backward
from sapo.kernels.oracle import FULLY, UNTAGGED, allows, bind, how_tagged
from sapo.kernels.score import path_score
from sapo.kernels.types import Doubles, Flat, Samples
from sapo.kernels.update import CORRECT, LOSS, TOKENS
from sapo.kernels.workspace import stages_of


@kernel
def flat_nodes(first: int, T: int, samples: Samples, flat: Flat, w: Doubles, node: Doubles) -> None:
    """Score the nodes of a sentence: node[t,y] = sum over the features f of token t of value[f] * w[f,y]."""
    L = node.shape[1]
    weighted = len(samples.values) > 0
    for t in range(T):
        for y in range(L):
            node[t, y] = 0.0
        for i in range(samples.row_offsets[first + t], samples.row_offsets[first + t + 1]):
            f = samples.rows[i]
            value = np.float64(samples.values[i]) if weighted else 1.0
            for k in range(flat.offsets[f], flat.offsets[f + 1]):
                node[t, flat.labels[k]] += value * w[k]
    for y in range(L):
        node[0, y] += flat.bans[L, y]
        node[T - 1, y] += flat.bans[L + 1, y]


@kernel
def flat_edges(first: int, T: int, samples: Samples, flat: Flat, w: Doubles, edge: Doubles) -> None:
    """Score the edges of a sentence. With one stage they are the same for every sentence."""
    L = edge.shape[1]
    many = edge.shape[0] > 1
    for t in range(1 if many else 0, T if many else 1):
        for p in range(L):
            for y in range(L):
                place = flat.edges[p, y]
                edge[t, p, y] = flat.bans[p, y] + (w[place] if place >= 0 else 0.0)
        if many:
            for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
                e = samples.edge_rows[i]
                for k in range(flat.pair_offsets[e], flat.pair_offsets[e + 1]):
                    code = flat.pair_codes[k]
                    edge[t, code // L, code % L] += w[flat.first_pair + k]


@kernel
def crf_gradient(
    begin: int,  # the first sentence
    end: int,
    samples: Samples,
    flat: Flat,
    w: Doubles,
    gradient: Doubles,  # changed: E[F(x, y)] - F(x, y*) of each sentence is added
    totals: Doubles,  # changed: the loss log Z - score(y*) of each, and what else is counted
) -> None:
    """Add up -log P(y* | x) and its gradient. Where tags of y* are open, y* is all taggings that keep to the others."""
    L = flat.edges.shape[0]
    longest = 1
    for s in range(begin, end):
        longest = max(longest, samples.offsets[s + 1] - samples.offsets[s])
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float64)
    bound = np.empty((longest, L), np.float64)
    edge = np.empty((stages, L, L), np.float64)
    alpha = np.empty((longest, L), np.float64)
    beta = np.empty((longest, L), np.float64)
    marginal = np.empty((longest, L), np.float64)
    kept = np.empty((longest, L), np.float64)
    pairs = np.empty((stages, L, L), np.float64)
    kept_pairs = np.empty((stages, L, L), np.float64)
    if stages == 1:
        flat_edges(0, 0, samples, flat, w, edge)
    for s in range(begin, end):
        first = samples.offsets[s]
        T = samples.offsets[s + 1] - first
        weight = np.float64(samples.importance[first]) if len(samples.importance) > 0 and T > 0 else 1.0
        gold = samples.gold[first : first + T]
        tagged = how_tagged(gold)
        if T == 0 or tagged == UNTAGGED or weight == 0.0:
            continue
        flat_nodes(first, T, samples, flat, w, node)
        if stages > 1:
            flat_edges(first, T, samples, flat, w, edge)
        log_z = forward_backward(node, edge, T, alpha, beta, marginal, pairs)
        if tagged == FULLY:
            log_kept = path_score(node, edge, gold, T)
        else:
            bind(gold, samples.allowed, node, T, bound)
            log_kept = forward_backward(bound, edge, T, alpha, beta, kept, kept_pairs)
        totals[TOKENS] += T
        totals[LOSS] += weight * (log_z - log_kept) if log_kept > -np.inf else np.nan
        for t in range(T):
            top = 0
            for y in range(L):
                if marginal[t, y] > marginal[t, top]:
                    top = y
            totals[CORRECT] += allows(gold[t], top, samples.allowed)
        if tagged == FULLY:
            for t in range(T):
                marginal[t, gold[t]] -= 1.0
                if t > 0:
                    pairs[t if stages > 1 else 0, gold[t - 1], gold[t]] -= 1.0
        else:
            for t in range(T):
                for y in range(L):
                    marginal[t, y] -= kept[t, y]
            for stage in range(1 if stages > 1 else 0, T if stages > 1 else 1):
                for p in range(L):
                    for y in range(L):
                        pairs[stage, p, y] -= kept_pairs[stage, p, y]
        add_expected(first, T, samples, flat, weight, marginal, pairs, gradient)


@kernel
def add_expected(
    first: int,
    T: int,
    samples: Samples,
    flat: Flat,
    weight: float,
    nodes: Doubles,  # [T, labels] how often each label is expected more than it is there
    pairs: Doubles,  # [stages, labels, labels] the same for pairs of labels
    gradient: Doubles,  # changed
) -> None:
    """Add what features and pairs of labels of a sentence are expected more often than they are there."""
    L = nodes.shape[1]
    weighted = len(samples.values) > 0
    many = pairs.shape[0] > 1
    for t in range(T):
        for i in range(samples.row_offsets[first + t], samples.row_offsets[first + t + 1]):
            f = samples.rows[i]
            value = weight * np.float64(samples.values[i]) if weighted else weight
            for k in range(flat.offsets[f], flat.offsets[f + 1]):
                gradient[k] += value * nodes[t, flat.labels[k]]
    for stage in range(1 if many else 0, T if many else 1):
        for p in range(L):
            for y in range(L):
                place = flat.edges[p, y]
                if place >= 0:
                    gradient[place] += weight * pairs[stage, p, y]
        if many:
            for i in range(samples.edge_row_offsets[first + stage], samples.edge_row_offsets[first + stage + 1]):
                e = samples.edge_rows[i]
                for k in range(flat.pair_offsets[e], flat.pair_offsets[e + 1]):
                    code = flat.pair_codes[k]
                    gradient[flat.first_pair + k] += weight * pairs[stage, code // L, code % L]
