"""Score one sentence: a node for each token and label, an edge for each pair of labels.

Edges come as edge[stages, p, y]. With one stage all steps of a sentence share it; otherwise edge[t] belongs to the step
into token t, as edge features make it, and edge[0] to nothing. edge_to[s, y, p] is the same, turned.

A first look without transitions leaves at most K labels a token: those that a frequent word was seen with, or the best
by the scores of the token's features. The lattice then has K nodes a token, and a stage of K x K edges for each step,
which every search takes as it is: node y of token t is the label lists[t, y]. Nodes that are left over score minus
infinity. While learning, the gold label is never left out.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sapo.errors import ModelError
from sapo.features.encoded import EncodedCorpus, Pairs, Samples
from sapo.jit import call_interruptibly, in_numpy, kernel
from sapo.jit.arrays import Bools, Doubles, Floats, Ints, Longs, Reals
from sapo.search.viterbi import best_scores
from sapo.search.weights import FeatureRows, Lists, TaggingWeights, score_features, score_few

# What a run reports, by index into `totals`; from BY_RANK on, the probability of the k-th candidate.
LOSS, UPDATES, CANDIDATES, TOKENS, CORRECT, UPDATED_SAMPLES, LOOKED, LOST, SEARCHED, BY_RANK = range(10)


@kernel
def find_pair(e: int, code: int, pair_offsets: Longs, pair_codes: Ints) -> int:
    """The entry of a pair of labels of an edge feature, or -1."""
    low = pair_offsets[e]
    end = pair_offsets[e + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if pair_codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < end and pair_codes[low] == code else -1


class Workspace(NamedTuple):
    """Room for the lattice of the longest sentence, and for what is found there."""

    node: Floats  # [longest, K] K is L, or fewer where lists are short
    edge: Floats  # [stages, K, K]
    edge_to: Floats  # [stages, K, K] edge_to[t, y, p] = edge[t, p, y]
    best: Floats  # [longest, K]
    row: Floats  # [L]
    oracle: Ints  # [longest]
    paths: Ints  # [n, longest]
    scores: Doubles  # [n] of the paths, best first
    coefficients: Doubles  # [n] of the paths in an update
    lists: Ints  # [longest, K] the labels of each token's nodes, where lists are short
    counts: Ints  # [longest] how many labels each token has there
    place: Ints  # [L] -1 everywhere, between uses
    full: Floats  # [1, L] the scores of one token
    begins: Ints  # [longest] which nodes are to be scored
    changing: Ints  # [longest, n + 1] the labels of each token that an update changes
    sizes: Ints  # [longest] how many they are
    changes: Floats  # [longest, n + 1] by what they change


@kernel
def make_workspace(longest: int, L: int, stages: int, n: int, most: int) -> Workspace:
    """Return arrays for sentences of up to `longest` tokens and n candidates; with `most` lists are short."""
    K = min(most, L) if most > 0 else L
    if most > 0:
        stages = longest
    edge = np.empty((stages, K, K), np.float32)
    edge_to = np.empty((stages, K, K), np.float32)
    if most > 0:  # some are never written, and must be numbers
        edge[:] = 0.0
        edge_to[:] = 0.0
    place = np.empty(L, np.int32)
    for y in range(L):
        place[y] = -1
    return Workspace(
        np.empty((longest, K), np.float32),
        edge,
        edge_to,
        np.empty((longest, K), np.float32),
        np.empty(L, np.float32),
        np.empty(longest, np.int32),
        np.empty((n, longest), np.int32),
        np.empty(n, np.float64),
        np.empty(n, np.float64),
        np.empty((longest if most > 0 else 0, K), np.int32),
        np.empty(longest, np.int32),
        place,
        np.empty((1, L), np.float32),
        np.empty(longest, np.int32),
        np.empty((longest, n + 1), np.int32),
        np.zeros(longest, np.int32),
        np.empty((longest, n + 1), np.float32),
    )


@kernel
def stages_of(edge_row_offsets: Longs, longest: int) -> int:
    """Return how many stages the edges need: one, unless there are edge features."""
    return longest if len(edge_row_offsets) > 1 else 1


@kernel
def fill_lattice(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    node: Floats,  # [T, labels] out
    edge: Floats,  # [stages, labels, labels] out
    edge_to: Floats,  # [stages, labels, labels] out: the same, turned; [0, labels, labels] if unused
) -> None:
    """Score all nodes and edges of a sentence."""
    fill_nodes(first, T, samples, weights, scale, node)
    fill_edges(first, T, samples, weights, scale, edge, edge_to)


@kernel
def fill_nodes(
    first: int,
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    node: Floats,  # [T, labels] out
) -> None:
    """Score the nodes: minus infinity for labels that may not begin or end a sentence."""
    score_features(first, T, samples, weights.features, scale, node)
    bans = weights.bans
    L = node.shape[1]
    if T > 0 and begins_sentence(first, samples.cuts):
        for y in range(L):
            node[0, y] += bans[L, y]
    if T > 0 and ends_sentence(first + T, samples.cuts):
        for y in range(L):
            node[T - 1, y] += bans[L + 1, y]


@kernel
def begins_sentence(token: int, cuts: Bools) -> bool:
    """Return whether a sample that begins with this token begins a sentence; otherwise it is a later piece of one."""
    return len(cuts) == 0 or not cuts[token]


@kernel
def ends_sentence(token: int, cuts: Bools) -> bool:
    """Return whether a sample that ends before this token ends a sentence."""
    return len(cuts) == 0 or token == len(cuts) or not cuts[token]


def _fill_edges(
    first: int, T: int, samples: Samples, weights: TaggingWeights, scale: float, edge: Floats, edge_to: Floats
) -> None:
    L = weights.edges.shape[0]
    steps = slice(0, 1) if edge.shape[0] == 1 else slice(1, T)
    edge[steps] = np.float32(scale) * weights.edges + weights.bans[:L]
    if edge.shape[0] > 1 and len(samples.edge_row_offsets) > 1:
        for t in range(1, T):
            for e in samples.edge_rows[samples.edge_row_offsets[first + t] : samples.edge_row_offsets[first + t + 1]]:
                own = slice(weights.pair_offsets[e], weights.pair_offsets[e + 1])
                edge[t].reshape(L * L)[weights.pair_codes[own]] += np.float32(scale) * weights.pairs[own, 0]
    if edge_to.shape[0] > 0:
        edge_to[steps] = edge[steps].transpose(0, 2, 1)


@kernel
@in_numpy(_fill_edges)
def fill_edges(
    first: int,
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    edge: Floats,  # [stages, labels, labels] out
    edge_to: Floats,  # [stages, labels, labels] out, or [0, labels, labels]
) -> None:
    """Score the edges. With one stage they are the same for every sentence."""
    # edge[t,p,y] = scale * (edges[p,y] + sum over the edge features e of token t of pairs[e,(p,y)]) + bans[p,y]
    edges, bans = weights.edges, weights.bans
    pairs, pair_offsets, pair_codes = weights.pairs, weights.pair_offsets, weights.pair_codes
    edge_row_offsets, edge_rows = samples.edge_row_offsets, samples.edge_rows
    L = edges.shape[0]
    turned = edge_to.shape[0] > 0
    if edge.shape[0] == 1:
        factor = np.float32(scale)  # in single precision, eight labels at a time: this is done for every sample
        for p in range(L):
            for y in range(L):
                edge[0, p, y] = factor * edges[p, y] + bans[p, y]
        if turned:
            for y in range(L):
                for p in range(L):
                    edge_to[0, y, p] = edge[0, p, y]
        return
    for t in range(1, T):
        for p in range(L):
            for y in range(L):
                edge[t, p, y] = scale * edges[p, y] + bans[p, y]
        if len(edge_row_offsets) > 1:
            for i in range(edge_row_offsets[first + t], edge_row_offsets[first + t + 1]):
                e = edge_rows[i]
                for k in range(pair_offsets[e], pair_offsets[e + 1]):
                    code = pair_codes[k]
                    edge[t, code // L, code % L] += scale * pairs[k, 0]
        if turned:
            for p in range(L):
                for y in range(L):
                    edge_to[t, y, p] = edge[t, p, y]


@kernel
def path_score(node: Reals, edge: Reals, path: Ints, T: int) -> float:
    """Sum of a tagging's nodes and edges, in double precision."""
    total = 0.0
    for t in range(T):
        total += float(node[t, path[t]])
        if t > 0:
            total += float(edge[t if edge.shape[0] > 1 else 0, path[t - 1], path[t]])
    return total


# What a lattice is filled for: all its scores count; only which tagging is the best; or to learn, with the gold labels.
SCORES, BEST, LEARNING = 0, 1, 2


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
    begin = begins_sentence(first, samples.cuts)
    end = ends_sentence(first + T, samples.cuts)
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
        reach(t, begin, weights, scale, work)
        if counts[t] == 0:
            score_features(first + t, 1, samples, weights.features, scale, work.full)
            last = end and t == T - 1
            counts[t] = best_labels(work.full, work.row, weights.lists.order, last, bans, lists, t)
            if counts[t] == 0:  # what can be reached may not end a sentence
                work.row[:] = 0.0
                counts[t] = best_labels(work.full, work.row, weights.lists.order, last, bans, lists, t)
            for j in range(counts[t]):
                node[t, j] = work.full[0, lists[t, j]]
        for j in range(counts[t]):
            work.best[t, j] = node[t, j] + work.row[lists[t, j]]
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
                if begin and t == 0:
                    node[t, j] += bans[L, lists[t, j]]
                if end and t == T - 1:
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
def reach(t: int, begin: bool, weights: TaggingWeights, scale: float, work: Workspace) -> None:
    """Write to `row` how well each label can be reached from the labels that are left of the token before.

    Scores of tokens alone say too little: that I-X is likely after B-X is in the weight of the step. Without it a list
    often lacks the label that must follow in a span.
    """
    # row[y] = max over p in lists[t-1] of best[t-1,p] + scale * edges[p,y] + bans[p,y], less the largest of them
    row, edges, bans = work.row, weights.edges, weights.bans
    L = len(row)
    if t == 0:
        for y in range(L):
            row[y] = bans[L, y] if begin else 0.0
        return
    for y in range(L):
        row[y] = -np.inf
    for i in range(work.counts[t - 1]):
        p, before = work.lists[t - 1, i], work.best[t - 1, i]
        for y in range(L):
            row[y] = max(row[y], before + scale * edges[p, y] + bans[p, y])
    largest = row.max()
    for y in range(L):  # where nothing can follow, all labels are as good
        row[y] = row[y] - largest if largest > -np.inf else 0.0


@kernel
def best_labels(scores: Floats, reached: Floats, order: Ints, ends: bool, bans: Floats, lists: Ints, t: int) -> int:
    """Write the labels with the best scores[0] + reached to lists[t], best first; of equal ones the more frequent."""
    L = scores.shape[1]
    K = lists.shape[1]
    count = 0
    worst = np.float32(-np.inf)
    for i in range(L):
        y = order[i]
        value = scores[0, y] + reached[y]
        if count == K and not value > worst:
            continue
        if reached[y] == -np.inf or (ends and bans[L + 1, y] == -np.inf):  # a bias may be below 0
            continue
        at = count if count < K else K - 1
        while at > 0 and scores[0, lists[t, at - 1]] + reached[lists[t, at - 1]] < value:
            lists[t, at] = lists[t, at - 1]
            at -= 1
        lists[t, at] = y
        count = min(count + 1, K)
        worst = scores[0, lists[t, count - 1]] + reached[lists[t, count - 1]]
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


ALL_LABELS = Lists(None, np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint16))


@dataclass(frozen=True, slots=True)
class Parameters:
    """Learned weights in the form that tagging needs."""

    rows: FeatureRows
    edges: Floats  # [labels, labels] edges[p, y]: y after p
    pairs: Pairs  # which pairs of labels edge features weigh
    pair_weights: Floats  # [entries, 1]
    bans: Floats  # [labels + 2, labels] 0 or minus infinity: y after p; then y at the start; then y at the end
    lists: Lists = ALL_LABELS  # how many labels of a token are worth looking at

    @classmethod
    def plain(cls, features: Floats, edges: Floats) -> "Parameters":
        """Return parameters of a matrix [features, labels], without edge features, and with nothing forbidden."""
        rows = FeatureRows.of_matrix(features)
        return cls(rows, edges, Pairs.none(), np.empty((0, 1), np.float32), no_bans(features.shape[1]))

    @property
    def features(self) -> Floats:
        """The weights of features as a matrix [features, labels]; a copy if they are not stored as one."""
        return self.rows.matrix()

    @property
    def labels(self) -> int:
        return len(self.edges)

    @property
    def blocks(self) -> tuple[Floats, Floats, Floats]:
        """All weights as matrices: of features, of pairs of labels, of edge features."""
        return self.features, self.edges, self.pair_weights

    @property
    def size(self) -> int:
        """The number of weights, including those that are 0."""
        return self.rows.features * self.labels + self.edges.size + self.pair_weights.size

    @property
    def nonzero(self) -> int:
        """The number of weights that are not 0."""
        others = sum(int(np.count_nonzero(block)) for block in (self.edges, self.pair_weights))
        return self.rows.nonzero + others

    @property
    def arrays(self) -> TaggingWeights:
        """The weights in the form that kernels take."""
        pairs = self.pairs
        rows, lists, bound = self.rows.arrays, self.lists, bool(self.lists.most and self.bans.any())
        return TaggingWeights(rows, self.edges, self.pair_weights, pairs.offsets, pairs.codes, self.bans, lists, bound)

    def check_knows(self, rows: Ints, edge_rows: Ints) -> None:
        """Raise an error if the encoder has grown and has features without weights: kernels do not check."""
        if rows.max(initial=-1) >= self.rows.features or edge_rows.max(initial=-1) >= len(self.pairs.offsets) - 1:
            raise ModelError(
                "the features have changed since these weights were read; get the model again, or use a snapshot"
            )


def with_bias(parameters: Parameters, bias: Floats) -> Parameters:
    """Return the same weights with bias[y] added to the score of every node of label y.

    One edge enters each token except the first, and the start enters the first. The bias is added to these, so all
    code that handles forbidden edges handles biases, too.
    """
    bans = parameters.bans.copy()
    bans[:-1] += bias
    return replace(parameters, bans=bans)


def no_bans(labels: int) -> Floats:
    return np.zeros((labels + 2, labels), np.float32)


@dataclass(frozen=True, slots=True)
class Lattice:
    """The scores of one sentence. A tagging scores the sum of its nodes and edges; minus infinity forbids one.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> lattice.path_score([0, 1])
    2.0
    """

    node: Floats  # [tokens, labels]
    edge: Floats  # [labels, labels] edge[p, y]: y after p; or [tokens, labels, labels] where steps differ
    lists: Ints | None = None  # [tokens, nodes] the label of each node, where few are worth looking at
    whole: int = 0  # then: how many labels there are

    @property
    def tokens(self) -> int:
        return len(self.node)

    @property
    def labels(self) -> int:
        """The number of labels; a token may have fewer nodes."""
        return self.whole or int(self.node.shape[1])

    def to_labels(self, paths: Ints) -> Ints:
        """Return paths [n, tokens] of nodes as labels."""
        return paths if self.lists is None else self.lists[np.arange(self.tokens), paths]

    @property
    def steps(self) -> Floats:
        """The edges in the form that kernels take: one stage for all steps, or one for each token."""
        return self.edge if self.edge.ndim == 3 else self.edge[np.newaxis]

    @property
    def steps_to(self) -> Floats:
        """The same, transposed: [stage, y, p]."""
        return np.ascontiguousarray(self.steps.transpose(0, 2, 1))

    def path_score(self, path: "Ints | list[int]") -> float:
        nodes = np.asarray(path, np.int32)
        if self.lists is not None:
            there = (self.lists == nodes[:, np.newaxis]) & (self.node > -np.inf)
            if not there.any(axis=1).all():
                return -np.inf
            nodes = there.argmax(axis=1).astype(np.int32)
        return float(path_score(self.node, self.steps, nodes, len(path)))

    def tempered(self, temperature: float) -> "Lattice":
        """Return the lattice with all scores divided by the temperature. The order of taggings stays the same."""
        if temperature == 1.0:
            return self
        # what is next to minus infinity may become it, and the step into the first token is never written
        with np.errstate(over="ignore", invalid="ignore"):
            return replace(self, node=self.node / temperature, edge=self.edge / temperature)


def make_lattice(corpus: EncodedCorpus, sentence: int, parameters: Parameters, *, exact: bool = True) -> Lattice:
    """Return the lattice of one sentence of a corpus under these weights.

    With many labels, and unless `exact`, a token has nodes only for the labels that score best.
    """
    if not exact and parameters.lists.most and not len(corpus.token_bans):
        lattice = _short_lattice(corpus, sentence, parameters)
        if lattice is not None:
            return lattice
    first, last = int(corpus.offsets[sentence]), int(corpus.offsets[sentence + 1])
    T, L = last - first, parameters.labels
    rows = corpus.rows[corpus.row_offsets[first] : corpus.row_offsets[last]]
    parameters.check_knows(rows, _edge_rows(corpus, first, last))
    node = np.empty((T, L), np.float32)
    edge = np.empty((stages_of(corpus.edge_row_offsets, max(T, 1)), L, L), np.float32)
    fill_lattice(first, T, corpus.samples, parameters.arrays, 1.0, node, edge, edge[:0])
    if len(corpus.token_bans):
        node += corpus.token_bans[first:last]
    return Lattice(node, edge)


def _short_lattice(corpus: EncodedCorpus, sentence: int, parameters: Parameters) -> Lattice | None:
    """Return the lattice with few labels a token; None where all that is left is forbidden."""
    first, last = int(corpus.offsets[sentence]), int(corpus.offsets[sentence + 1])
    T = last - first
    rows = corpus.rows[corpus.row_offsets[first] : corpus.row_offsets[last]]
    parameters.check_knows(rows, _edge_rows(corpus, first, last))
    few = parameters.lists.most or 0
    work = call_interruptibly(make_workspace, max(T, 1), parameters.labels, max(T, 1), 1, few, steps=T * few**2)
    totals = np.zeros(BY_RANK)
    fill_short(first, T, corpus.samples, parameters.arrays, 1.0, SCORES, work, totals)
    if T:
        work.edge[0] = 0.0
        best_scores(work.node, work.edge, T, work.best, work.row)
        if not (work.best[T - 1] > -np.inf).any():
            return None
    return Lattice(work.node[:T], work.edge[: max(T, 1)], work.lists[:T], parameters.labels)


def _edge_rows(corpus: EncodedCorpus, first: int, last: int) -> Ints:
    """The edge features of these tokens."""
    offsets = corpus.edge_row_offsets
    return corpus.edge_rows[offsets[first] : offsets[last]] if len(offsets) > 1 else corpus.edge_rows
