"""Sentences and weights in, the best tag of every token out."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.features import longest_sentence
from sapo.kernels.score import fill_edges, fill_lattice, fill_nodes
from sapo.kernels.short import BEST, fill_short
from sapo.kernels.types import Ints, Samples, TaggingWeights
from sapo.kernels.update import BY_RANK
from sapo.kernels.viterbi import best_path, best_scores
from sapo.kernels.workspace import make_workspace, stages_of


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
