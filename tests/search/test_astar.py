"""A* against the enumeration of all taggings, and against top-n by sidetracks."""

import math
import sys
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count, pairwise, takewhile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattice_strategies import Enumerate, exact_lattices, lattices, random_lattice
from sapo.errors import SapoError
from sapo.search.astar import SearchTree, astar, astar_next, astar_start, look_ahead, make_tree
from sapo.search.lattice import Lattice
from sapo.search.topn import top_n

EXACT = exact_lattices(3)
N = st.integers(1, 40)


@given(EXACT)
@settings(deadline=None, max_examples=80)
def test_every_tagging_comes_once_best_first(all_taggings: Enumerate, lattice: Lattice) -> None:
    taggings = all_taggings(lattice)
    found = every(lattice)
    assert {tuple(path): score for path, score in found} == taggings
    assert [score for _, score in found] == sorted(taggings.values(), reverse=True)


def every(lattice: Lattice) -> list[tuple[list[int], float]]:
    found = astar(lattice, n=lattice.labels**lattice.tokens)
    return list(zip(found.paths.tolist(), found.scores.tolist(), strict=True))


def plain_astar(lattice: Lattice) -> Iterator[tuple[list[int], float]]:
    """The open list and nothing else; its order is that of the losses, the tokens left, and the age."""
    T, L = lattice.tokens, lattice.labels
    ahead = lattice.node.astype(np.float64)
    for t in range(T - 2, -1, -1):
        ahead[t] += (lattice.edge + ahead[t + 1]).max(axis=1)
    age = count()
    first = [(ahead[0].max() - ahead[0, y], T - 1, next(age), [y]) for y in range(L) if ahead[0, y] > -math.inf]
    opened = sorted(first)
    while opened:
        loss, left, _, path = heappop(opened)
        if left == 0:
            yield path, float(ahead[0].max() - loss)
            continue
        then = lattice.edge[path[-1]] + ahead[T - left]
        best = int(then.argmax())
        for y in [best, *(y for y in range(L) if y != best)]:
            if then[y] > -math.inf:
                heappush(opened, (loss + then[best] - then[y], left - 1, next(age), [*path, y]))


@given(EXACT)
@settings(deadline=None, max_examples=60)
def test_equals_come_in_the_order_of_the_open_list(lattice: Lattice) -> None:
    assert every(lattice) == list(plain_astar(lattice))


@given(EXACT, N)
@settings(deadline=None, max_examples=100)
def test_top_n_by_astar_finds_the_n_highest_scores(all_taggings: Enumerate, lattice: Lattice, n: int) -> None:
    taggings = all_taggings(lattice)
    found = astar(lattice, n=n)
    paths = [tuple(path) for path in found.paths.tolist()]
    assert found.scores.tolist() == sorted(taggings.values(), reverse=True)[:n] == top_n(lattice, n=n).scores.tolist()
    assert [taggings[path] for path in paths] == found.scores.tolist()
    assert len(set(paths)) == len(paths)


@given(lattices(st.floats(-10, 10, width=32)), N)
@settings(deadline=None, max_examples=40)
def test_real_scores_are_right_up_to_rounding(all_taggings: Enumerate, lattice: Lattice, n: int) -> None:
    taggings = all_taggings(lattice)
    found = astar(lattice, n=n)
    assert found.scores == pytest.approx(sorted(taggings.values(), reverse=True)[:n], abs=1e-4)
    assert found.scores == pytest.approx([taggings[tuple(path)] for path in found.paths.tolist()], abs=1e-4)
    assert all(a >= b for a, b in pairwise(found.scores))


@pytest.mark.parametrize(("tokens", "labels", "n"), [(1, 7, 5), (8, 3, 20), (25, 22, 10), (80, 5, 5)])
def test_astar_and_sidetracks_find_the_same_taggings_in_the_same_order(tokens: int, labels: int, n: int) -> None:
    lattice = random_lattice(tokens, labels)
    ours, theirs = astar(lattice, n=n), top_n(lattice, n=n)
    assert ours.paths.tolist() == theirs.paths.tolist()
    assert ours.scores == pytest.approx(theirs.scores, abs=1e-3, rel=0)


@pytest.mark.parametrize(("tokens", "labels"), [(1, 1), (1, 4), (5, 1), (4, 5), (8, 2)])
def test_n_larger_than_the_number_of_taggings_finds_them_all(tokens: int, labels: int) -> None:
    found = astar(random_lattice(tokens, labels), n=labels**tokens + 7)
    assert len({tuple(path) for path in found.paths.tolist()}) == len(found) == labels**tokens


def test_only_what_is_asked_for_is_searched() -> None:
    lattice = random_lattice(50, 4)  # 10^30 taggings
    assert astar(lattice, n=5).scores == pytest.approx(top_n(lattice, n=5).scores, abs=1e-3, rel=0)


def test_many_taggings_of_the_same_score_do_not_open_them_all() -> None:
    lattice = Lattice(np.zeros((100, 3), np.float32), np.zeros((3, 3), np.float32))
    found = astar(lattice, n=20)
    assert len({tuple(path) for path in found.paths.tolist()}) == 20
    assert set(found.scores.tolist()) == {0.0}


def test_a_search_without_room_goes_on_where_it_stopped() -> None:
    lattice, (T, L), n = random_lattice(9, 3), (9, 3), 30
    ahead, row = np.empty((T, L), np.float32), np.empty(L, np.float32)
    top_score = look_ahead(lattice.node, lattice.steps_to, T, ahead, row)
    paths, scores = np.empty((n, T), np.int32), np.empty(n)
    tree = make_tree(L)
    astar_start(ahead, np.inf, tree)
    found, calls = 0, 0
    while found < n:
        before = found
        found = astar_next(ahead, lattice.steps, np.inf, top_score, paths, scores, found, tree, row)
        calls += 1
        assert before <= found
        assert tree.counts[0] <= tree.counts[1] <= len(tree.heap)
        longer = (np.concatenate([array, array[:1]]) for array in (tree.losses, tree.links, tree.heap))
        tree = SearchTree(*longer, tree.counts)
    assert calls > 30
    once = astar(lattice, n=n)
    assert paths.tolist() == once.paths.tolist()
    assert scores.tolist() == once.scores.tolist()


@given(EXACT, N, st.sampled_from([0.5, 1.5, 2.5, 4.5]))
@settings(deadline=None, max_examples=60)
def test_stop_ratio_leaves_out_just_those_that_are_so_much_less_probable(
    all_taggings: Enumerate, lattice: Lattice, n: int, margin: float
) -> None:
    scores = sorted(all_taggings(lattice).values(), reverse=True)
    found = astar(lattice, n=n, stop_ratio=math.exp(margin))
    assert found.scores.tolist() == [score for score in scores if score >= scores[0] - margin][:n]


@pytest.mark.parametrize("margin", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_tagging_on_the_border_of_stop_ratio_is_kept(seed: int, margin: int) -> None:
    rng = np.random.default_rng(seed)
    lattice = Lattice(rng.integers(-2, 3, (3, 3)).astype(np.float32), rng.integers(-2, 3, (3, 3)).astype(np.float32))
    scores = [score for _, score in every(lattice)]
    kept = list(takewhile(lambda score: score >= scores[0] - margin, scores))
    assert astar(lattice, n=30, stop_ratio=math.exp(margin)).scores.tolist() == kept
    assert top_n(lattice, n=30, stop_ratio=math.exp(margin)).scores.tolist() == kept


@pytest.mark.parametrize(("node", "edge"), [(-math.inf, 0.0), (0.0, -math.inf), (-math.inf, -math.inf)])
def test_nothing_is_found_where_everything_is_forbidden(node: float, edge: float) -> None:
    lattice = Lattice(np.full((3, 2), node, np.float32), np.full((2, 2), edge, np.float32))
    assert astar(lattice, n=4).paths.shape == (0, 3)


def test_the_only_allowed_tagging_is_found_among_forbidden_ones() -> None:
    only = np.array([0, 2, 1, 1, 0, 2] * 20)
    node = np.full((len(only), 3), -np.inf, np.float32)
    node[np.arange(len(only)), only] = -1.0
    found = astar(Lattice(node, np.zeros((3, 3), np.float32)), n=5)
    assert found.paths.tolist() == [only.tolist()]
    assert found.scores.tolist() == [-120.0]


def test_an_empty_sentence_has_one_empty_tagging() -> None:
    lattice = Lattice(np.empty((0, 3), np.float32), np.zeros((3, 3), np.float32))
    found = astar(lattice, n=5)
    assert (found.paths.shape, found.scores.tolist()) == ((1, 0), [0.0])


def test_n_below_1_is_a_mistake() -> None:
    with pytest.raises(SapoError, match="n must be at least 1, not 0"):
        astar(random_lattice(2, 2), n=0)


def test_a_search_leaves_the_lattice_as_it_was() -> None:
    lattice, same = random_lattice(40, 3), random_lattice(40, 3)
    astar(lattice, n=5)
    assert np.array_equal(lattice.node, same.node)
    assert np.array_equal(lattice.edge, same.edge)


@pytest.mark.parametrize("level", [0.0, 20.0, -20.0])
def test_the_taggings_of_a_long_sentence_are_told_apart(level: float) -> None:
    tokens = 10_000
    rng = np.random.default_rng(5)
    node = (level + rng.normal(size=(tokens, 3))).astype(np.float32)
    lattice = Lattice(node, rng.normal(size=(3, 3)).astype(np.float32))
    found = astar(lattice, n=4)
    exact = np.array([lattice.path_score(path) for path in found.paths])
    # a sum in single precision would be wrong by 0.02 here
    assert found.scores[0] - found.scores == pytest.approx(exact[0] - exact, abs=1e-4, rel=0)
    assert exact[0] == pytest.approx(lattice.path_score(top_n(lattice, n=1).paths[0]), abs=1e-4, rel=0)
    assert found.scores[0] == pytest.approx(exact[0], abs=1e-2, rel=0)
    assert len(np.unique(found.paths, axis=0)) == 4


def test_a_difference_at_the_last_token_is_still_seen_at_the_first() -> None:
    node = np.full((5_000, 2), 7.7, np.float32)
    node[-1] = [1.0, 1.001]
    # labels never change on the way: the sentence is won or lost at its last token
    found = astar(Lattice(node, np.array([[0, -np.inf], [-np.inf, 0]], np.float32)), n=3)
    assert found.paths[:, 0].tolist() == [1, 0]
    assert found.scores[0] - found.scores[1] == pytest.approx(0.001, rel=1e-2)


def test_a_tree_that_would_outgrow_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["sapo.search.astar"], "ROOM", 1_000)  # the name is also a function
    with pytest.raises(SapoError, match=r"A\* has no room for more than \d+ taggings of 30 tokens .* topn"):
        astar(random_lattice(30, 4), n=1_000)
