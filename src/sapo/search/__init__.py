"""Searches over a lattice."""

from sapo.search.candidates import Candidates
from sapo.search.exact import top_n, viterbi

__all__ = ["Candidates", "top_n", "viterbi"]
