"""Public corpora: a registry, where they are on this machine, and how to fetch and convert them."""

from sapo.datasets.fetching import fetch
from sapo.datasets.locations import find_corpus

__all__ = ["fetch", "find_corpus"]
