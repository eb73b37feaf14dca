"""Weights as lists that grow are the same weights as a matrix, whatever is done to them."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Floats, Ints
from sapo.learn import rows as module
from sapo.learn.rows import (
    ALL_ROWS,
    DENSE_FROM,
    DENSE_LIMIT,
    DENSE_USED,
    FIXED,
    LIMIT,
    USED,
    LearningRows,
    change_features,
    has_room,
    penalize_feature,
)
from sapo.learn.weights import CLOCK, PENALTY, SCALE, STEPS, Weights
from sapo.search import weights as frozen_module
from sapo.search.weights import COUNT, START, FeatureRows, put_rows, scale_rows

FEATURES, LABELS = 6, 24  # a row is dense from three labels on, and its list has room for four


@pytest.fixture(autouse=True, scope="module")
def _little_room() -> Iterator[None]:
    """Lists for few labels, too, and so little room that they grow all the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen_module, "FEW_LABELS", 0)
        patch.setattr(frozen_module, "AT_ONCE", 2)
        for name, size in (("ENTRIES", 2), ("DENSE", 1), ("SPARE_ROWS", 1), ("SPARE_LABELS", 2)):
            patch.setattr(module, name, size)
        yield


small = st.integers(-3, 3).map(float)
features = st.lists(st.integers(0, FEATURES - 1), min_size=1, max_size=4)
changes = st.tuples(
    st.just("change"),
    features,
    st.dictionaries(st.integers(0, LABELS - 1), small, min_size=1, max_size=5),
    st.sampled_from([None, 2.0, -1.0]),
)
everywhere = st.tuples(st.just("change"), features, st.just(dict.fromkeys(range(LABELS), 1.0)), st.none())
others = st.sampled_from([("fold",), ("pay",), ("sentence",), ("grow",), ("labels",), ("scale",)])
work = st.lists(st.one_of(changes, changes, changes, everywhere, others), max_size=25)


class Both:
    """The same weights as lists and as a matrix, which numpy changes."""

    def __init__(self, *, averaged: bool, l1: bool) -> None:
        self.lists, self.matrix = (
            Weights.zeros(FEATURES, LABELS, averaged=averaged, l1=l1, matrix=matrix) for matrix in (False, True)
        )
        self.averaged, self.l1, self.labels = averaged, l1, LABELS

    def change(self, rows: list[int], deltas: dict[int, float], value: float | None) -> None:
        nodes = self.lists.rows
        if not has_room(len(rows), nodes.arrays):
            nodes.grow(len(rows))
        change(nodes, rows, deltas, value, self.labels, self.lists.state[CLOCK])
        for f in rows:
            for y, delta in deltas.items():
                by = np.float32(delta * (1.0 if value is None else value))
                self.matrix.rows.dense[f, y] += by
                if self.averaged:
                    self.matrix.rows.dense_sums[f, y] += by * np.float32(self.matrix.state[CLOCK])

    def do(self, what: str) -> None:
        lists = self.lists.rows
        if what == "grow":
            lists.grow(3)
        elif what == "labels":
            self.labels += 1
            for weights in (self.lists, self.matrix):
                weights.rows.add_labels(self.labels)
        else:
            for weights in (self.lists, self.matrix):
                do_to_all(what, weights, self)

    def check(self) -> None:
        lists, count = self.lists.rows, self.labels
        expected = self.matrix.rows.dense[:, :count]
        found = FeatureRows(lists.rows, count)
        np.testing.assert_allclose(self.lists.features, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            self.lists.true_weights().features, self.matrix.true_weights().features, rtol=1e-4, atol=1e-4
        )
        some = np.array([3, 0, 3], np.int32)
        np.testing.assert_array_equal(found.gathered(some), self.lists.features[some])
        assert_same_rows(found, self.lists.features)
        assert_same_rows(FeatureRows.of_entries(*found.entries(), count), self.lists.features)
        again = LearningRows.of_rows(FeatureRows.of_entries(*found.entries(), count))
        assert_same_rows(FeatureRows(again.rows, count), self.lists.features)
        assert self.lists.absolute_norm() == pytest.approx(self.matrix.absolute_norm(), rel=1e-5, abs=1e-5)
        assert self.lists.squared_norm() == pytest.approx(self.matrix.squared_norm(), rel=1e-5, abs=1e-5)
        assert lists.room[USED] <= lists.room[LIMIT] <= len(lists.v)
        assert not lists.v[lists.room[USED] :].any()


def change(
    nodes: LearningRows, rows: list[int], deltas: dict[int, float], value: float | None, labels: int, clock: float
) -> None:
    """Change the weights of the features of a sentence of one token."""
    wanted = np.array([list(deltas)], np.int32)
    delta = np.array([list(deltas.values())], np.float32)
    if len(deltas) == labels:
        delta[0, wanted[0]] = list(deltas.values())
        wanted = wanted[:, :0]
    values = np.full(0 if value is None else len(rows), value or 0.0, np.float32)
    corpus = EncodedCorpus(np.array([0, 1]), np.array([0, len(rows)]), np.array(rows, np.int32), values)
    counts = np.array([len(deltas)], np.int32)
    change_features(0, 1, corpus.samples, wanted, counts, delta, nodes.arrays, clock, ALL_ROWS)


def do_to_all(what: str, weights: Weights, both: Both) -> None:
    state = weights.state
    if what == "fold":
        state[SCALE] = 0.5
        weights.fold()
    elif what == "pay" and both.l1:
        state[PENALTY] += 0.5
        weights.pay_penalties()
    elif what == "sentence":
        if both.l1:
            state[PENALTY] += 0.25
            for f in (0, 2, 5):
                penalize_feature(f, weights.rows.arrays, state[CLOCK], state[PENALTY])
        state[CLOCK] += state[SCALE]
        state[STEPS] += 1
    elif what == "scale":
        some = np.array([1, 4], np.int32)
        scale_rows(some, np.array([2.0, 0.5], np.float32), weights.rows.rows)
        if both.averaged:  # it is between samples, and no change that an average knows of
            scale_rows(some, np.array([0.5, 2.0], np.float32), weights.rows.rows)


def assert_same_rows(found: FeatureRows, matrix: Floats) -> None:
    np.testing.assert_array_equal(found.matrix(), matrix)
    counts, labels, values = found.entries()
    rows, columns = np.nonzero(matrix)
    assert counts.tolist() == np.count_nonzero(matrix, axis=1).tolist()
    assert labels.tolist() == columns.tolist()
    assert values.tolist() == matrix[rows, columns].tolist()
    assert found.nonzero == len(rows)
    best, weights = found.strongest()
    assert best.tolist() == np.abs(matrix).argmax(axis=1).tolist()
    assert weights.tolist() == matrix[np.arange(len(matrix)), best].tolist()
    assert found.largest().tolist() == np.abs(matrix).max(axis=1).tolist()
    for label in (0, 2, matrix.shape[1] - 1):
        assert found.column(label).tolist() == matrix[:, label].tolist()


@settings(max_examples=60, deadline=None)
@given(work=work, averaged=st.booleans(), l1=st.booleans())
def test_lists_are_the_matrix_whatever_is_done_to_them(work: list[Any], averaged: bool, l1: bool) -> None:
    both = Both(averaged=averaged, l1=l1)
    for what, *how in work:
        if what == "change":
            both.change(*how)
        else:
            both.do(what)
    both.check()


@settings(max_examples=40, deadline=None)
@given(before=st.lists(changes, max_size=8), after=st.lists(st.one_of(changes, everywhere), max_size=8))
def test_weights_that_are_put_back_are_what_they_were(before: list[Any], after: list[Any]) -> None:
    both = Both(averaged=False, l1=False)
    for _, *how in before:
        both.change(*how)
    kept, every = both.lists.features, np.arange(FEATURES, dtype=np.int32)
    both.lists.rows.add_labels(LABELS + 3)
    both.labels = LABELS + 3
    for _, rows, deltas, value in after:
        nodes = both.lists.rows
        if not has_room(len(rows), nodes.arrays):
            nodes.grow(len(rows))
        change(nodes, rows, {**deltas, LABELS + 1: 1.0}, value, LABELS + 3, 0.0)
    put_rows(every, both.lists.rows.rows, kept)
    np.testing.assert_array_equal(both.lists.features[:, :LABELS], kept)
    assert not both.lists.features[:, LABELS:].any()
    both.lists.rows.drop_labels(LABELS)
    assert_same_rows(FeatureRows(both.lists.rows.rows, LABELS), kept)
    _, places = frozen_module.entry_places(both.lists.rows.head)
    assert (both.lists.rows.labels[places] < LABELS).all()


@pytest.mark.parametrize("averaged", [False, True])
def test_final_weights_are_the_true_ones_and_are_given_up(averaged: bool) -> None:
    both = Both(averaged=averaged, l1=False)
    both.change([0, 2, 5], {3: 1.0, 7: 2.0, 23: -1.0}, None)
    both.do("sentence")
    both.change([2, 4], {1: 3.0}, 2.0)
    expected = both.lists.true_weights().features
    assert_same_rows(both.lists.final().rows, expected)
    assert not both.lists.features.any()
    assert len(both.lists.rows.head) == FEATURES


def test_packing_takes_little_more_memory_than_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_module, "AT_ONCE", 1 << 12)
    features, labels = 1 << 16, 40
    weights = Weights.zeros(features, labels, averaged=True, matrix=False)
    weights.rows.dense = np.ones((features, labels), np.float32)
    weights.rows.dense_sums = np.full_like(weights.rows.dense, -1)
    weights.rows.head[:] = -1 - np.arange(features)
    weights.rows.room[[DENSE_USED, DENSE_LIMIT]] = features
    size = weights.rows.dense.nbytes
    tracemalloc.start()
    try:
        rows = weights.final().rows
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows.nonzero == features * labels
    # labels and values of all entries, those of one block twice, and the rows: the old ones were not traced
    assert peak < 3.5 * size


def test_a_label_that_goes_takes_no_other_with_it() -> None:
    rows = LearningRows.zeros(2, 40, matrix=False)
    rows.grow(8)
    change(rows, [0, 1], {39: 1.0, 3: 2.0, 38: 3.0, 5: 4.0}, None, 40, 0.0)
    rows.drop_labels(38)
    expected = np.zeros((2, 38), np.float32)
    expected[:, 3], expected[:, 5] = 2.0, 4.0
    np.testing.assert_array_equal(rows.gathered(np.array([0, 1], np.int32)), expected)
    change(rows, [1], {7: 1.0, 3: 1.0}, None, 38, 0.0)
    assert rows.gathered(np.array([1], np.int32))[0, [3, 5, 7]].tolist() == [3.0, 4.0, 1.0]


def test_a_dense_row_that_nobody_has_is_left_out() -> None:
    """Two threads may make a feature dense at the same time: one of the rows is lost."""
    head = np.array([-2, 0], np.int64)
    dense = np.array([[1.0, 2.0], [0.0, 3.0]], np.float32)
    rows = FeatureRows(frozen_module.no_rows(dense)._replace(head=head), 2)
    assert [array.tolist() for array in rows.entries()] == [[1, 0], [1], [3.0]]


def test_no_features_have_no_rows() -> None:
    for matrix in (None, False, True):
        rows = LearningRows.zeros(0, 100, matrix=matrix)
        assert rows.features == rows.size == 0
    none: Ints = np.empty(0, np.int32)
    assert FeatureRows.of_entries(none, none.astype(np.uint16), none.astype(np.float32), 100).features == 0


def test_pairs_that_are_fixed_are_those_of_the_gold_tags(tiny: Any) -> None:
    corpus = tiny.corpus(4, labels=LABELS)
    corpus.gold[2] = -1
    rows = LearningRows.zeros(3 + corpus.tokens, LABELS, matrix=False)
    rows.prepare(averaged=True, l1=True)
    rows.fix(corpus.gold, corpus.row_offsets, corpus.rows)
    seen: dict[int, set[int]] = {f: set() for f in range(rows.features)}
    for token in range(corpus.tokens):
        for f in corpus.rows[corpus.row_offsets[token] : corpus.row_offsets[token + 1]].tolist():
            if corpus.gold[token] >= 0:
                seen[f].add(int(corpus.gold[token]))
    every = dict.fromkeys(range(LABELS), 1.0)
    change(rows, list(range(rows.features)), every, None, LABELS, 2.0)
    for f, weights in enumerate(rows.gathered(np.arange(rows.features, dtype=np.int32))):
        dense = len(seen[f]) >= frozen_module.dense_from(LABELS)
        assert set(np.flatnonzero(weights).tolist()) == (set(range(LABELS)) if dense else seen[f])
    assert has_room(10**6, rows.arrays)
    assert (rows.sums == 2 * rows.v).all()


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("room", LIMIT, 10**6),
        ("room", DENSE_LIMIT, 10**6),
        ("room", USED, 10**6),
        ("room", DENSE_FROM, 1),
        ("room", FIXED, 1),
        ("head", 0, -(10**6)),
        ("head", 0, 10**6 << START | 1 << COUNT),
        ("head", 0, 15),
        ("labels", 0, LABELS),
    ],
)
def test_rows_of_a_checkpoint_that_would_lead_a_kernel_astray_are_refused(name: str, at: int, value: int) -> None:
    both = Both(averaged=True, l1=False)
    both.change([0, 1], {1: 1.0, 2: 2.0}, None)
    arrays = {key: array.copy() for key, array in both.lists.arrays(None).items()}
    fresh = Weights.zeros(FEATURES, LABELS, averaged=True, matrix=False)
    fresh.load(arrays, 1)
    np.testing.assert_array_equal(fresh.features, both.lists.features)
    arrays[f"rows.{name}"][at] = value
    with pytest.raises(ValueError, match="do not fit"):
        Weights.zeros(FEATURES, LABELS, averaged=True, matrix=False).load(arrays, 1)


def test_rows_of_a_checkpoint_without_their_sums_are_refused() -> None:
    both = Both(averaged=True, l1=False)
    for name in ("rows.sums", "rows.dense_sums"):
        arrays = dict(both.lists.arrays(None))
        arrays[name] = arrays[name][:0]
        with pytest.raises(ValueError, match="do not fit"):
            Weights.zeros(FEATURES, LABELS, averaged=True, matrix=False).load(arrays, 1)
