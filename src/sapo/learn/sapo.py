"""SAPO: search-based probabilistic online learning (Algorithm 1 of the paper).

Where tags are open, the oracle is the best tagging that keeps to the tags that are there, and other candidates that
keep to them are left out of Y_n: nobody said that they are wrong. So a sentence without tags changes nothing.

The mean over the top-n of what the tags allow, in place of F(x, y*), would be the gradient of a CRF for n = all. But
with a few candidates it does harm. Those that keep to the tags differ from each other in open tokens only, those of Y_n
in others, too: each step would make the second-best tags of open tokens more probable (docs/how-to/partial-labels.md).

    repeat
        draw a sample z = (x, y*) at random from the training set S
        search the top-n outputs Y_n = {y_1 ... y_n} under w
        P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
        w <- w - rate * P_k * F(x, y_k)             for every y_k in Y_n
        w <- w + rate * F(x, y*)
        w <- w - rate * strength / |S| * grad R(w)  with R(w) = |w|^2 / 2 for L2
    until convergence

The kernel does this for a few hundred samples at a time. With n = 1 this is the structured perceptron; with n = all
taggings it is the stochastic gradient of a CRF. If some tags of y* are missing, y* is the best tagging that agrees with
the tags that are known, and all other taggings that agree with them are removed from Y_n.
"""

import math
from collections.abc import Iterator

import numpy as np

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import inlined, kernel
from sapo.jit.arrays import Bools, Doubles, Ints, Longs
from sapo.learn.loop import learn_run, rates_of, runs_of, search_of
from sapo.learn.rows import change_features, has_room
from sapo.learn.settings import Settings
from sapo.learn.update import (
    PARTLY,
    UNTAGGED,
    Rates,
    Rivals,
    allows,
    complete,
    count_allowed,
    count_correct,
    count_untagged,
    count_updates,
    how_tagged,
    note_changes,
    regularize,
    update_steps,
)
from sapo.learn.weights import CLOCK, SCALE, Parts, Weights, tagging_weights
from sapo.search.lattice import (
    BY_RANK,
    CANDIDATES,
    LOSS,
    SEARCHED,
    TOKENS,
    Workspace,
    fill_learning,
    labels_left,
    longest_of,
    make_workspace,
    path_score,
    stages_of,
    to_labels,
    window,
)
from sapo.search.searches import Search, run_search


@kernel
def sapo_samples(
    order: Longs,  # which sentences to learn from, in this order
    samples: Samples,
    parts: Parts,  # changed
    state: Doubles,  # changed
    search: Search,
    rates: Rates,
    totals: Doubles,  # added to
) -> int:
    """Learn from each sample in turn; return how many there were before there was no room for new weights."""
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    most = parts.lists.most
    left = labels_left(order, samples, most)
    work = make_workspace(longest, parts.edges.v.shape[0], stages, search.n, left)
    weights = tagging_weights(parts)
    for done in range(len(order)):
        first = samples.offsets[order[done]]
        T = samples.offsets[order[done] + 1] - first
        if T == 0:
            totals[SEARCHED] += 1
            continue
        if not has_room(samples.row_offsets[first + T] - samples.row_offsets[first], parts.nodes):
            return done
        fill_learning(first, T, samples, weights, state[SCALE], left, most, work, totals)

        touched = 0
        begin = 0
        while begin < T:
            end = end_of_piece(first, begin, T, samples.cuts)
            piece = work if end - begin == T else window(work, begin, end)
            changed = learn_piece(first + begin, end - begin, samples, search, rates, parts, state, left, piece, totals)
            if changed < 0:  # the loop will tell
                totals[LOSS] += np.nan
                return len(order)
            touched += changed
            begin = end
        if touched > 0:
            change_features(first, T, samples, work.changing, work.sizes, work.changes, parts.nodes, state[CLOCK])
        count_updates(touched, totals)
        regularize(first, T, samples, rates, parts, state)
    return len(order)


@kernel
@inlined
def end_of_piece(first: int, begin: int, T: int, cuts: Bools) -> int:
    """Return where the piece of a sentence that begins here ends."""
    if len(cuts) == 0:
        return T
    end = begin + 1
    while end < T and not cuts[first + end]:
        end += 1
    return end


@kernel
@inlined
def learn_piece(
    first: int,  # the piece begins at this token
    T: int,
    samples: Samples,
    search: Search,
    rates: Rates,
    parts: Parts,  # what belongs to two labels in a row is changed
    state: Doubles,
    left: int,  # from labels_left
    work: Workspace,  # holds the lattice of the piece; how its features change is noted here
    totals: Doubles,  # added to
) -> int:
    """Learn from a piece of a sentence; return how many tokens it touches, or -1 if scores are no numbers."""
    node, edge, oracle, paths, probability = work.node, work.edge, work.oracle, work.paths, work.coefficients
    gold = samples.gold[first : first + T]
    totals[SEARCHED] += 1
    tagged = how_tagged(gold)
    if tagged == UNTAGGED:
        count_untagged(T, totals)
        for t in range(T):
            work.sizes[t] = 0
        return 0

    # search the top-n outputs Y_n
    found = run_search(search, search.astar, search.width, T, work)
    if found == 0:
        return -1
    log_mass = normalize(work.scores, found, probability)
    for k in range(found):
        if BY_RANK + k < len(totals):
            totals[BY_RANK + k] += probability[k]
    totals[CANDIDATES] += found
    totals[TOKENS] += T
    if left > 0:
        count_correct(T, oracle, paths[0], totals)
    else:
        count_allowed(T, gold, samples.allowed, paths[0], totals)

    # the oracle, and its rivals
    among = False
    if tagged == PARTLY:
        found, among = leave_rivals(gold, samples.allowed, T, found, paths, work.scores, oracle)
        log_mass = normalize(work.scores, found, probability)
    if not among and left == 0:
        complete(gold, samples.allowed, T, work)
    totals[LOSS] += log_mass - path_score(node, edge, oracle, T)
    if left > 0:
        to_labels(T, found, parts.lists.most, work)

    # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v
    rivals = Rivals(oracle, paths, probability, found, 1.0)
    step = rates.rate / state[SCALE]
    touched = note_changes(first, T, samples.importance, rivals, step, work)
    update_steps(first, T, samples, rivals, step, parts, state[CLOCK], touched)
    return touched


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
def normalize(scores: Doubles, found: int, probability: Doubles) -> float:
    """P_k = exp(score_k) / sum of exp(score) over Y_n; return the log of that sum."""
    mass = 0.0
    for k in range(found):
        probability[k] = math.exp(scores[k] - scores[0])
        mass += probability[k]
    for k in range(found):
        probability[k] /= mass
    return float(scores[0]) + math.log(mass)


def sapo_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them.

    What is counted on the way is added to `totals` (see learn/update.py).
    """
    rates = rates_of(rate, settings, corpus.sentences_in_all)
    search = search_of(settings, n=settings.number, margin=math.log(settings.stop_ratio))
    samples, state = corpus.samples, weights.state

    def learn(run: Longs, parts: Parts) -> int:
        return sapo_samples(run, samples, parts, state, search, rates, totals)

    for run in runs_of(order):
        learn_run(weights, corpus, run, settings, learn)
        yield len(run)
