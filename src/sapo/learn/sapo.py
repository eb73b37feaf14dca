"""SAPO: search-based probabilistic online learning (Algorithm 1 of the paper).

    repeat
        draw a sample z = (x, y*) at random from the training set S
        search the top-n outputs Y_n = {y_1 ... y_n} under w
        P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
        w <- w - rate * P_k * F(x, y_k)             for every y_k in Y_n
        w <- w + rate * F(x, y*)
        w <- w - rate * strength / |S| * grad R(w)  with R(w) = |w|^2 / 2 for L2
    until convergence

With n = 1 this is the structured perceptron; with n = all taggings it is the stochastic gradient of a CRF.

If tags are open, y* is the best tagging compatible with the known tags, and other compatible taggings are dropped
from Y_n. The mean over the top-n of what the tags allow, instead of F(x, y*), would be the gradient of a CRF for
n = all, but with few candidates it does harm. Compatible candidates differ from each other in open tokens only, those
of Y_n in other tokens, too: each step would make the second-best tags of open tokens more probable
(docs/how-to/partial-labels.md).
"""

import math
from typing import NamedTuple

import numpy as np

from sapo import jit
from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Ints, Longs
from sapo.jit.team import Pace, Team, in_team, meet, take
from sapo.learn.loop import Step, linear_pass, rates_of, search_of
from sapo.learn.rows import Share, has_room
from sapo.learn.settings import Settings
from sapo.learn.update import Rates, Rivals, count_update, regularize, update
from sapo.learn.weights import CLOCK, SCALE, SMALLEST_SCALE, Parts, Weights, fold, tagging_weights
from sapo.search.chain import (
    Search,
    count_search,
    find_candidates,
    find_oracle,
    open_chain,
    score_chain,
    to_labels,
)
from sapo.search.lattice import BY_RANK, LOSS, Workspace, path_score
from sapo.search.weights import TaggingWeights


class BlockSearch(NamedTuple):
    """What was found for the samples of a block, by the place of the sample in it."""

    oracle: Ints  # [block, longest]
    paths: Ints  # [block, n, longest]
    probability: Doubles  # [block, n]
    size: Longs  # [block] how many candidates; 0 if training diverged


@kernel
def sapo_samples(
    order: Longs,  # which samples to learn from, in this order
    samples: Samples,
    parts: Parts,  # the weights: changed
    state: Doubles,  # changed
    search: Search,
    rates: Rates,
    found: BlockSearch,  # out
    totals: Doubles,  # [block, counts] added to
    team: Team,
) -> int:
    """Learn from each sample in turn; return how many there were before there was no room for new weights.

    The candidates of all samples of a block are searched with the weights before the block. So threads can divide the
    samples, and then the rows of the weights, and the result is the same for any number of them.
    """
    weights = tagging_weights(parts)
    work = open_chain(order, samples, weights, search.n)
    mine = np.empty_like(state)
    block = len(found.size)
    learning = team.threads if len(parts.nodes.head) == 0 and rates.owed is None else 1
    i = take(team)  # which sample to search; whoever is free takes the next one
    for begin in range(0, len(order), block):
        end = min(begin + block, len(order))
        if not has_room(features_of(order, begin, end, samples), parts.nodes):
            return begin
        mine[:] = state
        while i < end:
            search_sample(order[i], i - begin, samples, weights, state[SCALE], search, found, work, totals[i - begin])
            i = take(team)
        if not meet(team):
            return begin
        for place in range(end - begin):
            if found.size[place] == 0:  # training diverged
                return len(order)
        if team.thread < learning:
            share = Share(team.thread, learning)
            for place in range(end - begin):
                learn_sample(
                    order[begin + place], place, samples, found, rates, parts, mine, share, work, totals[place]
                )
        if team.thread == 0:
            state[:] = mine
        if not meet(team):
            return begin
        if state[SCALE] < SMALLEST_SCALE:
            if not meet(team):  # all have looked
                return begin
            if team.thread == 0:
                fold(parts, state)
            if not meet(team):
                return begin
    return len(order)


@kernel
def features_of(order: Longs, begin: int, end: int, samples: Samples) -> int:
    """Return how many features the tokens of these samples have."""
    features = 0
    for i in range(begin, end):
        first, last = samples.offsets[order[i]], samples.offsets[order[i] + 1]
        features += samples.row_offsets[last] - samples.row_offsets[first]
    return features


@kernel
def search_sample(
    sample: int,
    place: int,  # in the block
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    search: Search,
    into: BlockSearch,  # out
    work: Workspace,
    totals: Doubles,  # added to
) -> None:
    """Search the top-n outputs Y_n = {y_1 ... y_n} under w, and turn their scores into P_k."""
    first = samples.offsets[sample]
    T = samples.offsets[sample + 1] - first
    into.size[place] = -1
    if T == 0:
        return
    score_chain(first, T, samples, weights, scale, work, totals)
    found = find_candidates(search, T, work)
    if found == 0:
        totals[LOSS] += np.nan
        into.size[place] = 0
        return
    gold = samples.gold[first : first + T]
    found = find_oracle(gold, samples.allowed, T, found, work)
    # P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
    log_mass = softmax(work.scores, found, into.probability[place])
    totals[LOSS] += log_mass - path_score(work.node, work.edge, work.oracle, T)
    count_search(gold, samples.allowed, T, found, work, totals)
    for k in range(min(found, len(totals) - BY_RANK)):
        totals[BY_RANK + k] += into.probability[place, k]
    to_labels(T, found, weights, work)
    into.size[place] = found
    for t in range(T):
        into.oracle[place, t] = work.oracle[t]
    for k in range(found):
        for t in range(T):
            into.paths[place, k, t] = work.paths[k, t]


@kernel
def learn_sample(
    sample: int,
    place: int,  # in the block
    samples: Samples,
    found: BlockSearch,
    rates: Rates,
    parts: Parts,  # the weights: changed
    state: Doubles,  # changed
    share: Share,  # which rows of them
    work: Workspace,
    totals: Doubles,  # added to
) -> None:
    """w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v = w / scale; then regularize."""
    first = samples.offsets[sample]
    T = samples.offsets[sample + 1] - first
    if T == 0:
        return
    rivals = Rivals(found.oracle[place], found.paths[place], found.probability[place], found.size[place], 1.0)
    step = rates.rate / state[SCALE]
    touched = update(first, T, samples, rivals, step, parts, state[CLOCK], work, share)
    if share.thread == 0:
        count_update(touched, totals)
    # w <- w - rate * strength / |S| * grad R(w)
    regularize(first, T, samples, rates, parts, state)


@kernel
def softmax(scores: Doubles, found: int, probability: Doubles) -> float:
    """P_k = exp(score_k) / sum of exp(score) over Y_n; return the log of that sum."""
    mass = 0.0
    for k in range(found):
        probability[k] = math.exp(scores[k] - scores[0])
        mass += probability[k]
    for k in range(found):
        probability[k] /= mass
    return float(scores[0]) + math.log(mass)


def sapo_step(weights: Weights, corpus: EncodedCorpus, rate: float, settings: Settings, totals: Doubles) -> Step:
    """Return a function that learns from a run of samples."""
    samples, state, n = corpus.samples, weights.state, settings.number
    search = search_of(settings, n=n, margin=math.log(settings.stop_ratio))
    rates = rates_of(rate, settings, corpus.sentences_in_all)
    block = settings.block_of(rates.shrink)
    lengths = np.diff(corpus.offsets)
    counts = np.zeros((block, len(totals))) if block > 1 else totals[None]
    pace = Pace(min(settings.cores, block) if jit.compiled() else 1)  # Python runs one thread at a time

    def step(run: Longs, parts: Parts) -> int:
        longest = int(lengths[run].max(initial=1))
        found = BlockSearch(
            np.empty((block, longest), np.int32),
            np.empty((block, n, longest), np.int32),
            np.empty((block, n)),
            np.zeros(block, np.int64),
        )
        done = 0
        while done < len(run):
            some = run[done:] if pace.pieces is None else run[done : done + pace.pieces * block]

            def learn(team: Team, some: Longs = some) -> int:
                return sapo_samples(some, samples, parts, state, search, rates, found, counts, team)

            threads, started = pace.threads, jit.clock()
            learned = in_team(threads, learn)
            pace.note(threads, int(lengths[some].sum()), jit.clock() - started)
            done += learned
            if learned < len(some):  # there is no room for new weights
                break
        if block > 1:
            totals[:] += counts.sum(axis=0)
            counts[:] = 0
        return done

    return step


sapo_pass = linear_pass(sapo_step)
