"""Tag many sentences at once: the one place that decodes."""

import numpy as np

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.features.layout import longest_sentence
from sapo.jit import call_interruptibly, kernel
from sapo.jit.arrays import Ints
from sapo.search.lattice import (
    BEST,
    BY_RANK,
    Parameters,
    fill_edges,
    fill_lattice,
    fill_nodes,
    fill_short,
    make_lattice,
    make_workspace,
    stages_of,
)
from sapo.search.topn import viterbi
from sapo.search.viterbi import best_path, best_scores
from sapo.search.weights import TaggingWeights


@kernel
def tag_sentences(samples: Samples, weights: TaggingWeights, tags: Ints) -> None:
    """Write the best tagging of each sentence to tags[tokens]."""
    if tag_short(samples, weights, weights.lists.most, tags):
        return
    offsets = samples.offsets
    L = weights.edges.shape[0]
    longest = longest_sentence(offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    edge = np.empty((stages, L, L), np.float32)
    edge_to = np.empty((stages, L, L), np.float32)
    if stages == 1:  # all sentences share them
        fill_edges(0, 1, samples, weights, 1.0, edge, edge_to)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    row = np.empty(L, np.float32)
    for sentence in range(len(offsets) - 1):
        first = offsets[sentence]
        last = offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        if stages == 1:
            fill_nodes(first, T, samples, weights, 1.0, node)
        else:
            fill_lattice(first, T, samples, weights, 1.0, node, edge, edge_to)
        best_scores(node, edge, T, best, row)
        best_path(best, edge_to, T, tags[first:last])


@kernel
def tag_short(samples: Samples, weights: TaggingWeights, most: int | None, tags: Ints) -> bool:
    """The same with at most `most` labels a token, and True; do nothing where `most` is None.

    Where all that is left is forbidden, all labels are looked at.
    """
    if most is None:
        return False
    offsets = samples.offsets
    L = weights.edges.shape[0]
    longest = longest_sentence(offsets)
    work = make_workspace(longest, L, longest, 1, most)
    whole = make_workspace(1, 1, 1, 1, 0)
    totals = np.zeros(BY_RANK)
    for sentence in range(len(offsets) - 1):
        first = offsets[sentence]
        T = offsets[sentence + 1] - first
        if T == 0:
            continue
        fill_short(first, T, samples, weights, 1.0, BEST, work, totals)
        best_scores(work.node, work.edge, T, work.best, work.row)
        best_path(work.best, work.edge_to, T, work.paths[0])
        if work.best[T - 1, work.paths[0, T - 1]] > -np.inf:
            for t in range(T):
                tags[first + t] = work.lists[t, work.paths[0, t]]
            continue
        if whole.node.shape[1] < L:
            whole = make_workspace(longest, L, stages_of(samples.edge_row_offsets, longest), 1, 0)
        fill_lattice(first, T, samples, weights, 1.0, whole.node, whole.edge, whole.edge_to)
        best_scores(whole.node, whole.edge, T, whole.best, whole.row)
        best_path(whole.best, whole.edge_to, T, tags[first : first + T])
    return True


def tag_corpus(corpus: EncodedCorpus, parameters: Parameters) -> Ints:
    """The best label of every token."""
    parameters.check_knows(corpus.rows, corpus.edge_rows)
    tags = np.zeros(corpus.tokens, np.int32)
    steps = corpus.tokens * (parameters.lists.most or parameters.labels) ** 2
    call_interruptibly(tag_sentences, corpus.samples, parameters.arrays, tags, steps=steps)
    if len(corpus.token_bans):
        _tag_again(corpus, parameters, tags)
    return tags


def _tag_again(corpus: EncodedCorpus, parameters: Parameters, tags: Ints) -> None:
    """The sentences where something is forbidden to some tokens."""
    bound = np.append(0, np.cumsum((corpus.token_bans < 0).any(axis=1)))
    for sentence in np.flatnonzero(bound[corpus.offsets[1:]] > bound[corpus.offsets[:-1]]).tolist():
        first, last = corpus.offsets[sentence : sentence + 2]
        tags[first:last] = viterbi(make_lattice(corpus, sentence, parameters)).paths[0]
