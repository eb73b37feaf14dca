"""A tagging that is just `stop_ratio` times less probable than the best one: it counts, wherever it differs."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from sapo.search.lattice import Lattice
from sapo.search.topn import top_n

Enumerate = Callable[[Lattice], dict[tuple[int, ...], float]]


def test_stop_ratio_1_keeps_all_that_are_as_good_as_the_best() -> None:
    lattice = Lattice(np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32))
    assert top_n(lattice, n=10, stop_ratio=1.0).scores.tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("margin", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_only_those_below_the_border_are_left_out(all_taggings: Enumerate, seed: int, margin: int) -> None:
    rng = np.random.default_rng(seed)
    node, edge = rng.integers(-2, 3, (3, 3)), rng.integers(-2, 3, (3, 3))
    lattice = Lattice(node.astype(np.float32), edge.astype(np.float32))
    assert math.log(math.exp(margin)) == margin
    scores = sorted(all_taggings(lattice).values(), reverse=True)
    found = top_n(lattice, n=30, stop_ratio=math.exp(margin))
    assert found.scores.tolist() == [score for score in scores if score >= scores[0] - margin]
