"""Lattice in, sums over all taggings out: the normaliser, the marginals of tokens and of pairs, by forward-backward."""

import math

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Reals

WIDEST = 600.0  # exp(-600) is still a number, exp(-750) is 0
SMALLEST = 1e-40  # of what is reached: another step of exp(-600) and it is still a number


@kernel
def row_spread(scores: Reals, rows: int) -> float:
    """How far the scores of one row are apart at most."""
    widest = 0.0
    for t in range(rows):
        widest = max(widest, spread(scores[t : t + 1]))
    return widest


@kernel
def step_spread(edge: Reals, T: int) -> float:
    """How far the edges of one step are apart at most."""
    if edge.shape[0] == 1:
        return spread(edge[0])
    widest = 0.0
    for t in range(1, T):
        widest = max(widest, spread(edge[t]))
    return widest


@kernel
def spread(scores: Reals) -> float:
    """How far scores are apart at most, those that are forbidden left out."""
    low = np.inf
    high = -np.inf
    for p in range(scores.shape[0]):
        for y in range(scores.shape[1]):
            score = np.float64(scores[p, y])
            if score > -np.inf or np.isnan(score):
                low = min(low, score)
            high = max(high, score)
    return high - low if high > -np.inf else 0.0


@kernel
def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b))"""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@kernel
def forward_backward_log(
    node: Reals, edge: Reals, T: int, alpha: Doubles, beta: Doubles, marginal: Doubles, pairs: Doubles
) -> float:
    """The same in logarithms, for scores of any size; a constant is taken off each row, to keep all digits."""
    # alpha[t,y] = node[t,y] + log sum_p exp(alpha[t-1,p] + edge[t,p,y]), beta likewise from the end
    L = node.shape[1]
    many = edge.shape[0] > 1
    log_z = 0.0
    for t in range(T):
        step = edge[t if many else 0]
        for y in range(L):
            total = 0.0 if t == 0 else -np.inf
            if t > 0:
                for p in range(L):
                    total = log_add(total, alpha[t - 1, p] + np.float64(step[p, y]))
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
    clear_pairs(pairs, T)
    for t in range(T - 2, -1, -1):
        stage = t + 1 if many else 0
        step = edge[stage]
        for p in range(L):
            beta[t, p] = -np.inf
            for y in range(L):
                reach = np.float64(step[p, y]) + np.float64(node[t + 1, y]) + beta[t + 1, y]
                beta[t, p] = log_add(beta[t, p], reach)
            marginal[t, p] = alpha[t, p] + beta[t, p]
        mass = log_sum(marginal[t])
        for p in range(L):
            for y in range(L):
                reach = np.float64(step[p, y]) + np.float64(node[t + 1, y]) + beta[t + 1, y]
                pairs[stage, p, y] += math.exp(alpha[t, p] + reach - mass)
            marginal[t, p] = math.exp(marginal[t, p] - mass)
        taken = log_sum(beta[t])
        for p in range(L):
            beta[t, p] -= taken
    return log_z


@kernel
def clear_pairs(pairs: Doubles, T: int) -> None:
    for stage in range(min(T, pairs.shape[0])):
        for p in range(pairs.shape[1]):
            for y in range(pairs.shape[2]):
                pairs[stage, p, y] = 0.0


@kernel
def log_sum(row: Doubles) -> float:
    total = -np.inf
    for y in range(len(row)):
        total = log_add(total, row[y])
    return total


@kernel
def forward_backward_scaled(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    alpha: Doubles,  # [T, L] work
    beta: Doubles,  # [T, L] work
    marginal: Doubles,  # [T, L] out: P(y_t = y | x) over all taggings
    pairs: Doubles,  # [stages, L, L] out: expected number of each pair of labels, over all steps or at each
) -> tuple[bool, float]:
    """Return whether it could be done, and log Z.

    Each row is divided by its sum, so that no sentence is too long; node scores are taken relative to the best of
    their row and edge scores to the best of their step, so that none is too large. It cannot be done where scores are
    so far apart that products of their exponentials would vanish.
    """
    if not row_spread(node, T) + 2.0 * step_spread(edge, T) <= WIDEST:
        return False, 0.0
    L = node.shape[1]
    many = edge.shape[0] > 1
    stages = T if many else 1
    clear_pairs(pairs, T)
    factor = np.empty((stages, L, L), np.float64)
    tops = np.zeros(stages, np.float64)
    for stage in range(1 if many else 0, stages):
        tops[stage] = edge[stage].max()
        if tops[stage] == -np.inf:
            tops[stage] = 0.0
        for p in range(L):
            for y in range(L):
                factor[stage, p, y] = math.exp(float(edge[stage, p, y]) - tops[stage])

    # alpha[t,y] = exp(node[t,y]) * sum_p alpha[t-1,p] * exp(edge[t,p,y]), each row divided by its sum
    log_z = 0.0
    weight = np.empty((T, L), np.float64)
    divisor = np.empty(T, np.float64)
    for t in range(T):
        top = -np.inf
        for y in range(L):
            top = max(top, float(node[t, y]))
        if top == -np.inf:
            return True, -np.inf
        for y in range(L):
            weight[t, y] = math.exp(float(node[t, y]) - top)
            alpha[t, y] = 1.0 if t == 0 else 0.0
        if t > 0:
            stage = t if many else 0
            step = factor[stage]
            log_z += tops[stage]
            for p in range(L):
                a = alpha[t - 1, p]
                for y in range(L):
                    alpha[t, y] += a * step[p, y]
        total = 0.0
        for y in range(L):
            alpha[t, y] *= weight[t, y]
            total += alpha[t, y]
        if not total > 0.0:
            return True, -np.inf
        faint = False
        for y in range(L):
            alpha[t, y] /= total
            faint |= 0.0 < alpha[t, y] < SMALLEST
        if faint:  # where much is forbidden a detour may lose more and more, and still win in the end
            return False, 0.0
        divisor[t] = total
        log_z += top + math.log(total)

    # beta[t,p] = sum_y exp(edge[t+1,p,y]) * exp(node[t+1,y]) * beta[t+1,y], divided alike: alpha * beta are marginals.
    # Where alpha is 0, which means that nothing leads there, it is 0: nobody who is reached needs it.
    later = np.empty(L, np.float64)
    for y in range(L):
        beta[T - 1, y] = 1.0 if alpha[T - 1, y] > 0.0 else 0.0
        marginal[T - 1, y] = alpha[T - 1, y]
    for t in range(T - 2, -1, -1):
        stage = t + 1 if many else 0
        step = factor[stage]
        expected = pairs[stage]
        for y in range(L):
            later[y] = weight[t + 1, y] * beta[t + 1, y] / divisor[t + 1]
        for p in range(L):
            a = alpha[t, p]
            total = 0.0
            if a > 0.0:  # alpha * beta is at most 1, but where alpha is 0, beta can outgrow all numbers
                for y in range(L):
                    reach = step[p, y] * later[y]
                    total += reach
                    expected[p, y] += a * reach
            beta[t, p] = total
            marginal[t, p] = a * total
    return True, log_z


@kernel
def forward_backward(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    alpha: Doubles,  # [T, L] work
    beta: Doubles,  # [T, L] work
    marginal: Doubles,  # [T, L] out: P(y_t = y | x) over all taggings
    pairs: Doubles,  # [stages, L, L] out: expected number of each pair of labels, over all steps or at each
) -> float:
    """Return log Z, the log of the sum of exp(score) over all taggings; minus infinity where all are forbidden."""
    done, log_z = forward_backward_scaled(node, edge, T, alpha, beta, marginal, pairs)
    return log_z if done else forward_backward_log(node, edge, T, alpha, beta, marginal, pairs)


@kernel
def forward_backward_logs(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    alpha: Doubles,  # [T, L] out: log of what leads to each node, itself counted; each row up to a constant
    beta: Doubles,  # [T, L] out: log of what follows each node that something leads to; each row up to a constant
    marginal: Doubles,  # [T, L] out
    pairs: Doubles,  # [stages, L, L] out
) -> float:
    """The same for those who go on from alpha and beta."""
    done, log_z = forward_backward_scaled(node, edge, T, alpha, beta, marginal, pairs)
    if not done:
        return forward_backward_log(node, edge, T, alpha, beta, marginal, pairs)
    if log_z > -np.inf:
        for t in range(T):
            for y in range(node.shape[1]):
                alpha[t, y] = math.log(alpha[t, y]) if alpha[t, y] > 0.0 else -np.inf
                beta[t, y] = math.log(beta[t, y]) if beta[t, y] > 0.0 else -np.inf
    return log_z
