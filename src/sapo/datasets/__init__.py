"""Public corpora: what there is, where it is, fetching and converting it."""

from sapo.datasets.fetching import fetch
from sapo.datasets.locations import find_corpus

__all__ = ["fetch", "find_corpus"]
