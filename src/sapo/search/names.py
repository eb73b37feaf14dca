"""The searches by name."""

from collections.abc import Callable

from sapo.errors import SapoError, choice, did_you_mean
from sapo.search.astar import astar
from sapo.search.beam import beam
from sapo.search.candidates import Candidates
from sapo.search.checks import check_n
from sapo.search.exact import top_n
from sapo.search.lattice import Lattice

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
