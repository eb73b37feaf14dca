"""Sum over all taggings of many sentences at once, and search batches of padded lattices for networks.

The same as `tag_corpus` and `distribution` for each sentence, but several times as fast where the sentences are short.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.features.layout import longest_sentence
from sapo.jit import call_interruptibly, kernel
from sapo.jit.arrays import Bools, Doubles, Floats, Ints, Longs
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import (
    Parameters,
    fill_edges,
    fill_nodes,
    make_lattice,
    path_score,
)
from sapo.search.marginals import (
    SLOW,
    SpanReading,
    WantedSpans,
    distribution,
    forward_backward,
    forward_backward_logs,
    span_probabilities,
)
from sapo.search.topn import find_top_n
from sapo.search.viterbi import best_path, best_scores
from sapo.search.weights import TaggingWeights
from sapo.tags.spans import Span, Spans


class Lattices(NamedTuple):
    """The scores of many sentences, divided by the temperature, and their sums as forward_backward_logs gives them."""

    node: Floats  # [tokens, labels]
    edge: Floats  # [1, labels, labels] for all steps
    alpha: Doubles  # [tokens, labels]
    beta: Doubles  # [tokens, labels]
    marginal: Doubles  # [tokens, labels]


@kernel
def sum_sentences(
    samples: Samples,  # without edge features: all steps share their edges
    weights: TaggingWeights,
    temperature: float,
    tags: Ints,  # [tokens] out: the best tagging
    lattices: Lattices,  # out
    log_best: Doubles,  # [sentences] out: log P(the best tagging)
) -> None:
    """Search and sum, sentence by sentence."""
    node, edge, alpha, beta, marginal = lattices
    offsets = samples.offsets
    L = weights.edges.shape[0]
    longest = longest_sentence(offsets)
    hot = np.float32(temperature)
    whole = np.empty((1, L, L), np.float32)
    turned = np.empty((1, L, L), np.float32)
    fill_edges(0, 1, samples, weights, 1.0, whole, turned)
    for p in range(L):
        for y in range(L):
            edge[0, p, y] = whole[0, p, y] / hot
    best = np.empty((longest, L), np.float32)
    row = np.empty(L, np.float32)
    pairs = np.empty((1, L, L), np.float64)
    for sentence in range(len(offsets) - 1):
        first = offsets[sentence]
        last = offsets[sentence + 1]
        T = last - first
        log_best[sentence] = 0.0
        if T == 0:
            continue
        scores = node[first:last]
        path = tags[first:last]
        fill_nodes(first, T, samples, weights, 1.0, scores)
        best_scores(scores, whole, T, best, row)
        best_path(best, turned, T, path)
        for t in range(T):
            for y in range(L):
                scores[t, y] = scores[t, y] / hot
        arrays = alpha[first:last], beta[first:last], marginal[first:last]
        log_z = forward_backward_logs(scores, edge, T, *arrays, pairs)
        if log_z == -np.inf:
            marginal[first:last] = 0.0
            log_best[sentence] = -np.inf
        else:
            log_best[sentence] = min(path_score(scores, edge, path, T) - log_z, 0.0)


@kernel
def sum_spans(
    offsets: Longs,  # [sentences + 1]
    lattices: Lattices,  # as sum_sentences gives them
    types: Ints,  # [labels]
    joined: Bools,  # [labels, labels]
    span_offsets: Longs,  # [sentences + 1] which spans each sentence has
    spans: WantedSpans,  # places of tokens in their sentence
    probabilities: Doubles,  # [spans] out
) -> None:
    """The probabilities of spans of many sentences."""
    node, edge, alpha, beta, marginal = lattices
    for sentence in range(len(offsets) - 1):
        first = offsets[sentence]
        last = offsets[sentence + 1]
        begin = span_offsets[sentence]
        end = span_offsets[sentence + 1]
        own = WantedSpans(spans.starts[begin:end], spans.ends[begin:end], spans.types[begin:end])
        span_probabilities(
            node[first:last],
            edge,
            alpha[first:last],
            beta[first:last],
            marginal[first:last],
            types,
            joined,
            own,
            probabilities[begin:end],
        )


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of each sentence: the best tagging, and the probabilities of labels."""

    corpus: EncodedCorpus
    parameters: Parameters
    temperature: float
    tags: Ints  # [tokens] of the best tagging
    marginal: Doubles  # [tokens, labels] P(the token has the label)
    log_best: Doubles  # [sentences] log P(the best tagging)
    lattices: Lattices | None  # if all are summed at once

    def span_probabilities(self, reading: SpanReading, spans: Spans, names: tuple[str, ...]) -> Doubles:
        """Return the probability of each span; its type is a place in `names`."""
        offsets = self.corpus.offsets
        found = np.zeros(len(spans.starts))
        owners = np.searchsorted(offsets, spans.starts, side="right") - 1
        starts, ends = spans.starts - offsets[owners], spans.ends - offsets[owners]
        if self.lattices is None:
            for sentence in np.unique(owners).tolist():
                places = np.flatnonzero(owners == sentence)
                wanted = [Span(int(starts[i]), int(ends[i]), names[spans.types[i]]) for i in places]
                lattice = make_lattice(self.corpus, sentence, self.parameters).tempered(self.temperature)
                found[places] = distribution(lattice).span_probabilities(reading, wanted)
            return found
        there = self.log_best[owners] > -math.inf
        numbers = np.array([reading.number_of(name) if name else 0 for name in names], np.int32)
        shares = np.zeros(int(there.sum()))
        call_interruptibly(
            sum_spans,
            offsets,
            self.lattices,
            reading.types,
            reading.joined,
            np.searchsorted(owners[there], np.arange(len(offsets))),
            WantedSpans(starts[there].astype(np.int32), ends[there].astype(np.int32), numbers[spans.types[there]]),
            shares,
            steps=SLOW * self.corpus.tokens * self.parameters.labels**2,
        )
        found[there] = shares
        return found


def sum_corpus(corpus: EncodedCorpus, parameters: Parameters, temperature: float = 1.0) -> Sums:
    """Find the best tagging of each sentence, and sum over all taggings."""
    many_labels = bool(parameters.lists.most)
    if many_labels or len(corpus.edge_row_offsets) > 1 or len(corpus.token_bans):
        return _one_by_one(corpus, parameters, temperature)
    parameters.check_knows(corpus.rows, corpus.edge_rows)
    T, L = corpus.tokens, parameters.labels
    tags, log_best = np.zeros(T, np.int32), np.zeros(corpus.sentences)
    node, edge = np.empty((T, L), np.float32), np.empty((1, L, L), np.float32)
    alpha, beta, marginal = (np.empty((T, L)) for _ in range(3))
    lattices = Lattices(node, edge, alpha, beta, marginal)
    arrays = corpus.samples, parameters.arrays, temperature, tags, lattices, log_best
    call_interruptibly(sum_sentences, *arrays, steps=SLOW * T * L * L)
    return Sums(corpus, parameters, temperature, tags, marginal, log_best, lattices)


def _one_by_one(corpus: EncodedCorpus, parameters: Parameters, temperature: float) -> Sums:
    tags = tag_corpus(corpus, parameters)
    marginal, log_best = np.empty((corpus.tokens, parameters.labels)), np.zeros(corpus.sentences)
    for sentence in range(corpus.sentences):
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        whole = distribution(make_lattice(corpus, sentence, parameters, exact=False).tempered(temperature))
        marginal[first:last] = whole.marginal
        log_best[sentence] = min(whole.lattice.path_score(tags[first:last]) - whole.log_z, 0.0)
        if math.isnan(log_best[sentence]):  # all is forbidden
            log_best[sentence] = -math.inf
    return Sums(corpus, parameters, temperature, tags, marginal, log_best, None)


@kernel
def top_n_batch(
    nodes: Floats,  # [B, T, L] padded behind each sentence
    edge: Floats,  # [1, L, L]
    edge_to: Floats,  # [1, L, L] edge_to[0, y, p] = edge[0, p, y]
    lengths: Longs,  # [B]
    n: int,
    paths: Longs,  # [B, n, T] out; what is not found, and what is padding, is left as it is
    found: Ints,  # [B] out
) -> None:
    """All sentences share the edges. A sentence without tokens has one tagging, the empty one."""
    B, T, L = nodes.shape
    best = np.empty((T, L), np.float32)
    row = np.empty(L, np.float32)
    mine = np.empty((n, T), np.int32)
    scores: Doubles = np.empty(n, np.float64)
    for b in range(B):
        length = lengths[b]
        found[b] = 1
        if length > 0:
            best_scores(nodes[b], edge, length, best, row)
            found[b] = find_top_n(best, edge_to, length, n, np.inf, mine, scores, row)
            for k in range(found[b]):
                for t in range(length):
                    paths[b, k, t] = mine[k, t]


@kernel
def normalize_batch(
    nodes: Floats,  # [B, T, L] padded behind each sentence
    edge: Floats,  # [1, L, L]
    lengths: Longs,  # [B]
    log_z: Doubles,  # [B] out: the log of the sum of exp(score) over all taggings
    marginals: Floats,  # [B, T, L] out: P(y_t = y | x); what is padding is left as it is
    pairs: Floats,  # [B, L, L] out: the expected number of each pair of labels
) -> None:
    """All sentences share the edges. A sentence without tokens has one tagging, with a score of 0."""
    B, T, L = nodes.shape
    alpha = np.empty((T, L), np.float64)
    beta = np.empty((T, L), np.float64)
    marginal = np.empty((T, L), np.float64)
    expected = np.empty((1, L, L), np.float64)
    for b in range(B):
        length = lengths[b]
        log_z[b] = 0.0
        if length > 0:
            log_z[b] = forward_backward(nodes[b], edge, length, alpha, beta, marginal, expected)
        if length > 0 and log_z[b] > -np.inf:
            marginals[b, :length] = marginal[:length]
            pairs[b] = expected[0]
