"""Candidates with coefficients in, changed weights out: what all learners that search have in common.

The weights are w = scale * v (see learn/weights.py), and all arrays here are of v. For averaging, `sums` remembers
each change times the clock at which it came; it is empty where nothing is averaged. The clock is the sum of all
scales so far, so that the sum of all w so far is clock * v - sums, whatever the order of changes and shrinkings.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import allows
from sapo.kernels.types import Bools, Doubles, Floats, Ints, Longs, Part, Parts, Samples

# The state of a learner, by index.
SCALE, CLOCK, STEPS, PENALTY = 0, 1, 2, 3
STATE_SIZE = 4

# What a run reports, by index into `totals`; from BY_RANK on, the probability of the k-th candidate.
LOSS, UPDATES, CANDIDATES, TOKENS, CORRECT, UPDATED_SAMPLES, BY_RANK = 0, 1, 2, 3, 4, 5, 8

SMALLEST_SCALE = 0.05  # below it v would be so large that the average, a difference, loses its digits


@kernel
def update(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    oracle: Ints,  # [T]
    paths: Ints,  # [found, T]
    coefficient: Doubles,  # [found]
    found: int,
    mass: float,  # sum of the coefficients
    step: float,
    parts: Parts,
    clock: float,
    delta: Floats,  # [labels] work
) -> int:
    """v += step * (mass * F(x, y*) - sum_k coefficient_k * F(x, y_k)); return how many tokens were touched."""
    touched = update_nodes(first, T, samples, oracle, paths, coefficient, found, mass, step, parts.nodes, clock, delta)
    if touched > 0 and parts.with_edges:
        update_edges(first, T, samples.importance, oracle, paths, coefficient, found, mass, step, parts.edges, clock)
    if touched > 0 and len(parts.pair_codes) > 0:
        update_pairs(first, T, samples, oracle, paths, coefficient, found, mass, step, parts, clock)
    return touched


@kernel
def update_nodes(
    first: int,
    T: int,
    samples: Samples,
    oracle: Ints,
    paths: Ints,
    coefficient: Doubles,
    found: int,
    mass: float,
    step: float,
    nodes: Part,
    clock: float,
    delta: Floats,
) -> int:
    row_offsets, rows, values = samples.row_offsets, samples.rows, samples.values
    weights, sums = nodes.v, nodes.sums
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
        counts = step * importance_of(first + t, samples.importance)
        labels[0] = oracle[t]
        distinct = 1
        delta[oracle[t]] = counts * mass
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
            delta[y] -= counts * coefficient[k]
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
def importance_of(token: int, importance: Floats) -> float:
    return float(importance[token]) if len(importance) > 0 else 1.0


@kernel
def agree_on_step(t: int, oracle: Ints, paths: Ints, found: int) -> bool:
    """Whether all candidates have the oracle's pair of labels at t."""
    for k in range(found):
        if paths[k, t - 1] != oracle[t - 1] or paths[k, t] != oracle[t]:
            return False
    return True


@kernel
def update_edges(
    first: int,
    T: int,
    importance: Floats,
    oracle: Ints,
    paths: Ints,
    coefficient: Doubles,
    found: int,
    mass: float,
    step: float,
    edges: Part,
    clock: float,
) -> None:
    """The same for the pairs of labels."""
    weights, sums = edges.v, edges.sums
    averaged = len(sums) > 0
    for t in range(1, T):
        if agree_on_step(t, oracle, paths, found):
            continue
        counts = step * importance_of(first + t, importance)
        weights[oracle[t - 1], oracle[t]] += counts * mass
        if averaged:
            sums[oracle[t - 1], oracle[t]] += counts * mass * clock
        for k in range(found):
            change = counts * coefficient[k]
            weights[paths[k, t - 1], paths[k, t]] -= change
            if averaged:
                sums[paths[k, t - 1], paths[k, t]] -= change * clock


@kernel
def update_pairs(
    first: int,
    T: int,
    samples: Samples,
    oracle: Ints,
    paths: Ints,
    coefficient: Doubles,
    found: int,
    mass: float,
    step: float,
    parts: Parts,
    clock: float,
) -> None:
    """The same for edge features. A pair that a feature was never seen with in training has no weight there."""
    L = parts.edges.v.shape[0]
    for t in range(1, T):
        if agree_on_step(t, oracle, paths, found):
            continue
        counts = step * importance_of(first + t, samples.importance)
        for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
            e = samples.edge_rows[i]
            change_pair(e, oracle[t - 1] * L + oracle[t], counts * mass, parts, clock)
            for k in range(found):
                change_pair(e, paths[k, t - 1] * L + paths[k, t], -counts * coefficient[k], parts, clock)


@kernel
def find_pair(e: int, code: int, pair_offsets: Longs, pair_codes: Ints) -> int:
    """The entry of a pair of labels of an edge feature, or -1."""
    low = pair_offsets[e]
    end = pair_offsets[e + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if pair_codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < end and pair_codes[low] == code else -1


@kernel
def change_pair(e: int, code: int, change: float, parts: Parts, clock: float) -> None:
    entry = find_pair(e, code, parts.pair_offsets, parts.pair_codes)
    if entry >= 0:
        parts.pairs.v[entry, 0] += change
        if len(parts.pairs.sums) > 0:
            parts.pairs.sums[entry, 0] += change * clock


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
def count_allowed(T: int, gold: Ints, allowed: Bools, path: Ints, totals: Doubles) -> None:
    """The same where tags may be open: right is what they allow."""
    for t in range(T):
        if allows(gold[t], path[t], allowed):
            totals[CORRECT] += 1


@kernel
def count_untagged(T: int, totals: Doubles) -> None:
    """A sentence without any tag: whatever was found is right, and nothing is learned."""
    totals[TOKENS] += T
    totals[CORRECT] += T


@kernel
def count_updates(touched: int, totals: Doubles) -> None:
    totals[UPDATES] += touched
    if touched > 0:
        totals[UPDATED_SAMPLES] += 1


@kernel
def regularise(first: int, T: int, samples: Samples, shrink: float, owed: float, parts: Parts, state: Doubles) -> None:
    """w <- w - rate * strength / |S| * grad R(w): L1 where something is owed, L2 by shrinking."""
    if owed > 0.0:
        state[PENALTY] += owed
        penalise(first, T, samples, parts, state)
    end_sample(shrink, parts, state)


@kernel
def end_sample(shrink: float, parts: Parts, state: Doubles) -> None:
    """Regularise by L2, w <- (1 - shrink) * w, and let the clock go on."""
    state[SCALE] *= 1.0 - shrink
    if state[SCALE] < SMALLEST_SCALE:
        for part in (parts.nodes, parts.edges, parts.pairs):
            fold_scale(part.v, part.sums, state[SCALE], state[CLOCK])
        state[SCALE] = 1.0
        if len(parts.nodes.sums) > 0:
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
def penalise(first: int, T: int, samples: Samples, parts: Parts, state: Doubles) -> None:
    """L1 by cumulative penalty (Tsuruoka et al. 2009): bring the weights of this sentence up to date."""
    clock, penalty = state[CLOCK], state[PENALTY]
    nodes, edges, pairs = parts.nodes, parts.edges, parts.pairs
    for i in range(samples.row_offsets[first], samples.row_offsets[first + T]):
        penalise_row(samples.rows[i], nodes.v, nodes.received, nodes.sums, clock, penalty)
    for p in range(edges.v.shape[0]):
        penalise_row(p, edges.v, edges.received, edges.sums, clock, penalty)
    if len(parts.pair_codes) > 0:
        for i in range(samples.edge_row_offsets[first], samples.edge_row_offsets[first + T]):
            e = samples.edge_rows[i]
            for entry in range(parts.pair_offsets[e], parts.pair_offsets[e + 1]):
                penalise_row(entry, pairs.v, pairs.received, pairs.sums, clock, penalty)


@kernel
def penalise_row(f: int, weights: Floats, received: Floats, sums: Floats, clock: float, penalty: float) -> None:
    """Move each weight towards 0 by what it still owes of the penalty that it could have got, and not past it."""
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
