"""Feature rows and weights in, the lattice of a sentence out.

Edges come as edge[stages, p, y]. With one stage all steps of a sentence share it; otherwise edge[t] belongs to the step
into token t, as edge features make it, and edge[0] to nothing. edge_to[s, y, p] is the same, turned.
"""

from sapo.kernels._jit import kernel
from sapo.kernels.types import Floats, Ints, Reals, Samples, TaggingWeights
from sapo.kernels.weights import score_features


@kernel
def fill_lattice(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    node: Floats,  # [T, labels] out
    edge: Floats,  # [stages, labels, labels] out
    edge_to: Floats,  # [stages, labels, labels] out: the same, turned; [0, labels, labels] where nobody needs it
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
    if T > 0:
        for y in range(L):
            node[0, y] += bans[L, y]
            node[T - 1, y] += bans[L + 1, y]


@kernel
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
def path_score(node: Reals, edge: Reals, path: Ints, T: int) -> float:
    """Sum of a tagging's nodes and edges, in double precision."""
    total = 0.0
    for t in range(T):
        total += float(node[t, path[t]])
        if t > 0:
            total += float(edge[t if edge.shape[0] > 1 else 0, path[t - 1], path[t]])
    return total
