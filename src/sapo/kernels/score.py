"""Feature rows and weights in, node scores out."""

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
        for i in range(row_offsets[token], row_offsets[token + 1]):
            f = rows[i]
            if weighted:
                for y in range(L):
                    node[t, y] += values[i] * weights[f, y]
            else:
                for y in range(L):
                    node[t, y] += weights[f, y]
        if scale != 1.0:
            for y in range(L):
                node[t, y] *= scale


@kernel
def path_score(node: Floats, edge: Floats, path: Ints, T: int) -> float:
    """Sum of a tagging's nodes and edges, in double precision."""
    total = 0.0
    for t in range(T):
        total += node[t, path[t]]
        if t > 0:
            total += edge[path[t - 1], path[t]]
    return total
