"""The searches, for learners that are compiled."""

from sapo.kernels._jit import kernel
from sapo.kernels.astar import astar_n
from sapo.kernels.beam import beam_n
from sapo.kernels.topn import top_n
from sapo.kernels.types import Search
from sapo.kernels.viterbi import best_scores
from sapo.kernels.workspace import Workspace


@kernel
def search_n(search: Search, astar: bool | None, width: int | None, T: int, work: Workspace) -> int:
    """Write the n best taggings of the lattice to `work.paths` and `work.scores`; return how many were found.

    `astar` and `width` are those of the search: only arguments that are None keep a branch from being compiled.
    """
    node, edge, edge_to, row = work.node, work.edge, work.edge_to, work.row
    paths, scores = work.paths, work.scores
    n, margin = search.n, search.margin
    if astar is not None:
        return astar_n(node, edge, edge_to, T, margin, paths, scores, row)
    if width is not None:
        found = beam_n(node, edge, T, n, width, margin, paths, scores)
        if found > 0:
            return found  # else all that the beam held ran into what is forbidden: search exactly
    taken = best_scores(node, edge, T, work.best, row)
    found = top_n(work.best, edge_to, T, n, margin, paths, scores, row)
    for k in range(found):
        scores[k] += taken
    return found
