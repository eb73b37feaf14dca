"""Beam search against a plain twin that sorts, and, with a wide beam, against exact top-n."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattice_strategies import Enumerate, exact_lattices, lattices, random_lattice
from sapo.errors import SapoError
from sapo.search.beam import beam
from sapo.search.lattice import Lattice
from sapo.search.topn import top_n

EXACT = exact_lattices()
N = st.integers(1, 40)
WIDTH = st.integers(1, 20)


def plain_beam(lattice: Lattice, n: int, width: int) -> list[tuple[float, list[int]]]:
    """Extend all, sort, cut. Among equals the first comes first: the sort is stable."""
    node, edge = lattice.node.tolist(), lattice.edge.tolist()
    kept: list[tuple[float, list[int]]] = [(0.0, [])]
    for t in range(lattice.tokens):
        extended = [
            (score + (node[t][y] + edge[path[-1]][y] if path else node[t][y]), [*path, y])
            for score, path in kept
            for y in range(lattice.labels)
        ]
        allowed = [extension for extension in extended if extension[0] > -math.inf]
        kept = sorted(allowed, key=lambda extension: -extension[0])[: width if t < lattice.tokens - 1 else n]
    return kept


@given(EXACT, N, WIDTH)
@settings(deadline=None, max_examples=150)
def test_beam_search_is_extend_sort_and_cut(lattice: Lattice, n: int, width: int) -> None:
    found = beam(lattice, n=n, width=width)
    assert list(zip(found.scores.tolist(), found.paths.tolist(), strict=True)) == plain_beam(lattice, n, width)


@pytest.mark.parametrize(("tokens", "labels", "n", "width"), [(30, 5, 5, 50), (12, 22, 10, 7), (6, 60, 3, 20)])
def test_larger_lattices_too(tokens: int, labels: int, n: int, width: int) -> None:
    lattice = random_lattice(tokens, labels)
    found = beam(lattice, n=n, width=width)
    expected = plain_beam(lattice, n, width)
    assert found.paths.tolist() == [path for _, path in expected]
    assert found.scores.tolist() == [score for score, _ in expected]


@given(EXACT, N)
@settings(deadline=None, max_examples=80)
def test_a_beam_that_holds_all_is_exact(all_taggings: Enumerate, lattice: Lattice, n: int) -> None:
    taggings = all_taggings(lattice)
    found = beam(lattice, n=n, width=1024)
    paths = [tuple(path) for path in found.paths.tolist()]
    assert found.scores.tolist() == sorted(taggings.values(), reverse=True)[:n] == top_n(lattice, n=n).scores.tolist()
    assert [taggings[path] for path in paths] == found.scores.tolist()
    assert len(set(paths)) == len(paths)


def test_a_wide_beam_finds_the_taggings_of_top_n_in_the_same_order() -> None:
    lattice = random_lattice(7, 4)
    wide, exact = beam(lattice, n=20, width=4**6), top_n(lattice, n=20)
    assert wide.paths.tolist() == exact.paths.tolist()
    assert wide.scores == pytest.approx(exact.scores, abs=1e-4, rel=0)


@pytest.mark.parametrize(("tokens", "labels"), [(1, 1), (1, 4), (5, 1), (3, 4), (6, 2)])
def test_n_larger_than_the_number_of_taggings_finds_them_all(tokens: int, labels: int) -> None:
    found = beam(random_lattice(tokens, labels), n=labels**tokens + 7, width=10**6)
    assert len({tuple(path) for path in found.paths.tolist()}) == len(found) == labels**tokens


@given(lattices(st.floats(-10, 10, width=32)), N, WIDTH)
@settings(deadline=None, max_examples=60)
def test_what_any_beam_finds_is_a_tagging_with_its_score(lattice: Lattice, n: int, width: int) -> None:
    found, exact = beam(lattice, n=n, width=width), top_n(lattice, n=n)
    assert len(np.unique(found.paths, axis=0)) == len(found) >= 1
    assert found.scores == pytest.approx([lattice.path_score(path) for path in found.paths], abs=1e-9)
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    assert (found.scores <= exact.scores[: len(found)] + 1e-4).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_width_1_is_greedy(seed: int) -> None:
    lattice = random_lattice(20, 6, seed)
    greedy = [int(lattice.node[0].argmax())]
    for node in lattice.node[1:]:
        greedy.append(int((node + lattice.edge[greedy[-1]]).argmax()))
    assert beam(lattice, n=1, width=1).paths.tolist() == [greedy]


def test_n_may_be_larger_than_the_width() -> None:
    # one way to begin, and every way to end
    lattice = Lattice(np.array([[1, 0, 0], [3, 1, 2]], np.float32), np.zeros((3, 3), np.float32))
    assert beam(lattice, n=5, width=1).paths.tolist() == [[0, 0], [0, 2], [0, 1]]


def test_a_beam_may_be_wider_than_the_largest_n() -> None:
    lattice = random_lattice(5, 3)
    assert len(beam(lattice, n=300, width=1_000_000)) == 3**5
    with pytest.raises(SapoError, match="width must be at most 1,000,000, not 1,000,001"):
        beam(lattice, width=1_000_001)


def test_a_narrow_beam_may_miss_the_best_tagging_and_a_wider_one_find_it() -> None:
    lattice = Lattice(np.array([[2, 1, 0], [0, 0, 0]], np.float32), np.array([[0] * 3, [0] * 3, [9] * 3], np.float32))
    assert [beam(lattice, n=1, width=width).scores.tolist() for width in (1, 2, 3)] == [[2.0], [2.0], [9.0]]


def test_a_narrow_beam_may_run_into_a_dead_end() -> None:
    lattice = Lattice(np.array([[1, 0], [0, 0]], np.float32), np.array([[-np.inf, -np.inf], [0, 0]], np.float32))
    assert len(beam(lattice, n=3, width=1)) == 0
    assert beam(lattice, n=3, width=2).paths.tolist() == [[1, 0], [1, 1]]


@given(EXACT, N, WIDTH, st.sampled_from([0, 0.5, 1, 2.5, 3]))
@settings(deadline=None, max_examples=80)
def test_stop_ratio_keeps_those_up_to_its_border(lattice: Lattice, n: int, width: int, margin: float) -> None:
    assert math.log(math.exp(margin)) == margin
    scores = beam(lattice, n=n, width=width).scores.tolist()
    found = beam(lattice, n=n, width=width, stop_ratio=math.exp(margin))
    assert found.scores.tolist() == [score for score in scores if score >= scores[0] - margin]


@pytest.mark.parametrize(("node", "edge"), [(-math.inf, 0.0), (0.0, -math.inf), (-math.inf, -math.inf)])
def test_nothing_is_found_where_everything_is_forbidden(node: float, edge: float) -> None:
    lattice = Lattice(np.full((3, 2), node, np.float32), np.full((2, 2), edge, np.float32))
    assert beam(lattice, n=4).paths.shape == (0, 3)


def test_an_empty_sentence_has_one_empty_tagging() -> None:
    found = beam(Lattice(np.empty((0, 3), np.float32), np.zeros((3, 3), np.float32)))
    assert (found.paths.shape, found.scores.tolist(), found.p_k.tolist()) == ((1, 0), [0.0], [1.0])


@pytest.mark.parametrize("option", ["n", "width"])
def test_a_number_below_1_is_a_mistake(option: str) -> None:
    with pytest.raises(SapoError, match=f"{option} must be at least 1, not 0"):
        beam(random_lattice(2, 2), **{option: 0})


def test_a_search_leaves_the_lattice_as_it_was() -> None:
    lattice, same = random_lattice(20, 3), random_lattice(20, 3)
    beam(lattice)
    assert np.array_equal(lattice.node, same.node)
    assert np.array_equal(lattice.edge, same.edge)


def test_the_scores_of_a_long_sentence_add_up_in_double_precision() -> None:
    rng = np.random.default_rng(5)
    node = (20 + rng.normal(size=(5_000, 3))).astype(np.float32)
    lattice = Lattice(node, rng.normal(size=(3, 3)).astype(np.float32))
    found = beam(lattice, n=3, width=4)
    assert found.scores == pytest.approx([lattice.path_score(path) for path in found.paths], abs=1e-6, rel=0)
