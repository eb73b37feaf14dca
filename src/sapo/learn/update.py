"""Change weights by candidates with coefficients: what all learners that search have in common.

All weights here are v of w = scale * v (see learn/weights.py).
"""

from typing import NamedTuple

from sapo.features.encoded import Samples
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Floats, Ints
from sapo.learn.rows import Part, Share, change_features, penalize_feature, penalize_row
from sapo.learn.weights import CLOCK, PENALTY, SCALE, SMALLEST_SCALE, STEPS, Parts, fold
from sapo.search.lattice import (
    UPDATED_SAMPLES,
    UPDATES,
    Workspace,
    ends_sentence,
    find_pair,
)


class Rates(NamedTuple):
    """How far a sample moves the weights."""

    rate: float
    shrink: float  # L2: rate * strength / |S|
    owed: float | None  # L1: rate * strength / |S|


class Rivals(NamedTuple):
    """The oracle, and the candidates that are weighed against it."""

    oracle: Ints  # [T]
    paths: Ints  # [found, T]
    coefficients: Doubles  # [found]
    found: int
    mass: float  # the sum of the coefficients


@kernel
def update(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    rivals: Rivals,
    step: float,
    parts: Parts,  # changed
    clock: float,
    work: Workspace,
    share: Share,  # the first of several threads changes all that is not a row of a feature
) -> int:
    """v += step * (mass * F(x, y*) - sum_k coefficient_k * F(x, y_k)); return how many tokens were touched."""
    touched = note_changes(first, T, samples.importance, rivals, step, work)
    if touched > 0:
        if parts.with_edges and share.thread == 0:
            update_edges(first, T, samples.importance, rivals, step, parts.edges, clock)
        if len(parts.pair_codes) > 0 and share.thread == 0:
            update_pairs(first, T, samples, rivals, step, parts, clock)
        change_features(first, T, samples, work.changing, work.sizes, work.changes, parts.nodes, clock, share)
    return touched


@kernel
def note_changes(first: int, T: int, importance: Floats, rivals: Rivals, step: float, work: Workspace) -> int:
    """Write by what the features of each token change; return how many tokens are touched."""
    oracle, paths, coefficients, found = rivals.oracle, rivals.paths, rivals.coefficients, rivals.found
    delta, labels, sizes, changes = work.row, work.changing, work.sizes, work.changes
    touched = 0
    for t in range(T):
        sizes[t] = 0
        # Where all candidates agree with the oracle the update cancels, for the coefficients sum to the mass.
        agree = True
        for k in range(found):
            if paths[k, t] != oracle[t]:
                agree = False
        if agree:
            continue
        touched += 1
        counts = step * importance_of(first + t, importance)
        labels[t, 0] = oracle[t]
        distinct = 1
        delta[oracle[t]] = counts * rivals.mass
        for k in range(found):
            y = paths[k, t]
            new = True
            for j in range(distinct):
                if labels[t, j] == y:
                    new = False
            if new:
                labels[t, distinct] = y
                distinct += 1
                delta[y] = 0.0
            delta[y] -= counts * coefficients[k]
        sizes[t] = distinct
        for j in range(distinct):
            changes[t, j] = delta[labels[t, j]]
    return touched


@kernel
def importance_of(token: int, importance: Floats) -> float:
    return float(importance[token]) if len(importance) > 0 else 1.0


@kernel
def agree_on_step(t: int, rivals: Rivals) -> bool:
    """Whether all candidates have the oracle's pair of labels at t."""
    oracle, paths = rivals.oracle, rivals.paths
    for k in range(rivals.found):
        if paths[k, t - 1] != oracle[t - 1] or paths[k, t] != oracle[t]:
            return False
    return True


@kernel
def update_edges(
    first: int, T: int, importance: Floats, rivals: Rivals, step: float, edges: Part, clock: float
) -> None:
    """Update the pairs of labels."""
    weights, sums = edges.v, edges.sums
    oracle, paths, coefficients, mass = rivals.oracle, rivals.paths, rivals.coefficients, rivals.mass
    averaged = len(sums) > 0
    for t in range(1, T):
        if agree_on_step(t, rivals):
            continue
        counts = step * importance_of(first + t, importance)
        weights[oracle[t - 1], oracle[t]] += counts * mass
        if averaged:
            sums[oracle[t - 1], oracle[t]] += counts * mass * clock
        for k in range(rivals.found):
            change = counts * coefficients[k]
            weights[paths[k, t - 1], paths[k, t]] -= change
            if averaged:
                sums[paths[k, t - 1], paths[k, t]] -= change * clock


@kernel
def update_pairs(first: int, T: int, samples: Samples, rivals: Rivals, step: float, parts: Parts, clock: float) -> None:
    """Update the edge features. A pair that a feature was never seen with in training has no weight there."""
    oracle, paths, coefficients = rivals.oracle, rivals.paths, rivals.coefficients
    L = parts.edges.v.shape[0]
    for t in range(1, T):
        if agree_on_step(t, rivals):
            continue
        counts = step * importance_of(first + t, samples.importance)
        for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
            e = samples.edge_rows[i]
            change_pair(e, oracle[t - 1] * L + oracle[t], counts * rivals.mass, parts, clock)
            for k in range(rivals.found):
                change_pair(e, paths[k, t - 1] * L + paths[k, t], -counts * coefficients[k], parts, clock)


@kernel
def change_pair(e: int, code: int, change: float, parts: Parts, clock: float) -> None:
    entry = find_pair(e, code, parts.pair_offsets, parts.pair_codes)
    if entry >= 0:
        parts.pairs.v[entry, 0] += change
        if len(parts.pairs.sums) > 0:
            parts.pairs.sums[entry, 0] += change * clock


@kernel
def count_update(touched: int, totals: Doubles) -> None:
    totals[UPDATES] += touched
    if touched > 0:
        totals[UPDATED_SAMPLES] += 1


@kernel
def regularize(first: int, T: int, samples: Samples, rates: Rates, parts: Parts, state: Doubles) -> None:
    """w <- w - rate * strength / |S| * grad R(w): L1 where something is owed, L2 by shrinking.

    S is the set of sentences: the pieces of one are regularized with the last of them.
    """
    share = 1.0 if ends_sentence(first + T, samples.cuts) else 0.0
    penalize(first, T, samples, rates.owed, share, parts, state)
    end_sample(share * rates.shrink, state)


@kernel
def end_sample(shrink: float, state: Doubles) -> None:
    """Regularize by L2, w <- (1 - shrink) * w, and let the clock go on."""
    state[SCALE] *= 1.0 - shrink
    state[CLOCK] += state[SCALE]
    state[STEPS] += 1


@kernel
def fold_small(parts: Parts, state: Doubles) -> None:
    """Make v the true weights before it outgrows single precision."""
    if state[SCALE] < SMALLEST_SCALE:
        fold(parts, state)


@kernel
def penalize(
    first: int, T: int, samples: Samples, owed: float | None, share: float, parts: Parts, state: Doubles
) -> None:
    """L1 by cumulative penalty (Tsuruoka et al. 2009): bring the weights of this sample up to date."""
    if owed is None:
        return
    state[PENALTY] += share * owed
    clock, penalty = state[CLOCK], state[PENALTY]
    for i in range(samples.row_offsets[first], samples.row_offsets[first + T]):
        penalize_feature(samples.rows[i], parts.nodes, clock, penalty)
    for p in range(parts.edges.v.shape[0]):
        penalize_row(p, parts.edges, clock, penalty)
    if len(parts.pair_codes) > 0:
        for i in range(samples.edge_row_offsets[first], samples.edge_row_offsets[first + T]):
            e = samples.edge_rows[i]
            for entry in range(parts.pair_offsets[e], parts.pair_offsets[e + 1]):
                penalize_row(entry, parts.pairs, clock, penalty)
