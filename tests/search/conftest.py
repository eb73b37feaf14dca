"""Searches are refereed by enumeration of all taggings, and run in the mode of SAPO_TEST_KERNELS to the end."""

import math
from collections.abc import Callable
from itertools import pairwise, product

import pytest

from sapo.search.lattice import Lattice


@pytest.fixture(scope="session", autouse=True)
def _to_the_end(kernels_stay_as_they_are: None) -> None:
    """All tests of this directory run in one mode."""


@pytest.fixture(scope="session")
def all_taggings() -> Callable[[Lattice], dict[tuple[int, ...], float]]:
    """The slow twin of every search: each tagging that is not forbidden, with its score."""

    def enumerate_taggings(lattice: Lattice) -> dict[tuple[int, ...], float]:
        node, edge = lattice.node.tolist(), lattice.edge.tolist()
        scores = {
            path: sum(node[t][y] for t, y in enumerate(path)) + sum(edge[p][y] for p, y in pairwise(path))
            for path in product(range(lattice.labels), repeat=lattice.tokens)
        }
        return {path: score for path, score in scores.items() if score > -math.inf}

    return enumerate_taggings
