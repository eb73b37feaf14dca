"""Public corpora: a registry, where they are on this machine, and how to fetch and convert them."""

from laboratory.datasets.fetching import fetch
from laboratory.datasets.locations import find_corpus

__all__ = ["fetch", "find_corpus"]
