"""Candidates with coefficients in, changed weights out: what all learners that search have in common.

The weights are w = scale * v (see learn/weights.py), and all arrays here are of v. For averaging, `sums` remembers
each change times the clock at which it came; it is empty where nothing is averaged. The clock is the sum of all
scales so far, so that the sum of all w so far is clock * v - sums, whatever the order of changes and shrinkings.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints, Longs

# The state of a learner, by index.
SCALE, CLOCK, STEPS, PENALTY = 0, 1, 2, 3
STATE_SIZE = 4

# What a run reports, by index into `totals`; from BY_RANK on, the probability of the k-th candidate.
LOSS, UPDATES, CANDIDATES, TOKENS, CORRECT, UPDATED_SAMPLES, BY_RANK = 0, 1, 2, 3, 4, 5, 8

SMALLEST_SCALE = 0.05  # below it v would be so large that the average, a difference, loses its digits


@kernel
def update_nodes(
    first: int,  # the sentence begins at this token
    T: int,
    row_offsets: Longs,
    rows: Ints,
    values: Floats,
    oracle: Ints,  # [T]
    paths: Ints,  # [found, T]
    coefficient: Doubles,  # [found]
    found: int,
    mass: float,  # sum of the coefficients
    step: float,
    weights: Floats,
    sums: Floats,
    clock: float,
    delta: Floats,  # [labels] work
) -> int:
    """v += step * (mass * F(x, y*) - sum_k coefficient_k * F(x, y_k)); return how many tokens were touched."""
    weighted = len(values) > 0
    averaged = len(sums) > 0
    touched = 0
    labels = np.empty(found + 1, np.int32)
    for t in range(T):
        # Where all candidates agree with the oracle the update cancels, for the coefficients sum to the mass.
        agree = True
        for k in range(found):
            if paths[k, t] != oracle[t]:
                agree = False
        if agree:
            continue
        touched += 1
        labels[0] = oracle[t]
        distinct = 1
        delta[oracle[t]] = step * mass
        for k in range(found):
            y = paths[k, t]
            new = True
            for j in range(distinct):
                if labels[j] == y:
                    new = False
            if new:
                labels[distinct] = y
                distinct += 1
                delta[y] = 0.0
            delta[y] -= step * coefficient[k]
        for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
            f = rows[i]
            value = values[i] if weighted else np.float32(1.0)
            for j in range(distinct):
                change = value * delta[labels[j]]
                weights[f, labels[j]] += change
                if averaged:
                    sums[f, labels[j]] += change * clock
    return touched


@kernel
def update_edges(
    T: int,
    oracle: Ints,
    paths: Ints,
    coefficient: Doubles,
    found: int,
    mass: float,
    step: float,
    edges: Floats,
    sums: Floats,
    clock: float,
) -> None:
    """The same for the pairs of labels."""
    averaged = len(sums) > 0
    for t in range(1, T):
        agree = True
        for k in range(found):
            if paths[k, t - 1] != oracle[t - 1] or paths[k, t] != oracle[t]:
                agree = False
        if agree:
            continue
        edges[oracle[t - 1], oracle[t]] += step * mass
        if averaged:
            sums[oracle[t - 1], oracle[t]] += step * mass * clock
        for k in range(found):
            change = step * coefficient[k]
            edges[paths[k, t - 1], paths[k, t]] -= change
            if averaged:
                sums[paths[k, t - 1], paths[k, t]] -= change * clock


@kernel
def longest_of(order: Longs, sentence_offsets: Longs) -> int:
    """Tokens of the longest of these sentences."""
    longest = 1
    for sentence in order:
        longest = max(longest, sentence_offsets[sentence + 1] - sentence_offsets[sentence])
    return longest


@kernel
def count_correct(T: int, oracle: Ints, path: Ints, totals: Doubles) -> None:
    for t in range(T):
        if path[t] == oracle[t]:
            totals[CORRECT] += 1


@kernel
def count_updates(touched: int, totals: Doubles) -> None:
    totals[UPDATES] += touched
    if touched > 0:
        totals[UPDATED_SAMPLES] += 1


@kernel
def end_sample(
    shrink: float,  # L2: w <- (1 - shrink) * w
    weights: Floats,
    edges: Floats,
    sums: Floats,
    edge_sums: Floats,
    state: Doubles,
) -> None:
    """Regularise by L2, and let the clock go on."""
    state[SCALE] *= 1.0 - shrink
    if state[SCALE] < SMALLEST_SCALE:
        fold_scale(weights, sums, state[SCALE], state[CLOCK])
        fold_scale(edges, edge_sums, state[SCALE], state[CLOCK])
        state[SCALE] = 1.0
        if len(sums) > 0:
            state[CLOCK] = 0.0
    state[CLOCK] += state[SCALE]
    state[STEPS] += 1


@kernel
def fold_scale(weights: Floats, sums: Floats, scale: float, clock: float) -> None:
    """Make v the true weights before it outgrows single precision; the sum of all w so far stays what it is."""
    averaged = len(sums) > 0
    factor = np.float32(scale)
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            if averaged:
                sums[f, y] -= clock * weights[f, y]  # with a clock of 0 the sum is 0 * v - sums
            weights[f, y] *= factor


@kernel
def penalise(
    first: int,
    T: int,
    row_offsets: Longs,
    rows: Ints,
    weights: Floats,
    received: Floats,  # [features, labels] the penalty that each weight has got so far
    sums: Floats,
    clock: float,
    penalty: float,  # the penalty that each weight could have got so far
) -> None:
    """L1 by cumulative penalty (Tsuruoka et al. 2009): bring the features of this sentence up to date."""
    for i in range(row_offsets[first], row_offsets[first + T]):
        penalise_row(rows[i], weights, received, sums, clock, penalty)


@kernel
def penalise_row(f: int, weights: Floats, received: Floats, sums: Floats, clock: float, penalty: float) -> None:
    """Move each weight towards 0 by what it still owes, and not past it."""
    averaged = len(sums) > 0
    for y in range(weights.shape[1]):
        before = weights[f, y]
        if before > 0.0:
            after = max(0.0, before - (penalty + received[f, y]))
        elif before < 0.0:
            after = min(0.0, before + (penalty - received[f, y]))
        else:
            continue
        weights[f, y] = after
        received[f, y] += after - before
        if averaged:
            sums[f, y] += (after - before) * clock


@kernel
def penalise_all(weights: Floats, received: Floats, sums: Floats, clock: float, penalty: float) -> None:
    for f in range(weights.shape[0]):
        penalise_row(f, weights, received, sums, clock, penalty)
