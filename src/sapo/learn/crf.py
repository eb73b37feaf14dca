"""Train a conditional random field (Lafferty et al. 2001) by stochastic gradient.

Where tags are open, it is the gradient of log P(tags that are there), the sum over all taggings that keep to them: in
place of F(x, y*) stands the expectation over these.

    w <- w + rate * (F(x, y*) - E[F(x, y)])     the expectation over all taggings, by forward-backward
    w <- w - rate * strength / |S| * grad R(w)

Rate and regularizer are those of SAPO; a CRF is SAPO with n = all taggings. If some tags of y* are missing, F(x, y*) is
the expectation over all taggings that agree with the known tags: the gradient of the log of their total probability.
"""

import numpy as np

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Ints, Longs
from sapo.learn.loop import Step, linear_pass, rates_of
from sapo.learn.rows import ALL_ROWS, LearnedRows, change_features, has_room
from sapo.learn.settings import Settings
from sapo.learn.update import Rates, change_pair, count_update, fold_small, importance_of, regularize
from sapo.learn.weights import CLOCK, SCALE, Parts, Weights, tagging_weights
from sapo.search.chain import FULLY, UNTAGGED, allows, bind, how_tagged, labels_left, longest_of
from sapo.search.lattice import (
    CORRECT,
    LEARNING,
    LOSS,
    TOKENS,
    Workspace,
    fill_lattice,
    fill_short,
    make_workspace,
    path_score,
    stages_of,
)
from sapo.search.marginals import forward_backward


@kernel
def crf_samples(order: Longs, samples: Samples, parts: Parts, state: Doubles, rates: Rates, totals: Doubles) -> int:
    """w <- w + rate * (F(x, y*) - E[F(x, y)]), then regularize; return how many samples there was room for."""
    most = labels_left(order, samples, parts.lists.most)
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    if len(samples.importance) > 0 or most > 0:
        stages = longest  # the pairs of each step count for themselves
    work = make_workspace(longest, parts.edges.v.shape[0], stages, 0, most)
    node, edge, bound = work.node, work.edge, work.best
    K = node.shape[1]
    alpha = np.empty((longest, K), np.float64)
    beta = np.empty((longest, K), np.float64)
    marginal = np.empty((longest, K), np.float64)
    pairs = np.empty((stages, K, K), np.float64)
    kept = np.empty((longest, K), np.float64)
    kept_pairs = np.empty((stages, K, K), np.float64)
    weights = tagging_weights(parts)
    for done in range(len(order)):
        first = samples.offsets[order[done]]
        T = samples.offsets[order[done] + 1] - first
        if T == 0:
            continue
        if not has_room(samples.row_offsets[first + T] - samples.row_offsets[first], parts.nodes):
            return done
        gold = samples.gold[first : first + T]
        tagged = how_tagged(gold)
        if tagged == UNTAGGED:
            totals[TOKENS] += T  # nothing to learn, and nothing is wrong
            totals[CORRECT] += T
            regularize(first, T, samples, rates, parts, state)
            fold_small(parts, state)
            continue
        if most > 0:
            fill_short(first, T, samples, weights, state[SCALE], LEARNING, work, totals)
            gold = work.oracle[:T]
        else:
            fill_lattice(first, T, samples, weights, state[SCALE], node, edge, work.edge_to[:0])
        log_z = forward_backward(node, edge, T, alpha, beta, marginal, pairs)
        if tagged == FULLY:
            log_kept = path_score(node, edge, gold, T)
        else:
            bind(gold, samples.allowed, node, T, bound)
            log_kept = forward_backward(bound, edge, T, alpha, beta, kept, kept_pairs)
        totals[LOSS] += log_z - log_kept
        totals[TOKENS] += T
        if not log_z > -np.inf or not log_kept > -np.inf:  # training diverged
            totals[LOSS] += np.nan
            return len(order)
        step = rates.rate / state[SCALE]
        take_kept_pairs(gold, T, tagged == FULLY, kept_pairs, pairs)
        if most > 0:
            totals[CORRECT] += expect_short_nodes(first, T, samples, marginal, step, parts.nodes, state[CLOCK], work)
            expect_short_edges(first, T, samples, pairs, work.lists, step, parts, state[CLOCK])
        else:
            nodes = parts.nodes
            totals[CORRECT] += expect_nodes(first, T, samples, marginal, kept, step, nodes, state[CLOCK])
            expect_edges(first, T, samples, pairs, step, parts, state[CLOCK])
        count_update(T, totals)
        regularize(first, T, samples, rates, parts, state)
        fold_small(parts, state)
    return len(order)


@kernel
def expect_nodes(
    first: int,
    T: int,
    samples: Samples,
    marginal: Doubles,
    kept: Doubles,  # the same of taggings that keep to the gold tags; read only where one is open
    step: float,
    nodes: LearnedRows,  # changed
    clock: float,
) -> int:
    """The gradient's share of the features of tokens; return at how many the likeliest tag is right."""
    L = marginal.shape[1]
    every = np.empty((T, 0), np.int32)  # all labels change
    sizes = np.full(T, L, np.int32)
    delta = np.empty((T, L), np.float32)
    correct = 0
    for t in range(T):
        counts = step * importance_of(first + t, samples.importance)
        top = 0
        for y in range(L):
            delta[t, y] = -counts * marginal[t, y]
            if marginal[t, y] > marginal[t, top]:
                top = y
        tag = samples.gold[first + t]
        if tag >= 0:
            delta[t, tag] += counts
        else:
            for y in range(L):
                delta[t, y] += counts * kept[t, y]
        if allows(tag, top, samples.allowed):
            correct += 1
    change_features(first, T, samples, every, sizes, delta, nodes, clock, ALL_ROWS)
    return correct


@kernel
def expect_short_nodes(
    first: int,
    T: int,
    samples: Samples,
    marginal: Doubles,  # [T, K]
    step: float,
    nodes: LearnedRows,  # changed
    clock: float,
    work: Workspace,
) -> int:
    """The same for lists: only the labels that were looked at change."""
    lists = work.lists
    delta = np.empty(lists.shape, np.float32)
    correct = 0
    for t in range(T):
        counts = step * importance_of(first + t, samples.importance)
        top = 0
        for j in range(work.counts[t]):
            delta[t, j] = -counts * marginal[t, j]
            if marginal[t, j] > marginal[t, top]:
                top = j
        delta[t, work.oracle[t]] += counts
        if top == work.oracle[t]:
            correct += 1
    change_features(first, T, samples, lists, work.counts, delta, nodes, clock, ALL_ROWS)
    return correct


@kernel
def expect_short_edges(
    first: int,
    T: int,
    samples: Samples,
    pairs: Doubles,  # [T, K, K] expected, less what the gold tags have
    lists: Ints,
    step: float,
    parts: Parts,
    clock: float,
) -> None:
    """The gradient's share of the pairs of labels that were looked at, alone and with edge features."""
    edges = parts.edges
    K = lists.shape[1]
    L = edges.v.shape[0]
    for t in range(1, T):
        counts = step * importance_of(first + t, samples.importance)
        for i in range(K):
            for j in range(K):
                change = -counts * pairs[t, i, j]
                if change == 0.0:
                    continue
                p, y = lists[t - 1, i], lists[t, j]
                if parts.with_edges:
                    edges.v[p, y] += change
                    if len(edges.sums) > 0:
                        edges.sums[p, y] += change * clock
                if len(parts.pair_codes) > 0:
                    for k in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
                        change_pair(samples.edge_rows[k], p * L + y, change, parts, clock)


@kernel
def take_kept_pairs(gold: Ints, T: int, fully: bool, kept_pairs: Doubles, pairs: Doubles) -> None:
    """Take the pairs of the oracle, or those expected where tags are open, from those expected of all taggings."""
    many = pairs.shape[0] > 1
    if fully:
        for t in range(1, T):
            pairs[t if many else 0, gold[t - 1], gold[t]] -= 1.0
        return
    for stage in range(1 if many else 0, T if many else 1):
        for p in range(pairs.shape[1]):
            for y in range(pairs.shape[2]):
                pairs[stage, p, y] -= kept_pairs[stage, p, y]


@kernel
def expect_edges(
    first: int,
    T: int,
    samples: Samples,
    pairs: Doubles,  # expected, less what the gold tags have
    step: float,
    parts: Parts,
    clock: float,
) -> None:
    """The gradient's share of the pairs of labels, alone and with edge features."""
    many = pairs.shape[0] > 1
    weights, sums = parts.edges.v, parts.edges.sums
    L = weights.shape[0]
    averaged = len(sums) > 0
    if parts.with_edges:
        for stage in range(1 if many else 0, T if many else 1):
            counts = step * importance_of(first + stage, samples.importance)
            for p in range(L):
                for y in range(L):
                    change = -counts * pairs[stage, p, y]
                    weights[p, y] += change
                    if averaged:
                        sums[p, y] += change * clock
    if len(parts.pair_codes) > 0:
        for t in range(1, T):
            counts = step * importance_of(first + t, samples.importance)
            for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
                e = samples.edge_rows[i]
                for k in range(parts.pair_offsets[e], parts.pair_offsets[e + 1]):
                    code = parts.pair_codes[k]
                    change = -counts * pairs[t, code // L, code % L]
                    parts.pairs.v[k, 0] += change
                    if len(parts.pairs.sums) > 0:
                        parts.pairs.sums[k, 0] += change * clock


def crf_step(weights: Weights, corpus: EncodedCorpus, rate: float, settings: Settings, totals: Doubles) -> Step:
    """Return a function that learns from a run of samples."""
    samples, state = corpus.samples, weights.state
    rates = rates_of(rate, settings, corpus.sentences_in_all)
    return lambda run, parts: crf_samples(run, samples, parts, state, rates, totals)


crf_pass = linear_pass(crf_step)
