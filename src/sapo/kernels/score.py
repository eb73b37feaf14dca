"""Feature rows and weights in, node scores out."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Floats, Ints, Longs


@kernel
def score_nodes(
    first: int,  # tokens first up to last
    last: int,
    row_offsets: Longs,  # [tokens + 1] into rows
    rows: Ints,
    values: Floats,  # one a row, or none at all where every value is 1
    weights: Floats,  # [features, labels]
    scale: float,
    node: Floats,  # [last - first, labels] out
) -> None:
    # node[t,y] = scale * sum over the features f of token t of value[f] * weights[f,y]
    L = weights.shape[1]
    weighted = len(values) > 0
    for token in range(first, last):
        t = token - first
        for y in range(L):
            node[t, y] = 0.0
        i = row_offsets[token]
        end = row_offsets[token + 1]
        if weighted:
            while i < end:
                f = rows[i]
                for y in range(L):
                    node[t, y] += values[i] * weights[f, y]
                i += 1
        while i + 4 <= end:  # four rows at a time: they come from memory together, and the node is written once
            e, f, g, h = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            for y in range(L):
                node[t, y] += (weights[e, y] + weights[f, y]) + (weights[g, y] + weights[h, y])
            i += 4
        while i < end:
            f = rows[i]
            for y in range(L):
                node[t, y] += weights[f, y]
            i += 1
        if scale != 1.0:
            for y in range(L):
                node[t, y] *= scale


@kernel
def scale_edges(edges: Floats, scale: float, edge: Floats, edge_to: Floats) -> None:
    """The true weights of the edges, as they lie (edge[p, y]) and turned (edge_to[y, p])."""
    for p in range(edges.shape[0]):
        for y in range(edges.shape[0]):
            edge[p, y] = scale * edges[p, y]
            edge_to[y, p] = edge[p, y]


@kernel
def path_score(node: Floats, edge: Floats, path: Ints, T: int) -> float:
    """Sum of a tagging's nodes and edges, in double precision."""
    total = 0.0
    for t in range(T):
        total += float(node[t, path[t]])
        if t > 0:
            total += float(edge[path[t - 1], path[t]])
    return total


@kernel
def absolute_sum(weights: Floats) -> float:
    """Without a second array of the size of the weights."""
    total = 0.0
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            total += abs(float(weights[f, y]))
    return total


@kernel
def squared_sum(weights: Floats) -> float:
    total = 0.0
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            total += np.float64(weights[f, y]) * np.float64(weights[f, y])
    return total
