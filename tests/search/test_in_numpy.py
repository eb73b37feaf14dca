"""What runs where kernels are interpreted computes what their loops compute, added up in the same order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus, Pairs
from sapo.jit.kernels import _in_numpy
from sapo.search import marginals
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows, no_rows

FORMS = {function.__name__: (function, form) for function, form in _in_numpy.items()}
FEATURES = 9


def both(name: str, *outputs: int) -> Callable[..., list[list[Any]]]:
    """Return a function that calls both forms of a kernel, and returns results and arrays that they wrote."""

    def call(*arguments: Any) -> list[list[Any]]:
        found = []
        for form in FORMS[name]:
            own = [one.copy() if place in outputs else one for place, one in enumerate(arguments)]
            found.append([form(*own), *(own[place] for place in outputs)])
        return found

    return call


def lattice(seed: int, T: int, L: int, stages: int, bans: float, size: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    node, edge = rng.normal(0, size, (T, L)), rng.normal(0, size, (stages, L, L))
    edge[rng.random(edge.shape) < bans] = -np.inf
    node[rng.random(node.shape) < bans / 2] = -np.inf
    return node.astype(np.float32), edge.astype(np.float32)


LATTICES = st.builds(
    lambda seed, T, L, many, bans, size: lattice(seed, T, L, max(T, 2) if many else 1, bans, size),
    st.integers(0, 999),
    st.sampled_from([1, 2, 5, 40]),
    st.integers(1, 7),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from([1.0, 30.0, 300.0]),
)


def test_all_kernels_with_two_forms_are_tested_here() -> None:
    tested = {"best_scores", "best_path", "spread", "forward_backward_scaled", "score_features", "score_rows"}
    assert set(FORMS) == {*tested, "fill_edges"}


@given(LATTICES)
@settings(deadline=None, max_examples=200)
def test_scores_and_path(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    node, edge = drawn
    T, L = node.shape
    empty, row = np.zeros((T, L), np.float32), np.zeros(L + 2, np.float32)
    loops, form = both("best_scores", 3)(node, edge, T, empty, row)
    assert loops[0] == form[0]
    np.testing.assert_array_equal(loops[1], form[1])
    turned = edge.transpose(0, 2, 1).copy()
    loops, form = both("best_path", 3)(loops[1], turned, T, np.zeros(T, np.int32))
    np.testing.assert_array_equal(loops[1], form[1])


@given(LATTICES)
@settings(deadline=None, max_examples=200)
def test_sums(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    node, edge = drawn
    T, L = node.shape
    loops, form = both("spread")(node)
    assert loops == form
    alpha, pairs = np.zeros((T, L)), np.full((max(edge.shape[0], 1), L, L), 7.0)
    arguments = node, edge, T, alpha, alpha, alpha, pairs
    loops, form = both("forward_backward_scaled", 3, 4, 5, 6)(*arguments)
    (done, log_z), (also_done, also_log_z) = loops[0], form[0]
    assert done == also_done
    assert log_z == pytest.approx(also_log_z, rel=1e-12, abs=1e-12)
    if done and log_z > -np.inf:
        for one, other in zip(loops[1:], form[1:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-300)


@given(st.integers(0, 999), st.integers(1, 6), st.booleans(), st.sampled_from([1.0, 0.3]))
@settings(deadline=None, max_examples=100)
def test_features_are_added_up_in_the_same_order(seed: int, L: int, weighted: bool, scale: float) -> None:
    rng = np.random.default_rng(seed)
    T = 3
    offsets = np.append(0, np.cumsum(rng.integers(0, 12, T)))
    rows = rng.integers(0, FEATURES, offsets[-1]).astype(np.int32)
    values = rng.normal(size=len(rows)).astype(np.float32) if weighted else np.empty(0, np.float32)
    samples = EncodedCorpus(np.array([0, T]), offsets, rows, values).samples
    weights = rng.normal(size=(FEATURES, L)).astype(np.float32)
    weights[rng.random(weights.shape) < 0.4] = 0
    for sparse in (no_rows(weights), _listed(weights)):
        name = "score_rows" if len(sparse.head) else "score_features"
        loops, form = both(name, 5)(0, T, samples, sparse, scale, np.full((T, L), 9, np.float32))
        # one label: NumPy adds up a column of numbers in another order
        compare = np.testing.assert_array_equal if L > 1 else _close
        compare(loops[1], form[1])


def _close(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def _listed(weights: np.ndarray) -> Any:
    """Return weights as rows with short lists, as there are if there are many labels."""
    L = weights.shape[1]
    wide = np.zeros((len(weights), 50), np.float32)
    wide[:, :L] = weights
    counts = (wide != 0).sum(axis=1).astype(np.int32)
    labels = np.nonzero(wide)[1].astype(np.uint16)
    rows = FeatureRows.of_entries(counts, labels, wide[wide != 0], 50)
    return Parameters(rows, np.zeros((50, 50), np.float32), Pairs.none(), np.empty((0, 1)), no_bans(50)).arrays.features


@given(st.integers(0, 999), st.integers(1, 5), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=100)
def test_edges(seed: int, L: int, many: bool, turned: bool) -> None:
    rng = np.random.default_rng(seed)
    T, E = 4, 3
    offsets = np.append(0, np.cumsum(rng.integers(0, 3, T)))
    edge_rows = rng.integers(0, E, offsets[-1]).astype(np.int32)
    corpus = EncodedCorpus(
        np.array([0, T]), np.zeros(T + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32),
        edge_row_offsets=offsets if many else np.zeros(1, np.int64), edge_rows=edge_rows,
    )  # fmt: skip
    sizes = rng.integers(0, L * L + 1, E)
    codes = np.concatenate([np.sort(rng.permutation(L * L)[:size]) for size in sizes]).astype(np.int32)
    pairs = Pairs(np.append(0, np.cumsum(sizes)), codes)
    weights = rng.normal(size=(len(codes), 1)).astype(np.float32)
    edges, bans = rng.normal(size=(L, L)).astype(np.float32), no_bans(L)
    bans[rng.random(bans.shape) < 0.2] = -np.inf
    arrays = Parameters(no_feature_rows(L), edges, pairs, weights, bans).arrays
    edge = np.zeros((T if many else 1, L, L), np.float32)
    edge_to = edge[: len(edge) if turned else 0]
    loops, form = both("fill_edges", 5, 6)(0, T, corpus.samples, arrays, 1.0, edge, edge_to)
    np.testing.assert_allclose(loops[1], form[1], rtol=1e-6)
    np.testing.assert_allclose(loops[2], form[2], rtol=1e-6)


def no_feature_rows(L: int) -> FeatureRows:
    return FeatureRows.of_entries(np.empty(0, np.int32), np.empty(0, np.uint16), np.empty(0, np.float32), L)


def test_probabilities_that_vanish_are_left_to_logarithms() -> None:
    node, edge = lattice(1, 4, 3, 1, 0.0, 900.0)
    loops, form = both("forward_backward_scaled")(node, edge, 4, *np.zeros((3, 4, 3)), np.zeros((1, 3, 3)))
    assert loops[0] == form[0] == (False, 0.0)
    assert marginals.WIDEST == 600
