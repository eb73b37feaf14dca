"""The searches by number, for learners that are compiled."""

from sapo.kernels._jit import kernel
from sapo.kernels.astar import astar_n
from sapo.kernels.beam import beam_n
from sapo.kernels.topn import top_n
from sapo.kernels.types import Doubles, Floats, Ints
from sapo.kernels.viterbi import best_scores

TOPN, ASTAR, BEAM = 0, 1, 2


@kernel
def search_n(
    search: int,
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    edge_to: Floats,  # [stages, L, L] edge_to[t, y, p] = edge[t, p, y]
    T: int,
    n: int,
    width: int,  # of the beam
    margin: float,
    best: Floats,  # [T, L] work
    row: Floats,  # [L] work
    paths: Ints,  # [n, T] out
    scores: Doubles,  # [n] out, best first
) -> int:
    """The n best taggings by one of the searches; return how many were found."""
    if search == ASTAR:
        return astar_n(node, edge, edge_to, T, n, margin, paths, scores, row)
    if search == BEAM:
        found = beam_n(node, edge, T, n, width, margin, paths, scores)
        if found > 0:
            return found  # else all that the beam held ran into what is forbidden: search exactly
    taken = best_scores(node, edge, T, best, row)
    found = top_n(best, edge_to, T, n, margin, paths, scores, row)
    for k in range(found):
        scores[k] += taken
    return found
