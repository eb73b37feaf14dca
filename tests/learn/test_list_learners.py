"""Every learner learns the same with lists as with a matrix, and with short lists of labels what they allow."""

import dataclasses
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from literal_sapo import SHARED, Literal
from sapo.features.encoded import EncodedCorpus, observed_pairs
from sapo.learn import LEARNERS, loop
from sapo.learn import rows as module
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.rows import LearningRows
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search import weights as frozen_module
from sapo.search.weights import FeatureRows, Lists

LABELS, EDGE_FEATURES = 5, 4
EVERY = Lists(LABELS, np.arange(LABELS, dtype=np.int32), np.zeros(1, np.int64), np.empty(0, np.uint16))
LENGTHS = (3, 1, 4, 2)


@pytest.fixture(autouse=True, scope="module")
def _little_room() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen_module, "FEW_LABELS", 0)
        for name, size in (("ENTRIES", 2), ("DENSE", 1), ("SPARE_ROWS", 1)):
            patch.setattr(module, name, size)
        yield


def make_corpus(tiny: Any, seed: int, kind: str) -> EncodedCorpus:
    corpus: EncodedCorpus = tiny.corpus(seed, lengths=LENGTHS, labels=LABELS, values=kind == "values")
    rng = np.random.default_rng([seed, 9])
    if kind == "edges":
        rows = [rng.permutation(EDGE_FEATURES)[: rng.integers(3)] for _ in range(corpus.tokens)]
        flat = np.concatenate(rows).astype(np.int32)
        return dataclasses.replace(corpus, edge_row_offsets=np.cumsum([0, *map(len, rows)]), edge_rows=flat)
    if kind == "importance":
        return dataclasses.replace(corpus, importance=rng.uniform(0, 2, corpus.tokens).astype(np.float32))
    if kind == "missing":
        gold = corpus.gold.copy()
        gold[[1, 3, 8]] = -1
        gold[5] = -2
        allowed = np.array([[True, False, True, False, False]])
        return dataclasses.replace(corpus, gold=gold, allowed=allowed)
    return corpus


def make_weights(seed: int, corpus: EncodedCorpus, name: str, *, l1: bool = False, **how: Any) -> Weights:
    """Random weights, half of them zero; a perceptron begins with zero, so that all of its weights are whole."""
    rng = np.random.default_rng([seed, 1])
    start = rng.normal(size=(SHARED + corpus.tokens, LABELS)).astype(np.float32)
    if how.get("sparse", True):
        start *= rng.integers(2, size=start.shape)
    pairs = observed_pairs(corpus, EDGE_FEATURES, LABELS) if len(corpus.edge_row_offsets) > 1 else None
    weights = Weights.zeros(len(start), LABELS, pairs=pairs, matrix=how["matrix"])
    if not (name.startswith("perceptron") and how.get("whole", True)):
        weights.edges[:] = rng.normal(size=weights.edges.shape)
        if how["matrix"]:
            weights.rows.dense[:] = start
        else:
            made = FeatureRows.of_matrix(start).entries()
            weights.rows = LearningRows.of_rows(FeatureRows.of_entries(*made, LABELS))
    weights.prepare(averaged=LEARNERS[name].averaged, l1=l1)
    weights.lists = how.get("lists", weights.lists)
    return weights


def run(corpus: EncodedCorpus, name: str, weights: Weights, *, regularizer: str = "l2", **values: Any) -> Any:
    learner = LEARNERS[name]
    if not learner.regularized:
        regularizer = "none"
    chosen = Settings(
        n=values.pop("n", 3), rate=0.3, strength=0.2, regularizer=regularizer, epochs=4, tolerance=0.0, **values
    )
    state = State(weights)
    learn(learner.run, corpus, chosen, state)
    return state, final_weights(state)


def assert_same(one: Any, other: Any, *, exactly: bool = False) -> None:
    for a, b in zip(one[1].blocks, other[1].blocks, strict=True):
        if exactly:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
    for a, b in zip(one[0].history, other[0].history, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-4, abs=1e-5)
        assert (a.accuracy, a.updates, a.candidates) == (b.accuracy, b.updates, b.candidates)


@pytest.mark.parametrize("kind", ["plain", "values", "edges", "importance", "missing"])
@pytest.mark.parametrize("name", list(LEARNERS))
def test_lists_learn_what_a_matrix_learns(tiny: Any, name: str, kind: str) -> None:
    for seed in range(3):
        corpus = make_corpus(tiny, seed, kind)
        lists, matrix = (run(corpus, name, make_weights(seed, corpus, name, matrix=matrix)) for matrix in (False, True))
        assert lists[0].weights.rows.listed
        assert not matrix[0].weights.rows.listed
        assert_same(lists, matrix, exactly=name.startswith("perceptron") and kind in ("plain", "edges", "missing"))


@pytest.mark.parametrize("regularizer", ["l1", "none"])
@pytest.mark.parametrize("name", ["sapo", "sapo-avg", "crf", "crf-avg"])
def test_so_they_do_with_every_regularizer(
    tiny: Any, name: str, regularizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SAMPLES_PER_RUN", 2)
    for seed, kind in enumerate(["plain", "edges"]):
        corpus = make_corpus(tiny, seed, kind)
        lists, matrix = (
            run(
                corpus,
                name,
                make_weights(seed, corpus, name, matrix=matrix, l1=regularizer == "l1"),
                regularizer=regularizer,
            )
            for matrix in (False, True)
        )
        assert_same(lists, matrix)


@pytest.mark.parametrize("layout", [False, True])
@pytest.mark.parametrize("kind", ["plain", "values", "edges", "importance", "missing"])
@pytest.mark.parametrize("name", [name for name in LEARNERS if not name.endswith("-avg")])
def test_short_lists_that_leave_nothing_out_learn_what_all_labels_learn(
    tiny: Any, name: str, kind: str, layout: bool
) -> None:
    for seed in range(3):
        corpus = make_corpus(tiny, seed + 10, kind)
        short, every = (
            run(corpus, name, make_weights(seed, corpus, name, matrix=layout, **how)) for how in ({"lists": EVERY}, {})
        )
        if name.startswith("perceptron"):  # begins with ties, which the order of labels decides
            assert np.isfinite(short[1].features).all()
        else:
            assert_same(short, every)


class ShortLiteral(Literal):
    """Algorithm 1 over the taggings that the lists allow."""

    lists: Lists

    def allowed(self, sentence: int) -> list[list[int]]:
        corpus, found = self.corpus, []
        reached = np.zeros(LABELS)  # how well each label can be reached from the labels that were left before
        for token in range(*corpus.offsets[sentence : sentence + 2].tolist()):
            span = slice(*corpus.row_offsets[token : token + 2].tolist())
            values = corpus.values[span] if len(corpus.values) else np.ones(span.stop - span.start)
            scores = values @ self.features[corpus.rows[span]]
            gold, most = int(corpus.gold[token]), self.lists.most
            total = scores + reached
            few = sorted(range(LABELS), key=total.__getitem__, reverse=True)[:most]  # words count in tagging alone
            reached = np.max([total[p] + self.edges[p] for p in few], axis=0)
            if gold not in few:
                few = [*few[: most - 1], gold]
            found.append(few)
        return found

    def top_n(self, sentence: int, settings: Settings) -> list[tuple[float, tuple[int, ...]]]:
        paths = product(*self.allowed(sentence))
        return sorted(((self.score(sentence, path), path) for path in paths), reverse=True)[: settings.number]


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(("name", "n"), [("sapo", 3), ("sapo", 1), ("crf", 1000)])
def test_learners_on_short_lists_are_algorithm_1_over_what_the_lists_allow(
    tiny: Any, name: str, n: int, words: bool, values: bool
) -> None:
    for seed in range(4):
        corpus = make_corpus(tiny, seed, "values" if values else "plain")
        offsets, seen = np.zeros(1, np.int64), np.empty(0, np.uint16)
        if words:
            numbers = np.random.default_rng(seed).integers(-1, 4, corpus.tokens).astype(np.int32)
            corpus = dataclasses.replace(corpus, words=numbers)
            offsets, seen = np.array([0, 1, 1, 3]), np.array([2, 0, 4], np.uint16)  # word 3 came later
        lists = Lists(2, np.arange(LABELS, dtype=np.int32), offsets, seen)
        weights = make_weights(seed, corpus, name, matrix=seed % 2 == 0, lists=lists, sparse=False)
        literal = ShortLiteral.like(corpus, weights)
        literal.lists = lists  # type: ignore[attr-defined]
        state = State(weights)
        settings = Settings(n=n, rate=0.3, strength=0.2, schedule="fixed", epochs=3, tolerance=0.0)
        orders: list[list[int]] = []

        def watched(*arguments: Any, orders: list[list[int]] = orders) -> Any:
            orders.append(arguments[2].tolist())
            return LEARNERS[name].run(*arguments)

        learn(watched, corpus, settings, state)
        for order in orders:
            for sentence in order:
                literal.sample(sentence, 0.3, settings)
        found = final_weights(state)
        np.testing.assert_allclose(found.features, literal.features, rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(found.edges, literal.edges, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("averaged", [False, True])
def test_a_crf_with_fixed_pairs_changes_no_other(tiny: Any, averaged: bool) -> None:
    for seed in range(3):
        corpus = tiny.corpus(seed, lengths=LENGTHS, labels=LABELS)
        weights = Weights.zeros(SHARED + corpus.tokens, LABELS, averaged=averaged, matrix=False)
        weights.rows.fix(corpus.gold, corpus.row_offsets, corpus.rows)
        literal = tiny.literal(corpus, weights)
        has = np.zeros((SHARED + corpus.tokens, LABELS), bool)
        has[corpus.rows, np.repeat(corpus.gold, np.diff(corpus.row_offsets))] = True
        has[has.sum(axis=1) >= frozen_module.dense_from(LABELS)] = True  # a dense row has all
        mask = np.concatenate([has.ravel(), np.ones(LABELS * LABELS, bool)])
        order = np.random.default_rng(seed).integers(len(LENGTHS), size=30)
        list(LEARNERS["crf"].run(weights, corpus, order, 0.3, Settings(strength=0.2), np.zeros(20)))
        for sentence in order.tolist():
            paths, table = literal.table(sentence)
            scores = table @ literal.flat
            mass = np.exp(scores - scores.max())
            gradient = table[paths.index(literal.oracle(sentence))] - mass @ table / mass.sum()
            now = literal.flat + 0.3 * mask * gradient
            literal.step((1 - 0.3 * 0.2 / len(LENGTHS)) * now - literal.flat)
        expected = literal.average() if averaged else (literal.features, literal.edges)
        found = weights.true_weights()
        np.testing.assert_allclose(found.features, expected[0], rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(found.edges, expected[1], rtol=1e-4, atol=2e-5)
        assert not found.features[~has].any()


@pytest.mark.parametrize("regularizer", ["l2", "l1"])
@pytest.mark.parametrize("name", ["sapo", "sapo-avg"])
def test_threads_share_lists_that_grow(tiny: Any, name: str, regularizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAMPLES_PER_RUN", 9)
    corpus = tiny.corpus(5, lengths=(3, 4, 2) * 20, labels=LABELS)
    results = []
    for threads in (1, 2):
        weights = Weights.zeros(
            SHARED + corpus.tokens, LABELS, averaged="avg" in name, l1=regularizer == "l1", matrix=False
        )
        state, found = run(corpus, name, weights, regularizer=regularizer, threads=threads, block=3)
        assert all(np.isfinite(block).all() for block in found.blocks)
        owner, places = frozen_module.entry_places(weights.rows.head)
        assert len(owner) == 0 or places.max() < weights.rows.room[0] <= len(weights.rows.v)
        results.append((state.history[-1].accuracy, found.features.tobytes()))
    assert results[1] == results[0]
