"""Compute the best score of every node of a lattice, and the best tagging."""

import numpy as np

from sapo.jit import in_numpy, kernel
from sapo.jit.arrays import Ints, Reals

SHARE = 32  # tokens after which a constant is taken off


def _best_scores(node: Reals, edge: Reals, T: int, best: Reals, row: Reals) -> float:
    L = node.shape[1]
    taken = 0.0
    best[0] = node[0]
    for t in range(1, T):
        row[:L] = (best[t - 1][:, None] + edge[t if edge.shape[0] > 1 else 0]).max(axis=0)
        best[t] = row[:L] + node[t]
        if t % SHARE == 0 and (top := best[t].max()) > -np.inf:
            taken += float(top)
            best[t] -= top
    return taken


def _best_path(best: Reals, edge_to: Reals, T: int, path: Ints) -> None:
    path[T - 1] = best[T - 1].argmax()
    for t in range(T - 2, -1, -1):
        path[t] = (best[t] + edge_to[t + 1 if edge_to.shape[0] > 1 else 0, path[t + 1]]).argmax()


@kernel
@in_numpy(_best_scores)
def best_scores(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    best: Reals,  # [T, L] out
    row: Reals,  # [L] work
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
        if t % SHARE == 0:
            top = best[t, 0]
            for y in range(1, L):
                top = max(top, best[t, y])
            if top > -np.inf:
                taken += float(top)
                for y in range(L):
                    best[t, y] -= top
    return taken


@kernel
@in_numpy(_best_path)
def best_path(best: Reals, edge_to: Reals, T: int, path: Ints) -> None:
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
