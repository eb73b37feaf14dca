"""Perceptron, passive aggressive and AROW on weights that are one vector, as CRFsuite has them.

Each looks for the best tagging, and where it is wrong moves the weights along delta = F(x, y*) - F(x, y):

    perceptron            w <- w + delta
    passive aggressive    w <- w + tau * delta           tau from the cost of y and |delta|^2
    AROW                  w <- w + alpha * v * delta     alpha from the cost and the variances v, which shrink

The cost is how much higher y scores than y*, plus its number of wrong labels (AROW), the root of it (passive
aggressive), or 1.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.flat import flat_edges, flat_nodes
from sapo.kernels.score import path_score
from sapo.kernels.types import Doubles, Flat, Ints, Longs, OnlineRules, Samples
from sapo.kernels.update import CORRECT, LOSS, TOKENS, UPDATED_SAMPLES
from sapo.kernels.viterbi import best_path, best_scores
from sapo.kernels.workspace import longest_of, stages_of

PERCEPTRON, PASSIVE_AGGRESSIVE, AROW = 0, 1, 2  # methods


@kernel
def online_samples(
    order: Longs,
    samples: Samples,
    flat: Flat,
    w: Doubles,  # changed
    beside: Doubles,  # changed: of AROW the variances; of the others each change times the clock at which it came
    delta: Doubles,  # [weights] all 0, and so again in the end
    clock: float,
    rules: OnlineRules,
    totals: Doubles,  # changed
) -> float:
    """Learn from sentences; return the clock, which counts them."""
    L = flat.edges.shape[0]
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float64)
    edge = np.empty((stages, L, L), np.float64)
    edge_to = np.empty((stages, L, L), np.float64)
    best = np.empty((longest, L), np.float64)
    row = np.empty(L, np.float64)
    path = np.empty(longest, np.int32)
    touched = np.empty(room_for(order, samples), np.int64)
    for s in order:
        first = samples.offsets[s]
        T = samples.offsets[s + 1] - first
        if T > 0:
            gold = samples.gold[first : first + T]
            flat_nodes(first, T, samples, flat, w, node)
            flat_edges(first, T, samples, flat, w, edge)
            for stage in range(1 if stages > 1 else 0, T if stages > 1 else 1):
                for p in range(L):
                    for y in range(L):
                        edge_to[stage, y, p] = edge[stage, p, y]
            best_scores(node, edge, T, best, row)
            best_path(best, edge_to, T, path)
            wrong = 0
            for t in range(T):
                wrong += path[t] != gold[t]
            totals[TOKENS] += T
            totals[CORRECT] += T - wrong
            if wrong > 0:
                totals[UPDATED_SAMPLES] += 1
                lead = path_score(node, edge, path, T) - path_score(node, edge, gold, T)
                count = collect(first, T, samples, flat, gold, path, touched, delta)
                totals[LOSS] += change(touched[:count], delta, w, beside, lead, wrong, T, clock, rules)
        clock += 1.0
    return clock


@kernel
def room_for(order: Longs, samples: Samples) -> int:
    """Return how many weights a sentence can touch, counted as often as they are touched."""
    room = 0
    for s in order:
        first, last = samples.offsets[s], samples.offsets[s + 1]
        entries = samples.row_offsets[last] - samples.row_offsets[first] + last - first
        if len(samples.edge_row_offsets) > 1:
            entries += samples.edge_row_offsets[last] - samples.edge_row_offsets[first]
        room = max(room, 2 * entries)
    return room


@kernel
def collect(
    first: int, T: int, samples: Samples, flat: Flat, gold: Ints, path: Ints, touched: Longs, delta: Doubles
) -> int:
    """Write F(x, gold) - F(x, path) to delta; return how many places it touches, each of them once in `touched`."""
    L = flat.edges.shape[0]
    weighted = len(samples.values) > 0
    count = 0
    for t in range(T):
        for side in range(2):
            y = gold[t] if side == 0 else path[t]
            sign = 1.0 if side == 0 else -1.0
            if gold[t] != path[t]:
                for i in range(samples.row_offsets[first + t], samples.row_offsets[first + t + 1]):
                    f = samples.rows[i]
                    for k in range(flat.offsets[f], flat.offsets[f + 1]):
                        if flat.labels[k] == y:
                            touched[count] = k
                            count += 1
                            delta[k] += sign * (np.float64(samples.values[i]) if weighted else 1.0)
                            break
            if t > 0 and (gold[t] != path[t] or gold[t - 1] != path[t - 1]):
                p = gold[t - 1] if side == 0 else path[t - 1]
                if flat.edges[p, y] >= 0:
                    touched[count] = flat.edges[p, y]
                    count += 1
                    delta[flat.edges[p, y]] += sign
                if len(samples.edge_row_offsets) > 1:
                    for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
                        e = samples.edge_rows[i]
                        for k in range(flat.pair_offsets[e], flat.pair_offsets[e + 1]):
                            if flat.pair_codes[k] == p * L + y:
                                touched[count] = flat.first_pair + k
                                count += 1
                                delta[flat.first_pair + k] += sign
                                break
    places = np.unique(touched[:count])
    for i in range(len(places)):
        touched[i] = places[i]
    return len(places)


@kernel
def change(
    places: Longs,
    delta: Doubles,  # changed: all 0 afterwards
    w: Doubles,  # changed
    beside: Doubles,  # changed
    lead: float,  # by which the wrong tagging is ahead
    wrong: int,
    T: int,
    clock: float,
    rules: OnlineRules,
) -> float:
    """Move the weights along delta; return the loss, as CRFsuite counts it."""
    size = 0.0
    for k in places:
        size += delta[k] * delta[k] * (beside[k] if rules.method == AROW else 1.0)
    step = 1.0
    loss = wrong / T
    if rules.method == AROW:
        loss = lead + wrong
        step = loss / (rules.gamma + size)
    elif rules.method == PASSIVE_AGGRESSIVE:
        loss = lead + (np.sqrt(float(wrong)) if rules.by_errors else 1.0)
        if rules.slack == 2:
            step = loss / (size + 0.5 / rules.c)
        else:
            step = loss / size if size > 0.0 else 0.0
            if rules.slack == 1:
                step = min(rules.c, step)
    for k in places:
        if rules.method == AROW:
            w[k] += step * beside[k] * delta[k]
            beside[k] = 1.0 / (1.0 / beside[k] + delta[k] * delta[k] / rules.gamma)
        else:
            w[k] += step * delta[k]
            beside[k] += clock * step * delta[k]
        delta[k] = 0.0
    return loss
