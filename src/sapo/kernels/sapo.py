"""Algorithm 1 of the paper over a run of samples: lattice, top-n, P_k, update, regularise."""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.score import path_score, score_nodes
from sapo.kernels.topn import top_n
from sapo.kernels.types import Doubles, Floats, Ints, Longs
from sapo.kernels.viterbi import best_scores

# What a run reports, by index into `totals`.
LOSS, UPDATES, CANDIDATES, TOKENS, CORRECT = 0, 1, 2, 3, 4


@kernel
def sapo_samples(
    order: Longs,  # [samples] which sentences to learn from, in this order
    sentence_offsets: Longs,
    row_offsets: Longs,
    rows: Ints,
    values: Floats,
    gold: Ints,  # [tokens]
    weights: Floats,  # [features, labels] v: the true weights are scale * v
    edges: Floats,  # [labels, labels] v of the edges
    with_edges: bool,
    scale: float,
    n: int,
    margin: float,
    rate: float,
    shrink: float,  # rate * strength / |S|
    totals: Doubles,  # added to
) -> float:
    """Learn from each sample in turn; return the new scale."""
    L = weights.shape[1]
    longest = 1
    for sentence in order:
        longest = max(longest, sentence_offsets[sentence + 1] - sentence_offsets[sentence])
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((L, L), np.float32)
    edge_to = np.empty((L, L), np.float32)
    row = np.empty(L, np.float32)
    paths = np.empty((n, longest), np.int32)
    scores = np.empty(n, np.float64)
    parents = np.empty(n, np.int32)
    positions = np.empty(n, np.int32)
    labels = np.empty(n, np.int32)
    probability = np.empty(n, np.float64)

    for sentence in order:
        first = sentence_offsets[sentence]
        last = sentence_offsets[sentence + 1]
        T = last - first
        oracle = gold[first:last]

        # search the top-n outputs Y_n
        score_nodes(first, last, row_offsets, rows, values, weights, scale, node)
        for p in range(L):
            for y in range(L):
                edge[p, y] = scale * edges[p, y]
                edge_to[y, p] = edge[p, y]
        taken = best_scores(node, edge, T, best, row)
        found = top_n(best, edge_to, T, n, margin, paths, scores, parents, positions, labels, row)

        # P_k = exp(score_k) / sum of exp(score) over Y_n
        mass = 0.0
        for k in range(found):
            probability[k] = math.exp(scores[k] - scores[0])
            mass += probability[k]
        for k in range(found):
            probability[k] /= mass
        totals[LOSS] += taken + scores[0] + math.log(mass) - path_score(node, edge, oracle, T)
        totals[CANDIDATES] += found
        totals[TOKENS] += T

        # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v
        step = rate / scale
        touched = update_nodes(
            first, T, row_offsets, rows, values, oracle, paths, probability, found, step, weights, row
        )
        if touched > 0 and with_edges:
            update_edges(T, oracle, paths, probability, found, step, edges)
        totals[UPDATES] += touched
        for t in range(T):
            if paths[0, t] == oracle[t]:
                totals[CORRECT] += 1

        # w <- w - rate * strength / |S| * w
        scale *= 1.0 - shrink
        if scale < 1e-6:  # bring it back before v outgrows single precision
            for f in range(weights.shape[0]):
                for y in range(L):
                    weights[f, y] *= scale
            for p in range(L):
                for y in range(L):
                    edges[p, y] *= scale
            scale = 1.0
    return scale


@kernel
def update_nodes(
    first: int,
    T: int,
    row_offsets: Longs,
    rows: Ints,
    values: Floats,
    oracle: Ints,
    paths: Ints,
    probability: Doubles,
    found: int,
    step: float,
    weights: Floats,
    delta: Floats,  # [labels] work
) -> int:
    """Update the feature weights; return the number of tokens that were touched."""
    weighted = len(values) > 0
    touched = 0
    for t in range(T):
        # Where all candidates agree with the oracle the update cancels, for the P_k sum to 1.
        agree = True
        for k in range(found):
            if paths[k, t] != oracle[t]:
                agree = False
        if agree:
            continue
        touched += 1
        for k in range(found):
            delta[paths[k, t]] = 0.0
        delta[oracle[t]] = step
        for k in range(found):
            delta[paths[k, t]] -= step * probability[k]
        for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
            f = rows[i]
            value = values[i] if weighted else np.float32(1.0)
            weights[f, oracle[t]] += value * delta[oracle[t]]
        for k in range(found):
            # each label once: the oracle is done, and so is a label of an earlier candidate
            y = paths[k, t]
            fresh = y != oracle[t]
            for j in range(k):
                if paths[j, t] == y:
                    fresh = False
            if fresh:
                for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
                    value = values[i] if weighted else np.float32(1.0)
                    weights[rows[i], y] += value * delta[y]
    return touched


@kernel
def update_edges(
    T: int, oracle: Ints, paths: Ints, probability: Doubles, found: int, step: float, edges: Floats
) -> None:
    for t in range(1, T):
        agree = True
        for k in range(found):
            if paths[k, t - 1] != oracle[t - 1] or paths[k, t] != oracle[t]:
                agree = False
        if agree:
            continue
        edges[oracle[t - 1], oracle[t]] += step
        for k in range(found):
            edges[paths[k, t - 1], paths[k, t]] -= step * probability[k]
