"""Algorithm 1 of the paper over a run of samples: lattice, top-n, P_k, update, regularise.

Where tags are open, the oracle is the best tagging that keeps to the tags that are there, and other candidates that
keep to them are left out of Y_n: nobody said that they are wrong. So a sentence without tags changes nothing.

The mean over the top-n of what the tags allow, in place of F(x, y*), would be the gradient of a CRF for n = all. But
with a few candidates it does harm. Those that keep to the tags differ from each other in open tokens only, those of Y_n
in others, too: each step would make the second-best tags of open tokens more probable (docs/how-to/partial-labels.md).
"""

import math

import numpy as np

from sapo.kernels._jit import inlined, kernel
from sapo.kernels.oracle import PARTLY, UNTAGGED, allows, complete, how_tagged
from sapo.kernels.score import path_score
from sapo.kernels.searches import search_n
from sapo.kernels.short import fill_learning, labels_left, to_labels
from sapo.kernels.types import Bools, Doubles, Ints, Longs, Parts, Rates, Rivals, Samples, Search
from sapo.kernels.update import (
    BY_RANK,
    CANDIDATES,
    CLOCK,
    LOSS,
    SCALE,
    SEARCHED,
    TOKENS,
    count_allowed,
    count_correct,
    count_untagged,
    count_updates,
    note_changes,
    regularise,
    update_steps,
)
from sapo.kernels.weights import change_features, has_room, tagging_weights
from sapo.kernels.workspace import Workspace, longest_of, make_workspace, stages_of, window


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
        regularise(first, T, samples, rates, parts, state)
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
    found = search_n(search, search.astar, search.width, T, work)
    if found == 0:
        return -1
    log_mass = normalise(work.scores, found, probability)
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
        log_mass = normalise(work.scores, found, probability)
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
def normalise(scores: Doubles, found: int, probability: Doubles) -> float:
    """P_k = exp(score_k) / sum of exp(score) over Y_n; return the log of that sum."""
    mass = 0.0
    for k in range(found):
        probability[k] = math.exp(scores[k] - scores[0])
        mass += probability[k]
    for k in range(found):
        probability[k] /= mass
    return float(scores[0]) + math.log(mass)
