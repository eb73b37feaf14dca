"""Lattice in, the best score of every node and the best tagging out."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.features import longest_sentence
from sapo.kernels.score import ban_ends, score_edges, score_nodes, stages_of
from sapo.kernels.types import Floats, Ints, Longs


@kernel
def best_scores(
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    T: int,
    best: Floats,  # [T, L] out
    row: Floats,  # [L] work
) -> float:
    """Score of the best tagging of the first t + 1 tokens that ends in y, for every t < T and y.

    Now and then a constant is taken off a whole row, so that a long sentence does not outgrow single precision.
    Return the sum of these constants: the score of a tagging is its score in `best` plus this.
    """
    # best[t,y] = node[t,y] + max_p best[t-1,p] + edge[t,p,y]
    #
    # Four p at a time, y innermost and contiguous: the maxima stay in vector registers, and the row is read
    # and written a quarter as often. Past the last label p repeats, which leaves a maximum as it is.
    L = node.shape[1]
    taken = 0.0
    for y in range(L):
        best[0, y] = node[0, y]
    for t in range(1, T):
        step = edge[t if edge.shape[0] > 1 else 0]
        for y in range(L):
            row[y] = -np.inf
        for p in range(0, L, 4):
            q = min(p + 1, L - 1)
            r = min(p + 2, L - 1)
            s = min(p + 3, L - 1)
            bp, bq, br, bs = best[t - 1, p], best[t - 1, q], best[t - 1, r], best[t - 1, s]
            for y in range(L):
                pq = max(bp + step[p, y], bq + step[q, y])
                rs = max(br + step[r, y], bs + step[s, y])
                row[y] = max(row[y], max(pq, rs))
        for y in range(L):
            best[t, y] = row[y] + node[t, y]
        if t % 32 == 0:
            top = best[t, 0]
            for y in range(1, L):
                top = max(top, best[t, y])
            if top > -np.inf:
                taken += float(top)
                for y in range(L):
                    best[t, y] -= top
    return taken


@kernel
def best_path(best: Floats, edge_to: Floats, T: int, path: Ints) -> None:
    """Walk back from the best end; edge_to[t, y, p] = edge[t, p, y] lies as it is read."""
    L = best.shape[1]
    top = 0
    for y in range(1, L):
        if best[T - 1, y] > best[T - 1, top]:
            top = y
    path[T - 1] = top
    for t in range(T - 2, -1, -1):
        after = path[t + 1]
        step = edge_to[t + 1 if edge_to.shape[0] > 1 else 0]
        top = 0
        top_score = best[t, 0] + step[after, 0]
        for p in range(1, L):
            score = best[t, p] + step[after, p]
            if score > top_score:
                top = p
                top_score = score
        path[t] = top


@kernel
def tag_sentences(
    sentence_offsets: Longs,  # [sentences + 1]
    row_offsets: Longs,
    rows: Ints,
    values: Floats,
    edge_row_offsets: Longs,  # [tokens + 1], or [1] where there are no edge features
    edge_rows: Ints,
    weights: Floats,  # [features, labels]
    edges: Floats,  # [labels, labels]
    pairs: Floats,  # [entries, 1]
    pair_offsets: Longs,  # [edge features + 1]
    pair_codes: Ints,  # [entries]
    bans: Floats,  # [labels + 2, labels]
    tags: Ints,  # [tokens] out
) -> None:
    """The best tagging of each sentence."""
    L = edges.shape[0]
    longest = longest_sentence(sentence_offsets)
    stages = stages_of(edge_row_offsets, longest)
    edge = np.empty((stages, L, L), np.float32)
    edge_to = np.empty((stages, L, L), np.float32)
    if stages == 1:
        score_edges(0, 1, edge_row_offsets, edge_rows, edges, pairs, pair_offsets, pair_codes, bans, 1.0, edge, edge_to)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    row = np.empty(L, np.float32)
    for sentence in range(len(sentence_offsets) - 1):
        first = sentence_offsets[sentence]
        last = sentence_offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        score_nodes(first, last, row_offsets, rows, values, weights, 1.0, node)
        ban_ends(node, T, bans)
        if stages > 1:
            score_edges(
                first, T, edge_row_offsets, edge_rows, edges, pairs, pair_offsets, pair_codes, bans, 1.0, edge, edge_to
            )
        best_scores(node, edge, T, best, row)
        best_path(best, edge_to, T, tags[first:last])
