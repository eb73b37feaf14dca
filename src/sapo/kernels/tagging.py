"""Sentences and weights in, the best tag of every token out."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.features import longest_sentence
from sapo.kernels.score import fill_edges, fill_lattice, fill_nodes
from sapo.kernels.types import Ints, Samples, TaggingWeights
from sapo.kernels.viterbi import best_path, best_scores
from sapo.kernels.workspace import stages_of


@kernel
def tag_sentences(samples: Samples, weights: TaggingWeights, tags: Ints) -> None:
    """Write the best tagging of each sentence to tags[tokens]."""
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
