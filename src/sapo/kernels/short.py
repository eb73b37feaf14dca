"""Few labels a token: a lattice of short lists, where there are many labels.

A first look without transitions leaves at most K labels a token: those that a frequent word was seen with, or the best
by the scores of the token's features. The lattice then has K nodes a token, and a stage of K x K edges for each step,
which every search takes as it is: node y of token t is the label lists[t, y]. Nodes that are left over score minus
infinity. While learning, the gold label is never left out.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints, Lists, Longs, Samples, TaggingWeights
from sapo.kernels.update import LOOKED, LOST
from sapo.kernels.weights import score_few, score_token
from sapo.kernels.workspace import Workspace


@kernel
def all_tagged(order: Longs, samples: Samples) -> bool:
    """Whether every token of these sentences has one gold tag: where some are open, all labels are looked at."""
    for sentence in order:
        for token in range(samples.offsets[sentence], samples.offsets[sentence + 1]):
            if samples.gold[token] < 0:
                return False
    return True


@kernel
def fill_short(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    learning: bool,  # whether the gold labels must be there; they are counted in `totals`
    work: Workspace,  # node, edge, edge_to, lists and oracle (the places of the gold labels) out
    totals: Doubles,
) -> None:
    """Score the nodes and edges of a sentence that are worth looking at."""
    node, lists, place, full = work.node, work.lists, work.place, work.full
    bans = weights.bans
    L = bans.shape[1]
    K = node.shape[1]
    for t in range(T):
        token = first + t
        few = lists[t]
        count = seen_labels(token, samples, weights.lists, few)
        if count > 0:
            for j in range(count):
                place[few[j]] = j
            score_few(token, samples, weights.features, scale, few, count, place, node[t])
            for j in range(count):
                place[few[j]] = -1
        else:
            score_token_all(token, samples, weights, scale, full)
            count = best_labels(full, weights.lists.order, t == 0, t == T - 1, bans, few)
            for j in range(count):
                node[t, j] = full[few[j]]
        if learning:
            gold = samples.gold[token]
            at = -1
            for j in range(count):
                if few[j] == gold:
                    at = j
            totals[LOOKED] += count
            if at < 0:
                totals[LOST] += 1
                at = min(count, K - 1)  # in the place of the worst, where there is no room
                count = at + 1
                few[at] = gold
                place[gold] = 0
                score_few(token, samples, weights.features, scale, few[at:count], 1, place, node[t, at:count])
                place[gold] = -1
            work.oracle[t] = at
        work.counts[t] = count
        for j in range(count):
            if t == 0:
                node[t, j] += bans[L, few[j]]
            if t == T - 1:
                node[t, j] += bans[L + 1, few[j]]
        for j in range(count, K):
            few[j] = 0
            node[t, j] = -np.inf
    short_edges(first, T, samples, weights, scale, work)


@kernel
def score_token_all(token: int, samples: Samples, weights: TaggingWeights, scale: float, full: Floats) -> None:
    """Score all labels of a token."""
    if len(weights.features.head) > 0:
        score_token(token, samples, weights.features, scale, full)
        return
    rows, values, dense = samples.rows, samples.values, weights.features.dense
    weighted = len(values) > 0
    for y in range(len(full)):
        full[y] = 0.0
    for i in range(samples.row_offsets[token], samples.row_offsets[token + 1]):
        value = values[i] if weighted else np.float32(1.0)
        for y in range(len(full)):
            full[y] += value * dense[rows[i], y]
    if scale != 1.0:
        for y in range(len(full)):
            full[y] *= scale


@kernel
def seen_labels(token: int, samples: Samples, lists: Lists, few: Ints) -> int:
    """Write the labels that a frequent word was seen with; return how many, 0 where the word is not frequent."""
    if len(samples.words) == 0:
        return 0
    word = samples.words[token]
    if word < 0 or word + 1 >= len(lists.offsets):
        return 0
    begin, end = lists.offsets[word], lists.offsets[word + 1]
    if end - begin > len(few):
        return 0
    for k in range(begin, end):
        few[k - begin] = lists.labels[k]
    return int(end - begin)


@kernel
def best_labels(scores: Floats, order: Ints, begins: bool, ends: bool, bans: Floats, few: Ints) -> int:
    """Write the labels with the best scores, best first; of equal ones the more frequent. Return how many."""
    L = len(scores)
    K = len(few)
    count = 0
    for i in range(L):
        y = order[i]
        if (begins and bans[L, y] == -np.inf) or (ends and bans[L + 1, y] == -np.inf):  # a bias may be below 0
            continue
        value = scores[y]
        if count == K and not value > scores[few[K - 1]]:
            continue
        at = count if count < K else K - 1
        while at > 0 and scores[few[at - 1]] < value:
            few[at] = few[at - 1]
            at -= 1
        few[at] = y
        count = min(count + 1, K)
    return count


@kernel
def short_edges(first: int, T: int, samples: Samples, weights: TaggingWeights, scale: float, work: Workspace) -> None:
    """Score the steps between the labels that are left."""
    # edge[t,i,j] = scale * (edges[p,y] + edge features) + bans[p,y] with p = lists[t-1,i] and y = lists[t,j]
    edge, edge_to, lists, place = work.edge, work.edge_to, work.lists, work.place
    edges, bans = weights.edges, weights.bans
    K = lists.shape[1]
    L = edges.shape[0]
    with_pairs = len(samples.edge_row_offsets) > 1
    for t in range(1, T):
        for i in range(K):
            p = lists[t - 1, i]
            for j in range(K):
                y = lists[t, j]
                edge[t, i, j] = scale * edges[p, y] + bans[p, y]
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
        for i in range(K):
            for j in range(K):
                edge_to[t, j, i] = edge[t, i, j]


@kernel
def to_labels(T: int, found: int, work: Workspace) -> None:
    """Turn the oracle and the paths from places in the lists into labels."""
    for t in range(T):
        work.oracle[t] = work.lists[t, work.oracle[t]]
        for k in range(found):
            work.paths[k, t] = work.lists[t, work.paths[k, t]]
