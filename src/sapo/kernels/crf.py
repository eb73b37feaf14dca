"""The stochastic gradient of a conditional random field, by scaled forward-backward, over a run of samples."""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.score import path_score, scale_edges, score_nodes
from sapo.kernels.types import Doubles, Floats, Ints, Longs
from sapo.kernels.update import (
    CLOCK,
    CORRECT,
    LOSS,
    PENALTY,
    SCALE,
    TOKENS,
    count_updates,
    end_sample,
    longest_of,
    penalise,
    penalise_row,
)

WIDEST = 600.0  # exp(-600) is still a number, exp(-750) is 0


@kernel
def row_spread(scores: Floats, rows: int) -> float:
    """How far the scores of one row are apart at most."""
    widest = 0.0
    for t in range(rows):
        widest = max(widest, spread(scores[t : t + 1]))
    return widest


@kernel
def spread(scores: Floats) -> float:
    """How far scores are apart at most; infinitely far where one is forbidden."""
    low = np.inf
    high = -np.inf
    for p in range(scores.shape[0]):
        for y in range(scores.shape[1]):
            low = min(low, np.float64(scores[p, y]))
            high = max(high, np.float64(scores[p, y]))
    if low == -np.inf:
        return np.inf
    return high - low


@kernel
def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b))"""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@kernel
def forward_backward_log(
    node: Floats, edge: Floats, T: int, alpha: Doubles, beta: Doubles, marginal: Doubles, pairs: Doubles
) -> float:
    """The same in logarithms, for scores of any size; a constant is taken off each row, to keep all digits."""
    # alpha[t,y] = node[t,y] + log sum_p exp(alpha[t-1,p] + edge[p,y]), beta likewise from the end
    L = edge.shape[0]
    log_z = 0.0
    for t in range(T):
        for y in range(L):
            total = 0.0 if t == 0 else -np.inf
            if t > 0:
                for p in range(L):
                    total = log_add(total, alpha[t - 1, p] + np.float64(edge[p, y]))
            alpha[t, y] = total + np.float64(node[t, y])
        taken = log_sum(alpha[t])
        if taken == -np.inf:
            return -np.inf
        log_z += taken
        for y in range(L):
            alpha[t, y] -= taken

    for p in range(L):
        beta[T - 1, p] = 0.0
        marginal[T - 1, p] = math.exp(alpha[T - 1, p])
        for y in range(L):
            pairs[p, y] = 0.0
    for t in range(T - 2, -1, -1):
        for p in range(L):
            beta[t, p] = -np.inf
            for y in range(L):
                reach = np.float64(edge[p, y]) + np.float64(node[t + 1, y]) + beta[t + 1, y]
                beta[t, p] = log_add(beta[t, p], reach)
            marginal[t, p] = alpha[t, p] + beta[t, p]
        mass = log_sum(marginal[t])
        for p in range(L):
            for y in range(L):
                reach = np.float64(edge[p, y]) + np.float64(node[t + 1, y]) + beta[t + 1, y]
                pairs[p, y] += math.exp(alpha[t, p] + reach - mass)
            marginal[t, p] = math.exp(marginal[t, p] - mass)
        taken = log_sum(beta[t])
        for p in range(L):
            beta[t, p] -= taken
    return log_z


@kernel
def log_sum(row: Doubles) -> float:
    total = -np.inf
    for y in range(len(row)):
        total = log_add(total, row[y])
    return total


@kernel
def forward_backward(
    node: Floats,  # [T, L]
    edge: Floats,  # [L, L]
    T: int,
    alpha: Doubles,  # [T, L] work
    beta: Doubles,  # [T, L] work
    marginal: Doubles,  # [T, L] out: P(y_t = y | x) over all taggings
    pairs: Doubles,  # [L, L] out: expected number of each pair of labels
) -> float:
    """Return log Z, the log of the sum of exp(score) over all taggings.

    Each row is divided by its sum, so that no sentence is too long; node scores are taken relative to the best of
    their row and edge scores to the best edge, so that none is too large. Where scores are so far apart that products
    of their exponentials would vanish, or something is forbidden, `forward_backward_log` does it, which is slower.
    """
    L = edge.shape[0]
    if not row_spread(node, T) + 2.0 * spread(edge) <= WIDEST:
        return forward_backward_log(node, edge, T, alpha, beta, marginal, pairs)
    top_edge = -np.inf
    for p in range(L):
        for y in range(L):
            top_edge = max(top_edge, float(edge[p, y]))
    if top_edge == -np.inf:
        top_edge = 0.0
    factor = np.empty((L, L), np.float64)
    for p in range(L):
        for y in range(L):
            factor[p, y] = math.exp(float(edge[p, y]) - top_edge)
            pairs[p, y] = 0.0

    # alpha[t,y] = exp(node[t,y]) * sum_p alpha[t-1,p] * exp(edge[p,y]), each row divided by its sum
    log_z = (T - 1) * top_edge
    weight = np.empty((T, L), np.float64)
    divisor = np.empty(T, np.float64)
    for t in range(T):
        top = -np.inf
        for y in range(L):
            top = max(top, float(node[t, y]))
        if top == -np.inf:
            return -np.inf
        for y in range(L):
            weight[t, y] = math.exp(float(node[t, y]) - top)
            alpha[t, y] = 1.0 if t == 0 else 0.0
        if t > 0:
            for p in range(L):
                a = alpha[t - 1, p]
                for y in range(L):
                    alpha[t, y] += a * factor[p, y]
        total = 0.0
        for y in range(L):
            alpha[t, y] *= weight[t, y]
            total += alpha[t, y]
        if not total > 0.0:
            return -np.inf
        for y in range(L):
            alpha[t, y] /= total
        divisor[t] = total
        log_z += top + math.log(total)

    # beta[t,p] = sum_y exp(edge[p,y]) * exp(node[t+1,y]) * beta[t+1,y], divided alike: alpha * beta are the marginals
    later = np.empty(L, np.float64)
    for y in range(L):
        beta[T - 1, y] = 1.0
        marginal[T - 1, y] = alpha[T - 1, y]
    for t in range(T - 2, -1, -1):
        for y in range(L):
            later[y] = weight[t + 1, y] * beta[t + 1, y] / divisor[t + 1]
        for p in range(L):
            a = alpha[t, p]
            total = 0.0
            for y in range(L):
                reach = factor[p, y] * later[y]
                total += reach
                pairs[p, y] += a * reach
            beta[t, p] = total
            marginal[t, p] = a * total
    return log_z


@kernel
def crf_samples(
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
    received: Floats,
    edge_received: Floats,
    state: Doubles,
    rate: float,
    shrink: float,  # L2: rate * strength / |S|
    owed: float,  # L1: rate * strength / |S|
    totals: Doubles,
) -> None:
    """w <- w + rate * (F(x, y*) - E[F(x, y)]), then regularise."""
    L = weights.shape[1]
    longest = longest_of(order, sentence_offsets)
    weighted = len(values) > 0
    averaged = len(sums) > 0
    node = np.empty((longest, L), np.float32)
    edge = np.empty((L, L), np.float32)
    edge_to = np.empty((L, L), np.float32)
    alpha = np.empty((longest, L), np.float64)
    beta = np.empty((longest, L), np.float64)
    marginal = np.empty((longest, L), np.float64)
    pairs = np.empty((L, L), np.float64)
    delta = np.empty(L, np.float32)

    for sentence in order:
        first = sentence_offsets[sentence]
        last = sentence_offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        oracle = gold[first:last]
        score_nodes(first, last, row_offsets, rows, values, weights, state[SCALE], node)
        scale_edges(edges, state[SCALE], edge, edge_to)
        log_z = forward_backward(node, edge, T, alpha, beta, marginal, pairs)
        totals[LOSS] += log_z - path_score(node, edge, oracle, T)
        totals[TOKENS] += T
        if not log_z > -np.inf:  # scores are no numbers any more; the loop will tell
            totals[LOSS] += np.nan
            return

        step = rate / state[SCALE]
        clock = state[CLOCK]
        for t in range(T):
            top = 0
            for y in range(L):
                delta[y] = -step * marginal[t, y]
                if marginal[t, y] > marginal[t, top]:
                    top = y
            delta[oracle[t]] += step
            if top == oracle[t]:
                totals[CORRECT] += 1
            for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
                f = rows[i]
                value = values[i] if weighted else np.float32(1.0)
                for y in range(L):
                    weights[f, y] += value * delta[y]
                if averaged:
                    for y in range(L):
                        sums[f, y] += value * delta[y] * clock
        if with_edges:
            for t in range(1, T):
                pairs[oracle[t - 1], oracle[t]] -= 1.0
            for p in range(L):
                for y in range(L):
                    change = -step * pairs[p, y]
                    edges[p, y] += change
                    if averaged:
                        edge_sums[p, y] += change * clock
        count_updates(T, totals)

        if owed > 0.0:
            state[PENALTY] += owed
            penalise(first, T, row_offsets, rows, weights, received, sums, clock, state[PENALTY])
            for p in range(L):
                penalise_row(p, edges, edge_received, edge_sums, clock, state[PENALTY])
        end_sample(shrink, weights, edges, sums, edge_sums, state)
