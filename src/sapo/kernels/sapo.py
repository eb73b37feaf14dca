"""Algorithm 1 of the paper over a run of samples: lattice, top-n, P_k, update, regularise.

Where tags are open, the oracle is the best tagging that keeps to the tags that are there, and other candidates that
keep to them are left out of Y_n: nobody said that they are wrong. So a sentence without tags changes nothing.

The mean over the top-n of what the tags allow, in place of F(x, y*), would be the gradient of a CRF for n = all. But
with a few candidates it does harm. Those that keep to the tags differ from each other in open tokens only, those of Y_n
in others, too: each step would make the second-best tags of open tokens more probable (docs/constraints.md).
"""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import PARTLY, UNTAGGED, allows, complete, how_tagged
from sapo.kernels.score import path_score, score_sentence, stages_of
from sapo.kernels.searches import search_n
from sapo.kernels.types import Bools, Doubles, Ints, Longs, Parts, Samples
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

        # the oracle, and its rivals
        among = False
        if tagged == PARTLY:
            found, among = leave_rivals(gold, samples.allowed, T, found, paths, scores, oracle)
            log_mass = normalise(scores, found, probability)
        if not among:
            complete(gold, samples.allowed, node, edge, edge_to, T, best, row, oracle)
        totals[LOSS] += log_mass - path_score(node, edge, oracle, T)

        # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v
        step = rate / state[SCALE]
        touched = update(first, T, samples, oracle, paths, probability, found, 1.0, step, parts, state[CLOCK], row)
        count_updates(touched, totals)
        regularise(first, T, samples, shrink, owed, parts, state)


@kernel
def leave_rivals(
    gold: Ints,  # [T]
    allowed: Bools,  # [sets, L]
    T: int,
    found: int,
    paths: Ints,  # [found, T] changed
    scores: Doubles,  # [found] changed
    oracle: Ints,  # [T] out, where it is among them
) -> tuple[int, bool]:
    """Of the candidates that keep to the gold tags leave the best only; return how many are left, and whether it is."""
    left = 0
    among = False
    for k in range(found):
        keeps = True
        for t in range(T):
            if not allows(gold[t], paths[k, t], allowed):
                keeps = False
                break
        if keeps and among:
            continue
        if keeps:
            among = True
            for t in range(T):
                oracle[t] = paths[k, t]
        scores[left] = scores[k]
        for t in range(T):
            paths[left, t] = paths[k, t]
        left += 1
    return left, among


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
