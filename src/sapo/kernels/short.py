"""Few labels a token: a lattice of short lists, where there are many labels.

A first look without transitions leaves at most K labels a token: those that a frequent word was seen with, or the best
by the scores of the token's features. The lattice then has K nodes a token, and a stage of K x K edges for each step,
which every search takes as it is: node y of token t is the label lists[t, y]. Nodes that are left over score minus
infinity. While learning, the gold label is never left out.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.score import fill_lattice
from sapo.kernels.types import Doubles, Floats, Ints, Lists, Longs, Samples, TaggingWeights
from sapo.kernels.update import LOOKED, LOST
from sapo.kernels.weights import score_features, score_few
from sapo.kernels.workspace import Workspace

# What a lattice is filled for: all its scores count; only which tagging is the best; or to learn, with the gold labels.
SCORES, BEST, LEARNING = 0, 1, 2


@kernel
def labels_left(order: Longs, samples: Samples, most: int | None) -> int:
    """Return how many labels a token keeps, 0 for all of them: where a gold tag is open, all labels are looked at."""
    if most is None:
        return 0
    for sentence in order:
        for token in range(samples.offsets[sentence], samples.offsets[sentence + 1]):
            if samples.gold[token] < 0:
                return 0
    return most


@kernel
def fill_learning(
    first: int,
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    left: int,  # from labels_left
    most: int | None,  # that of the lists
    work: Workspace,
    totals: Doubles,
) -> None:
    """Score the lattice of a sentence to learn from, with few labels a token or all."""
    if most is not None:
        if left > 0:
            fill_short(first, T, samples, weights, scale, LEARNING, work, totals)
            return
    fill_lattice(first, T, samples, weights, scale, work.node, work.edge, work.edge_to)


@kernel
def fill_short(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    purpose: int,  # SCORES, BEST or LEARNING
    work: Workspace,  # node, edge, edge_to, lists and oracle (the places of the gold labels) out
    totals: Doubles,
) -> None:
    """Score the nodes and edges of a sentence that are worth looking at."""
    node, lists, counts, begins = work.node, work.lists, work.counts, work.begins
    bans = weights.bans
    L = bans.shape[1]
    K = node.shape[1]
    for t in range(T):
        counts[t] = 0
    if purpose != LEARNING:  # what is learned must hold against all labels, and not only those that a word had
        seen_labels(first, T, samples, weights.lists, lists, counts)
    for t in range(T):
        begins[t] = 0
        if counts[t] == 1 and purpose == BEST:
            begins[t] = 1
            node[t, 0] = 0.0  # whatever it scores, all taggings have it
    score_few(first, T, samples, weights.features, scale, lists, counts, begins, work.place, node)
    for t in range(T):
        if counts[t] == 0:
            score_features(first + t, 1, samples, weights.features, scale, work.full)
            counts[t] = best_labels(work.full, weights.lists.order, t == 0, t == T - 1, bans, lists, t)
            for j in range(counts[t]):
                node[t, j] = work.full[0, lists[t, j]]
    if purpose == LEARNING:
        lost = False
        for t in range(T):
            gold = samples.gold[first + t]
            at = -1
            for j in range(counts[t]):
                if lists[t, j] == gold:
                    at = j
            totals[LOOKED] += counts[t]
            begins[t] = counts[t]
            if at < 0:
                totals[LOST] += 1
                lost = True
                at = min(counts[t], K - 1)  # in the place of the worst, where there is no room
                counts[t] = at + 1
                begins[t] = at
                lists[t, at] = gold
            work.oracle[t] = at
        if lost:
            score_few(first, T, samples, weights.features, scale, lists, counts, begins, work.place, node)
    for t in range(T):
        if weights.bound:
            for j in range(counts[t]):
                if t == 0:
                    node[t, j] += bans[L, lists[t, j]]
                if t == T - 1:
                    node[t, j] += bans[L + 1, lists[t, j]]
        for j in range(counts[t], K):
            lists[t, j] = 0
            node[t, j] = -np.inf
    short_edges(first, T, samples, weights, scale, work)


@kernel
def seen_labels(first: int, T: int, samples: Samples, seen: Lists, lists: Ints, counts: Ints) -> None:
    """Write the labels that frequent words were seen with, and how many; 0 where a word is not frequent."""
    words, offsets, labels = samples.words, seen.offsets, seen.labels
    for t in range(T):
        counts[t] = 0
        if len(words) > 0:
            word = words[first + t]
            if 0 <= word < len(offsets) - 1 and offsets[word + 1] - offsets[word] <= lists.shape[1]:
                for k in range(offsets[word], offsets[word + 1]):
                    lists[t, counts[t]] = labels[k]
                    counts[t] += 1


@kernel
def best_labels(scores: Floats, order: Ints, begins: bool, ends: bool, bans: Floats, lists: Ints, t: int) -> int:
    """Write the labels with the best scores[0] to lists[t], best first; of equal ones the more frequent."""
    L = scores.shape[1]
    K = lists.shape[1]
    count = 0
    worst = np.float32(-np.inf)
    for i in range(L):
        y = order[i]
        value = scores[0, y]
        if count == K and not value > worst:
            continue
        if (begins and bans[L, y] == -np.inf) or (ends and bans[L + 1, y] == -np.inf):  # a bias may be below 0
            continue
        at = count if count < K else K - 1
        while at > 0 and scores[0, lists[t, at - 1]] < value:
            lists[t, at] = lists[t, at - 1]
            at -= 1
        lists[t, at] = y
        count = min(count + 1, K)
        worst = scores[0, lists[t, count - 1]]
    return count


@kernel
def short_edges(first: int, T: int, samples: Samples, weights: TaggingWeights, scale: float, work: Workspace) -> None:
    """Score the steps between the labels that are left."""
    # edge[t,i,j] = scale * (edges[p,y] + edge features) + bans[p,y] with p = lists[t-1,i] and y = lists[t,j]
    edge, edge_to, lists, place = work.edge, work.edge_to, work.lists, work.place
    edges, bans = weights.edges, weights.bans
    L = edges.shape[0]
    with_pairs = len(samples.edge_row_offsets) > 1
    for t in range(1, T):
        before, here = work.counts[t - 1], work.counts[t]  # to nodes that are left over, any number will do
        for i in range(before):
            p = lists[t - 1, i]
            for j in range(here):
                edge[t, i, j] = scale * edges[p, lists[t, j]]
            if weights.bound:
                for j in range(here):
                    edge[t, i, j] += bans[p, lists[t, j]]
        if with_pairs:
            for j in range(work.counts[t]):
                place[lists[t, j]] = j
            for e in samples.edge_rows[samples.edge_row_offsets[first + t] : samples.edge_row_offsets[first + t + 1]]:
                for k in range(weights.pair_offsets[e], weights.pair_offsets[e + 1]):
                    p, y = weights.pair_codes[k] // L, weights.pair_codes[k] % L
                    j = place[y]
                    if j >= 0:
                        for i in range(work.counts[t - 1]):
                            if lists[t - 1, i] == p:
                                edge[t, i, j] += scale * weights.pairs[k, 0]
            for j in range(work.counts[t]):
                place[lists[t, j]] = -1
        for i in range(before):
            for j in range(here):
                edge_to[t, j, i] = edge[t, i, j]


@kernel
def to_labels(T: int, found: int, most: int | None, work: Workspace) -> None:
    """Turn the oracle and the paths from places in the lists, if these have `most` labels, into labels."""
    if most is None:
        return
    for t in range(T):
        work.oracle[t] = work.lists[t, work.oracle[t]]
        for k in range(found):
            work.paths[k, t] = work.lists[t, work.paths[k, t]]
