"""Choose a search by name."""

from collections.abc import Callable
from typing import NamedTuple

from sapo.errors import SapoError, choice, did_you_mean
from sapo.jit import kernel
from sapo.search.astar import astar, astar_n
from sapo.search.beam import beam, beam_n
from sapo.search.lattice import Lattice, Workspace
from sapo.search.topn import Candidates, check_n, find_top_n, top_n
from sapo.search.viterbi import best_scores


class Search(NamedTuple):
    """Which search to use, and what to ask it for."""

    n: int
    margin: float  # leave out taggings that score this much less than the best one
    astar: bool | None = None  # True: by A*
    width: int | None = None  # of the beam: by beam search


@kernel
def run_search(search: Search, astar: bool | None, width: int | None, T: int, work: Workspace) -> int:
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
    found = find_top_n(work.best, edge_to, T, n, margin, paths, scores, row)
    for k in range(found):
        scores[k] += taken
    return found


SEARCHES = ("topn", "astar", "beam")


def check_search(name: str, n: int) -> str:
    """Return the name of a search in lower case. Raise SapoError if there is none, or nothing to search for.

    >>> check_search("TopN", 5)
    'topn'
    """
    check_n(n)
    found = choice(name, SEARCHES)
    if found not in SEARCHES:
        raise SapoError(f"unknown search '{name}'{did_you_mean(str(name), SEARCHES)}")
    return found


def search_n(name: str, lattice: Lattice, *, n: int, width: int = 50) -> Candidates:
    """Return the n best taggings by the named search. If a beam finds only forbidden ones, search exactly."""
    exact: dict[str, Callable[..., Candidates]] = {"topn": top_n, "astar": astar}
    found = beam(lattice, n=n, width=width) if name == "beam" else exact[name](lattice, n=n)
    return found if len(found) else top_n(lattice, n=n)
