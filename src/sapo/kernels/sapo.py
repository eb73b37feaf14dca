"""Algorithm 1 of the paper over a run of samples: lattice, top-n, P_k, update, regularise."""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.score import path_score, scale_edges, score_nodes
from sapo.kernels.searches import search_n
from sapo.kernels.types import Doubles, Floats, Ints, Longs
from sapo.kernels.update import (
    BY_RANK,
    CANDIDATES,
    CLOCK,
    LOSS,
    PENALTY,
    SCALE,
    TOKENS,
    count_correct,
    count_updates,
    end_sample,
    longest_of,
    penalise,
    penalise_row,
    update_edges,
    update_nodes,
)


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
    sums: Floats,  # for averaging, or empty
    edge_sums: Floats,
    received: Floats,  # for L1, or empty
    edge_received: Floats,
    state: Doubles,
    search: int,
    n: int,
    width: int,
    margin: float,
    rate: float,
    shrink: float,  # L2: rate * strength / |S|
    owed: float,  # L1: rate * strength / |S|
    totals: Doubles,  # added to
) -> None:
    """Learn from each sample in turn."""
    L = weights.shape[1]
    longest = longest_of(order, sentence_offsets)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((L, L), np.float32)
    edge_to = np.empty((L, L), np.float32)
    row = np.empty(L, np.float32)
    paths = np.empty((n, longest), np.int32)
    scores = np.empty(n, np.float64)
    probability = np.empty(n, np.float64)

    for sentence in order:
        first = sentence_offsets[sentence]
        last = sentence_offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        oracle = gold[first:last]

        # search the top-n outputs Y_n
        score_nodes(first, last, row_offsets, rows, values, weights, state[SCALE], node)
        scale_edges(edges, state[SCALE], edge, edge_to)
        found = search_n(search, node, edge, edge_to, T, n, width, margin, best, row, paths, scores)
        if found == 0:  # scores are no numbers any more; the loop will tell
            totals[LOSS] += np.nan
            return

        # P_k = exp(score_k) / sum of exp(score) over Y_n
        mass = 0.0
        for k in range(found):
            probability[k] = math.exp(scores[k] - scores[0])
            mass += probability[k]
        for k in range(found):
            probability[k] /= mass
            if BY_RANK + k < len(totals):
                totals[BY_RANK + k] += probability[k]
        totals[LOSS] += scores[0] + math.log(mass) - path_score(node, edge, oracle, T)
        totals[CANDIDATES] += found
        totals[TOKENS] += T
        count_correct(T, oracle, paths[0], totals)

        # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v
        step = rate / state[SCALE]
        touched = update_nodes(
            first,
            T,
            row_offsets,
            rows,
            values,
            oracle,
            paths,
            probability,
            found,
            1.0,
            step,
            weights,
            sums,
            state[CLOCK],
            row,
        )
        if touched > 0 and with_edges:
            update_edges(T, oracle, paths, probability, found, 1.0, step, edges, edge_sums, state[CLOCK])
        count_updates(touched, totals)

        # w <- w - rate * strength / |S| * grad R(w)
        if owed > 0.0:
            state[PENALTY] += owed
            penalise(first, T, row_offsets, rows, weights, received, sums, state[CLOCK], state[PENALTY])
            for p in range(L):
                penalise_row(p, edges, edge_received, edge_sums, state[CLOCK], state[PENALTY])
        end_sample(shrink, weights, edges, sums, edge_sums, state)
