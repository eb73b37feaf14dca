"""Algorithm 1 of the paper over a run of samples: lattice, top-n, P_k, update, regularise.

Where tags are open, the oracle gives way to the top-n taggings that keep to the tags that are there, each with its
share P_k among them. So a sentence without tags, where both sums are the same, changes nothing.
"""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import FULLY, UNTAGGED, bind, how_tagged
from sapo.kernels.score import path_score, score_sentence, stages_of
from sapo.kernels.searches import search_n
from sapo.kernels.types import Doubles, Longs, Parts, Samples
from sapo.kernels.update import (
    BY_RANK,
    CANDIDATES,
    CLOCK,
    LOSS,
    SCALE,
    TOKENS,
    count_allowed,
    count_untagged,
    count_updates,
    longest_of,
    regularise,
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
    paths = np.empty((2 * n, longest), np.int32)  # of the lattice, then of what the gold tags allow of it
    scores = np.empty(n, np.float64)
    probability = np.empty(2 * n, np.float64)
    bound = np.empty((longest, L), np.float32)
    kept_paths = np.empty((n, longest), np.int32)
    kept_probability = np.empty(n, np.float64)

    for sentence in order:
        first = samples.offsets[sentence]
        last = samples.offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue

        gold = samples.gold[first:last]
        tagged = how_tagged(gold)
        if tagged == UNTAGGED:
            count_untagged(T, totals)
            regularise(first, T, samples, shrink, owed, parts, state)
            continue

        # search the top-n outputs Y_n
        score_sentence(first, T, samples, parts, state[SCALE], node, edge, edge_to)
        found = search_n(search, node, edge, edge_to, T, n, width, margin, best, row, paths, scores)
        if found == 0:  # scores are no numbers any more; the loop will tell
            totals[LOSS] += np.nan
            return
        log_mass = normalise(scores, found, probability)
        for k in range(found):
            if BY_RANK + k < len(totals):
                totals[BY_RANK + k] += probability[k]
        totals[CANDIDATES] += found
        totals[TOKENS] += T
        count_allowed(T, gold, samples.allowed, paths[0], totals)

        # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v
        step = rate / state[SCALE]
        if tagged == FULLY:
            totals[LOSS] += log_mass - path_score(node, edge, gold, T)
            touched = update(first, T, samples, gold, paths, probability, found, 1.0, step, parts, state[CLOCK], row)
        else:
            # instead of F(x, y*): sum_j Q_j F(x, z_j), with the top-n outputs Z_n that keep to the gold tags
            bind(gold, samples.allowed, node, T, bound)
            kept = search_n(search, bound, edge, edge_to, T, n, width, margin, best, row, kept_paths, scores)
            if kept == 0:
                totals[LOSS] += np.nan
                return
            totals[LOSS] += log_mass - normalise(scores, kept, kept_probability)
            for j in range(kept):
                probability[found + j] = -kept_probability[j]
                for t in range(T):
                    paths[found + j, t] = kept_paths[j, t]
            # all coefficients together are 0, so that no oracle is needed, and any stands for it
            both = found + kept
            touched = update(first, T, samples, paths[0], paths, probability, both, 0.0, step, parts, state[CLOCK], row)
        count_updates(touched, totals)
        regularise(first, T, samples, shrink, owed, parts, state)


@kernel
def normalise(scores: Doubles, found: int, probability: Doubles) -> float:
    """P_k = exp(score_k) / sum of exp(score) over Y_n; return the log of that sum."""
    mass = 0.0
    for k in range(found):
        probability[k] = math.exp(scores[k] - scores[0])
        mass += probability[k]
    for k in range(found):
        probability[k] /= mass
    return float(scores[0]) + math.log(mass)
