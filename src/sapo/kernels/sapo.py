"""Algorithm 1 of the paper over a run of samples: lattice, top-n, P_k, update, regularise."""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import complete
from sapo.kernels.score import path_score, score_sentence, stages_of
from sapo.kernels.searches import search_n
from sapo.kernels.types import Doubles, Longs, Parts, Samples
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
    update,
)


@kernel
def sapo_samples(
    order: Longs,  # which sentences to learn from, in this order
    samples: Samples,
    parts: Parts,  # changed
    state: Doubles,  # changed
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
    L = parts.nodes.v.shape[1]
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((stages, L, L), np.float32)
    edge_to = np.empty((stages, L, L), np.float32)
    row = np.empty(L, np.float32)
    oracle = np.empty(longest, np.int32)
    paths = np.empty((n, longest), np.int32)
    scores = np.empty(n, np.float64)
    probability = np.empty(n, np.float64)

    for sentence in order:
        first = samples.offsets[sentence]
        last = samples.offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue

        # search the top-n outputs Y_n
        score_sentence(first, T, samples, parts, state[SCALE], node, edge, edge_to)
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
        complete(samples.gold[first:last], node, edge, edge_to, T, best, row, oracle)
        totals[LOSS] += scores[0] + math.log(mass) - path_score(node, edge, oracle, T)
        totals[CANDIDATES] += found
        totals[TOKENS] += T
        count_correct(T, oracle, paths[0], totals)

        # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v
        step = rate / state[SCALE]
        touched = update(first, T, samples, oracle, paths, probability, found, 1.0, step, parts, state[CLOCK], row)
        count_updates(touched, totals)

        # w <- w - rate * strength / |S| * grad R(w)
        if owed > 0.0:
            state[PENALTY] += owed
            penalise(first, T, samples, parts, state)
        end_sample(shrink, parts, state)
