"""Viterbi and top-n against the enumeration of all taggings."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattice_strategies import REAL, Enumerate, exact_lattices, lattices
from sapo.search.lattice import Lattice
from sapo.search.topn import top_n, viterbi

EXACT = exact_lattices()
N = st.integers(1, 40)


@given(EXACT)
@settings(deadline=None, max_examples=100)
def test_viterbi_finds_a_tagging_with_the_highest_score(all_taggings: Enumerate, lattice: Lattice) -> None:
    taggings = all_taggings(lattice)
    found = viterbi(lattice)
    assert len(found) == len(found.paths) == min(1, len(taggings))
    for path, score in zip(found.paths.tolist(), found.scores.tolist(), strict=True):
        assert score == taggings[tuple(path)] == max(taggings.values())


@given(EXACT, N)
@settings(deadline=None, max_examples=150)
def test_top_n_finds_the_n_highest_scores(all_taggings: Enumerate, lattice: Lattice, n: int) -> None:
    taggings = all_taggings(lattice)
    found = top_n(lattice, n=n)
    paths = [tuple(path) for path in found.paths.tolist()]
    assert found.scores.tolist() == sorted(taggings.values(), reverse=True)[:n]
    assert [taggings[path] for path in paths] == found.scores.tolist()
    assert len(set(paths)) == len(paths)


def test_a_thousand_taggings_are_the_highest_scores_of_all(all_taggings: Enumerate) -> None:
    rng = np.random.default_rng(1)
    node, edge = rng.integers(-9, 10, (6, 4)).astype(np.float32), rng.integers(-9, 10, (4, 4)).astype(np.float32)
    lattice = Lattice(node, edge)
    found = top_n(lattice, n=1_000)
    assert found.scores.tolist() == sorted(all_taggings(lattice).values(), reverse=True)[:1_000]
    assert len(np.unique(found.paths, axis=0)) == 1_000


@given(lattices(REAL), N)
@settings(deadline=None, max_examples=60)
def test_top_n_of_real_scores_is_right_up_to_rounding(all_taggings: Enumerate, lattice: Lattice, n: int) -> None:
    taggings = all_taggings(lattice)
    found = top_n(lattice, n=n)
    paths = [tuple(path) for path in found.paths.tolist()]
    assert len(set(paths)) == len(paths)
    assert found.scores == pytest.approx(sorted(taggings.values(), reverse=True)[:n], abs=1e-4)
    assert found.scores == pytest.approx([taggings[path] for path in paths], abs=1e-4)
    assert all(a >= b for a, b in pairwise(found.scores))


@pytest.mark.parametrize(("tokens", "labels"), [(1, 1), (1, 4), (5, 1), (3, 4), (6, 2)])
def test_n_larger_than_the_number_of_taggings_finds_them_all(tokens: int, labels: int) -> None:
    rng = np.random.default_rng(tokens)
    lattice = Lattice(
        rng.normal(size=(tokens, labels)).astype(np.float32), rng.normal(size=(labels, labels)).astype(np.float32)
    )
    found = top_n(lattice, n=labels**tokens + 7)
    assert len({tuple(path) for path in found.paths.tolist()}) == len(found) == labels**tokens


@given(st.one_of(EXACT, lattices(REAL)))
@settings(deadline=None, max_examples=60)
def test_top_1_equals_viterbi(lattice: Lattice) -> None:
    one, best = top_n(lattice, n=1), viterbi(lattice)
    assert one.paths.tolist() == best.paths.tolist()
    assert one.scores.tolist() == best.scores.tolist()


@given(EXACT, N)
@settings(deadline=None, max_examples=60)
def test_a_larger_n_begins_with_the_same_scores(lattice: Lattice, n: int) -> None:
    fewer, more = top_n(lattice, n=n), top_n(lattice, n=n + 3)
    assert more.scores[: len(fewer)].tolist() == fewer.scores.tolist()


@pytest.mark.parametrize(("node", "edge"), [(-math.inf, 0.0), (0.0, -math.inf), (-math.inf, -math.inf)])
def test_nothing_is_found_where_everything_is_forbidden(node: float, edge: float) -> None:
    lattice = Lattice(np.full((3, 2), node, np.float32), np.full((2, 2), edge, np.float32))
    for found in (viterbi(lattice), top_n(lattice, n=4)):
        assert (len(found), found.paths.shape, found.p_k.tolist()) == (0, (0, 3), [])


def test_one_forbidden_token_in_a_long_sentence_forbids_everything() -> None:
    node = np.zeros((200, 2), np.float32)
    node[100] = -np.inf
    lattice = Lattice(node, np.zeros((2, 2), np.float32))
    assert len(viterbi(lattice)) == len(top_n(lattice, n=3)) == 0


def test_the_only_allowed_tagging_is_found_among_forbidden_ones() -> None:
    only = np.array([0, 2, 1, 1, 0, 2] * 20)
    node = np.full((len(only), 3), -np.inf, np.float32)
    node[np.arange(len(only)), only] = -1.0
    found = top_n(Lattice(node, np.zeros((3, 3), np.float32)), n=5)
    assert found.paths.tolist() == [only.tolist()]
    assert found.scores.tolist() == [-120.0]


def test_an_empty_sentence_has_one_empty_tagging() -> None:
    lattice = Lattice(np.empty((0, 3), np.float32), np.zeros((3, 3), np.float32))
    for found in (viterbi(lattice), top_n(lattice, n=5)):
        assert (found.paths.shape, found.scores.tolist(), found.p_k.tolist()) == ((1, 0), [0.0], [1.0])


def test_a_search_leaves_the_lattice_as_it_was() -> None:
    rng = np.random.default_rng(0)
    node, edge = rng.normal(size=(40, 3)).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32)
    lattice = Lattice(node.copy(), edge.copy())
    viterbi(lattice)
    top_n(lattice, n=5)
    assert np.array_equal(lattice.node, node)
    assert np.array_equal(lattice.edge, edge)


@given(EXACT, N, st.sampled_from([0.5, 1.5, 2.5, 4.5]))
@settings(deadline=None, max_examples=100)
def test_stop_ratio_leaves_out_just_those_that_are_so_much_less_probable(
    all_taggings: Enumerate, lattice: Lattice, n: int, margin: float
) -> None:
    # scores are whole numbers, so that no tagging stands on the border
    scores = sorted(all_taggings(lattice).values(), reverse=True)
    found = top_n(lattice, n=n, stop_ratio=math.exp(margin))
    assert found.scores.tolist() == [score for score in scores if score >= scores[0] - margin][:n]


def test_probabilities_are_over_the_candidates_only(all_taggings: Enumerate) -> None:
    rng = np.random.default_rng(1)
    lattice = Lattice(rng.normal(size=(3, 3)).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32))
    best = sorted(all_taggings(lattice).values(), reverse=True)[:4]
    mass = [math.exp(score) for score in best]
    assert top_n(lattice, n=4).p_k == pytest.approx([part / sum(mass) for part in mass], abs=1e-5)


def test_probabilities_of_huge_scores_do_not_overflow() -> None:
    found = top_n(Lattice(np.array([[5000.0, 4000.0]], np.float32), np.zeros((2, 2), np.float32)), n=2)
    assert found.p_k.tolist() == [1.0, 0.0]
