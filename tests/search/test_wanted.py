"""What all searches for n taggings refuse, in the same words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.search.astar import astar
from sapo.search.beam import beam
from sapo.search.lattice import Lattice
from sapo.search.topn import Candidates, top_n

LATTICE = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
ALL = pytest.mark.parametrize("search", [top_n, astar, beam])


@ALL
@pytest.mark.parametrize("tokens", [0, 2])
@pytest.mark.parametrize("n", [0, -1, 2.5, True, "2", None])
def test_n_is_a_whole_number_of_at_least_1(search: Callable[..., Candidates], n: Any, tokens: int) -> None:
    with pytest.raises(SapoError, match=f"n must be at least 1, not {n}"):
        search(Lattice(LATTICE.node[:tokens], LATTICE.edge), n=n)


@ALL
@pytest.mark.parametrize("ratio", [0.5, 0, -1.0, float("nan"), True, "2"])
def test_stop_ratio_is_at_least_1(search: Callable[..., Candidates], ratio: Any) -> None:
    with pytest.raises(SapoError, match=f"stop_ratio must be at least 1, not {ratio}"):
        search(LATTICE, stop_ratio=ratio)


@pytest.mark.parametrize("width", [0, True, 1.5])
def test_width_is_a_whole_number_of_at_least_1(width: Any) -> None:
    with pytest.raises(SapoError, match=f"width must be at least 1, not {width}"):
        beam(LATTICE, width=width)


@ALL
def test_numbers_of_numpy_will_do(search: Callable[..., Candidates]) -> None:
    assert len(search(LATTICE, n=np.int64(2), stop_ratio=np.float32(np.inf))) == 2
