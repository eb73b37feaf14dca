"""The streamed search against the enumeration of all taggings, and against the sorted list of a few."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattice_strategies import REAL, Enumerate, exact_lattices, lattices, random_lattice
from sapo.search import beam, best_first, exact, top_n
from sapo.search.lattice import Lattice
from sapo.search.stream import StreamedSearch

LATTICES = st.one_of(exact_lattices(), lattices(REAL))


@given(exact_lattices())
@settings(deadline=None, max_examples=60)
def test_all_taggings_come_once_and_in_order(all_taggings: Enumerate, lattice: Lattice) -> None:
    taggings = all_taggings(lattice)
    found = [(tuple(path.tolist()), score) for path, score in best_first(lattice)]
    assert dict(found) == taggings
    assert len(found) == len(taggings)
    assert [score for _, score in found] == sorted(taggings.values(), reverse=True)


@given(LATTICES, st.integers(1, 300), st.floats(1, 1e6))
@settings(deadline=None, max_examples=100)
def test_a_few_and_many_are_found_in_the_same_order_also_among_equals(lattice: Lattice, n: int, ratio: float) -> None:
    few = top_n(lattice, n=n, stop_ratio=ratio)
    search = StreamedSearch(lattice, margin=float(np.log(ratio)))
    assert search.find(n) == len(few)
    assert search.paths(0, search.found).tolist() == few.paths.tolist()
    assert search.scores().tolist() == few.scores.tolist()


@pytest.mark.parametrize("whole", [True, False])
def test_a_large_n_finds_what_a_sorted_list_would(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    lattice = random_lattice(9, 4)
    if whole:  # many ties
        lattice = Lattice(np.round(lattice.node), np.round(lattice.edge))
    many = top_n(lattice, n=800)
    monkeypatch.setattr(exact, "FEW", 10_000)
    sorted_list = top_n(lattice, n=800)
    assert many.paths.tolist() == sorted_list.paths.tolist()
    assert many.scores.tolist() == sorted_list.scores.tolist()


def test_edges_that_differ_from_step_to_step_are_looked_at() -> None:
    rng = np.random.default_rng(3)
    node, edge = rng.integers(-2, 3, (6, 3)).astype(np.float32), rng.integers(-2, 3, (6, 3, 3)).astype(np.float32)
    lattice = Lattice(node, edge)
    few = top_n(lattice, n=250)
    assert [path.tolist() for path, _ in islice(best_first(lattice), 250)] == few.paths.tolist()


def test_a_long_sentence_keeps_little_for_each_tagging() -> None:
    search = StreamedSearch(random_lattice(500, 3))
    assert search.find(300) == 300
    assert sum(array.nbytes for array in search._stream[:5]) < 300 * 2 * 50


def test_nothing_is_found_where_everything_is_forbidden() -> None:
    lattice = Lattice(np.full((3, 2), -np.inf, np.float32), np.zeros((2, 2), np.float32))
    assert list(best_first(lattice)) == []
    assert len(top_n(lattice, n=1_000)) == 0


def test_no_token_has_one_tagging() -> None:
    lattice = Lattice(np.empty((0, 2), np.float32), np.zeros((2, 2), np.float32))
    assert [(path.tolist(), score) for path, score in best_first(lattice)] == [([], 0.0)]
    assert top_n(lattice, n=1_000).paths.shape == (1, 0)


def test_a_beam_makes_room_only_for_what_it_can_hold() -> None:
    lattice = random_lattice(5, 3)
    assert len(beam(lattice, n=10**7, width=4)) <= 12
