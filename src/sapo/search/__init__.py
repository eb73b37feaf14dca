"""Searches over a lattice: the best tagging, or the n best ones."""

from sapo.search.astar import astar
from sapo.search.beam import beam
from sapo.search.candidates import Candidates
from sapo.search.exact import top_n, viterbi
from sapo.search.names import SEARCHES, check_search, search_n

__all__ = [
    "SEARCHES",
    "Candidates",
    "astar",
    "beam",
    "check_search",
    "search_n",
    "top_n",
    "viterbi",
]
