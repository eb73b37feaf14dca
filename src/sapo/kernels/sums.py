"""Sentences and weights in, the best tagging of each and the sums over all taggings out, for many sentences at once."""

from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.features import longest_sentence
from sapo.kernels.forward import forward_backward_logs
from sapo.kernels.score import fill_edges, fill_nodes, path_score
from sapo.kernels.spans import Spans, span_probabilities
from sapo.kernels.types import Bools, Doubles, Floats, Ints, Longs, Samples, TaggingWeights
from sapo.kernels.viterbi import best_path, best_scores


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
    spans: Spans,  # places of tokens in their sentence
    probabilities: Doubles,  # [spans] out
) -> None:
    """The probabilities of spans of many sentences."""
    node, edge, alpha, beta, marginal = lattices
    for sentence in range(len(offsets) - 1):
        first = offsets[sentence]
        last = offsets[sentence + 1]
        begin = span_offsets[sentence]
        end = span_offsets[sentence + 1]
        own = Spans(spans.starts[begin:end], spans.ends[begin:end], spans.types[begin:end])
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
