"""The structured perceptron (Collins 2002) over a run of samples."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.score import path_score, scale_edges, score_nodes
from sapo.kernels.types import Doubles, Floats, Ints, Longs
from sapo.kernels.update import (
    CANDIDATES,
    CLOCK,
    LOSS,
    TOKENS,
    count_correct,
    count_updates,
    end_sample,
    longest_of,
    update_edges,
    update_nodes,
)
from sapo.kernels.viterbi import best_path, best_scores


@kernel
def perceptron_samples(
    order: Longs,
    sentence_offsets: Longs,
    row_offsets: Longs,
    rows: Ints,
    values: Floats,
    gold: Ints,
    weights: Floats,
    edges: Floats,
    with_edges: bool,
    sums: Floats,
    edge_sums: Floats,
    state: Doubles,
    rate: float,
    totals: Doubles,
) -> None:
    """w <- w + rate * (F(x, y*) - F(x, y)), with y the best tagging."""
    L = weights.shape[1]
    longest = longest_of(order, sentence_offsets)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((L, L), np.float32)
    edge_to = np.empty((L, L), np.float32)
    row = np.empty(L, np.float32)
    path = np.empty((1, longest), np.int32)
    one = np.ones(1)

    for sentence in order:
        first = sentence_offsets[sentence]
        last = sentence_offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        oracle = gold[first:last]
        score_nodes(first, last, row_offsets, rows, values, weights, 1.0, node)
        scale_edges(edges, 1.0, edge, edge_to)
        best_scores(node, edge, T, best, row)
        best_path(best, edge_to, T, path[0])
        totals[LOSS] += path_score(node, edge, path[0], T) - path_score(node, edge, oracle, T)
        totals[CANDIDATES] += 1
        totals[TOKENS] += T
        count_correct(T, oracle, path[0], totals)
        clock = state[CLOCK]
        touched = update_nodes(
            first, T, row_offsets, rows, values, oracle, path, one, 1, 1.0, rate, weights, sums, clock, row
        )
        if touched > 0 and with_edges:
            update_edges(T, oracle, path, one, 1, 1.0, rate, edges, edge_sums, clock)
        count_updates(touched, totals)
        end_sample(0.0, weights, edges, sums, edge_sums, state)
