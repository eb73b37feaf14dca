"""Feature rows and weights in, node and edge scores out.

Edges come as edge[stages, p, y]. With one stage all steps of a sentence share it; otherwise edge[t] belongs to the step
into token t, as edge features make it, and edge[0] to nothing. edge_to[s, y, p] is the same, turned.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Floats, Ints, Longs, Parts, Samples


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
def score_edges(
    first: int,  # the sentence begins at this token
    T: int,
    edge_row_offsets: Longs,  # [tokens + 1], or [1] where there are no edge features
    edge_rows: Ints,
    edges: Floats,  # [labels, labels]
    pairs: Floats,  # [entries, 1]
    pair_offsets: Longs,  # [edge features + 1]
    pair_codes: Ints,  # [entries] p * labels + y
    bans: Floats,  # [labels + 2, labels]
    scale: float,
    edge: Floats,  # [stages, labels, labels] out
    edge_to: Floats,  # [stages, labels, labels] out: the same, turned; [0, labels, labels] where nobody needs it
) -> None:
    # edge[t,p,y] = scale * (edges[p,y] + sum over the edge features e of token t of pairs[e,(p,y)]) + bans[p,y]
    L = edges.shape[0]
    turned = edge_to.shape[0] > 0
    if edge.shape[0] == 1:
        for p in range(L):
            for y in range(L):
                edge[0, p, y] = scale * edges[p, y] + bans[p, y]
                if turned:
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
def ban_ends(node: Floats, T: int, bans: Floats) -> None:
    """Minus infinity for labels that may not begin or end a sentence."""
    L = node.shape[1]
    for y in range(L):
        node[0, y] += bans[L, y]
        node[T - 1, y] += bans[L + 1, y]


@kernel
def score_sentence(
    first: int, T: int, samples: Samples, parts: Parts, scale: float, node: Floats, edge: Floats, edge_to: Floats
) -> None:
    """The whole lattice of a sentence while it is learned from."""
    nodes = parts.nodes.v
    score_nodes(first, first + T, samples.row_offsets, samples.rows, samples.values, nodes, scale, node)
    ban_ends(node, T, parts.bans)
    score_edges(
        first,
        T,
        samples.edge_row_offsets,
        samples.edge_rows,
        parts.edges.v,
        parts.pairs.v,
        parts.pair_offsets,
        parts.pair_codes,
        parts.bans,
        scale,
        edge,
        edge_to,
    )


@kernel
def stages_of(edge_row_offsets: Longs, longest: int) -> int:
    """How many stages the edges need: one, unless there are edge features."""
    return longest if len(edge_row_offsets) > 1 else 1


@kernel
def path_score(node: Floats, edge: Floats, path: Ints, T: int) -> float:
    """Sum of a tagging's nodes and edges, in double precision."""
    total = 0.0
    for t in range(T):
        total += float(node[t, path[t]])
        if t > 0:
            total += float(edge[t if edge.shape[0] > 1 else 0, path[t - 1], path[t]])
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
