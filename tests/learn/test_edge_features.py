"""Edge features: a pair of labels together with an observation. Every learner equals a literal twin that has one long
vector F(x, y) of all features, scores all taggings, and knows nothing of lattices."""

import dataclasses
import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus, Pairs, observed_pairs
from sapo.jit.arrays import Doubles
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.astar import astar
from sapo.search.beam import beam
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Parameters, make_lattice
from sapo.search.topn import top_n, viterbi

LABELS, EDGE_FEATURES = 3, 5
LARGEST = 27  # n; beyond it, that of a CRF


def with_edge_rows(corpus: EncodedCorpus, seed: int) -> EncodedCorpus:
    """The same corpus with none to three edge features a token."""
    rng = np.random.default_rng([seed, 7])
    rows = [rng.permutation(EDGE_FEATURES)[: rng.integers(4)] for _ in range(corpus.tokens)]
    return dataclasses.replace(
        corpus,
        edge_row_offsets=np.cumsum([0, *map(len, rows)]),
        edge_rows=np.concatenate([np.empty(0, np.int64), *rows]).astype(np.int32),
    )


def make_weights(tiny: Any, seed: int, corpus: EncodedCorpus, *, transitions: bool = True) -> Weights:
    plain = tiny.weights(seed, corpus, transitions=transitions)
    pairs = observed_pairs(corpus, EDGE_FEATURES, LABELS)
    weights = Weights.of(plain.features, plain.edges, transitions=transitions, pairs=pairs)
    weights.pair_weights[:] = np.random.default_rng([seed, 3]).normal(size=weights.pair_weights.shape)
    return weights


class Twin:
    """All weights as one vector w; F(x, y) counts by walking the tagging."""

    def __init__(self, corpus: EncodedCorpus, weights: Weights) -> None:
        learned = weights.true_weights()
        self.corpus, self.transitions, self.pairs = corpus, weights.transitions, weights.pairs
        self.shapes = [block.shape for block in learned.blocks]
        self.w: Doubles = np.concatenate([block.ravel() for block in learned.blocks]).astype(np.float64)

    def vector(self, sentence: int, path: tuple[int, ...]) -> Doubles:
        corpus, first = self.corpus, self.corpus.offsets[sentence]
        blocks = [np.zeros(shape) for shape in self.shapes]
        for t, label in enumerate(path):
            for i in range(corpus.row_offsets[first + t], corpus.row_offsets[first + t + 1]):
                blocks[0][corpus.rows[i], label] += 1
            if t == 0:
                continue
            if self.transitions:
                blocks[1][path[t - 1], label] += 1
            for i in range(corpus.edge_row_offsets[first + t], corpus.edge_row_offsets[first + t + 1]):
                for entry, (owner, code) in enumerate(zip(self.pairs.owners, self.pairs.codes, strict=True)):
                    if (owner, code) == (corpus.edge_rows[i], path[t - 1] * LABELS + label):
                        blocks[2][entry] += 1
        return np.concatenate([block.ravel() for block in blocks])

    def taggings(self, sentence: int) -> list[tuple[float, tuple[int, ...], Doubles]]:
        """All of them with scores and vectors, best first."""
        tokens = int(np.diff(self.corpus.offsets)[sentence])
        found = [(path, self.vector(sentence, path)) for path in product(range(LABELS), repeat=tokens)]
        return sorted(((float(self.w @ vector), path, vector) for path, vector in found), key=lambda entry: -entry[0])

    def kept(self, sentence: int) -> list[tuple[float, tuple[int, ...], Doubles]]:
        """Those that have the gold tags, of which some may be missing: else the oracle alone."""
        first, last = self.corpus.offsets[sentence : sentence + 2]
        gold = self.corpus.gold[first:last].tolist()
        return [
            entry
            for entry in self.taggings(sentence)
            if all(tag in (-1, label) for tag, label in zip(gold, entry[1], strict=True))
        ]

    def oracle(self, sentence: int) -> Doubles:
        return self.kept(sentence)[0][2]

    def step(self, sentence: int, n: int, rate: float, strength: float) -> None:
        """w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), then L2. Where tags are missing see test_bound_learning."""
        change = np.zeros_like(self.w)
        kept, free = self.kept(sentence), self.taggings(sentence)[:n]
        if n <= LARGEST:
            others = [path for _, path, _ in kept[1:]]
            kept, free = kept[:1], [entry for entry in free if entry[1] not in others]
        for sign, found in ((1, kept), (-1, free)):
            mass = np.exp([score - found[0][0] for score, _, _ in found])
            for part, (_, _, vector) in zip(mass / mass.sum(), found, strict=True):
                change += sign * part * vector
        self.w += rate * change
        self.w *= 1 - rate * strength / self.corpus.sentences

    def mira_step(self, sentence: int) -> None:
        """The smallest change that brings the margin to the number of wrong tags."""
        _, path, vector = self.taggings(sentence)[0]
        first, last = self.corpus.offsets[sentence : sentence + 2]
        wrong = sum(a != b for a, b in zip(path, self.corpus.gold[first:last].tolist(), strict=True))
        change = self.oracle(sentence) - vector
        if change.any():
            self.w += max(0.0, wrong - float(self.w @ change)) / float(change @ change) * change


def run(name: str, corpus: EncodedCorpus, weights: Weights, order: list[int], rate: float, settings: Settings) -> None:
    for _ in LEARNERS[name].run(weights, corpus, np.array(order, np.int64), rate, settings, np.zeros(20)):
        pass


def flat(parameters: Parameters) -> Doubles:
    return np.concatenate([block.ravel() for block in parameters.blocks]).astype(np.float64)


@pytest.mark.parametrize("seed", range(4))
def test_lattices_score_taggings_as_the_sum_of_all_features(tiny: Any, seed: int) -> None:
    corpus = with_edge_rows(tiny.corpus(seed), seed)
    weights = make_weights(tiny, seed, corpus)
    twin = Twin(corpus, weights)
    for sentence in range(corpus.sentences):
        lattice = make_lattice(corpus, sentence, weights.true_weights())
        for score, path, _ in twin.taggings(sentence):
            assert lattice.path_score(list(path)) == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("search", [top_n, astar, lambda lattice, n: beam(lattice, n=n, width=3**6)])
def test_every_search_finds_the_best_taggings_where_steps_differ(
    tiny: Any, seed: int, search: Callable[..., Any]
) -> None:
    corpus = with_edge_rows(tiny.corpus(seed), seed)
    weights = make_weights(tiny, seed, corpus)
    twin = Twin(corpus, weights)
    for sentence in range(corpus.sentences):
        lattice = make_lattice(corpus, sentence, weights.true_weights())
        expected = twin.taggings(sentence)[:7]
        found = search(lattice, n=7)
        assert found.scores == pytest.approx([score for score, _, _ in expected], abs=1e-4)
        assert [tuple(path) for path in found.paths.tolist()] == [path for _, path, _ in expected]
        assert viterbi(lattice).paths[0].tolist() == list(expected[0][1])


@pytest.mark.parametrize("seed", range(3))
def test_tagging_uses_the_edge_features(tiny: Any, seed: int) -> None:
    corpus = with_edge_rows(tiny.corpus(seed), seed)
    weights = make_weights(tiny, seed, corpus)
    twin = Twin(corpus, weights)
    expected = [label for sentence in range(corpus.sentences) for label in twin.taggings(sentence)[0][1]]
    assert tag_corpus(corpus, weights.true_weights()).tolist() == expected


def with_open_tags(corpus: EncodedCorpus, seed: int) -> EncodedCorpus:
    """Some tags missing, all of them in the last sentence."""
    gold = np.where(np.random.default_rng([seed, 8]).random(corpus.tokens) < 0.4, -1, corpus.gold).astype(np.int32)
    gold[corpus.offsets[-2] :] = -1
    return dataclasses.replace(corpus, gold=gold)


@pytest.mark.parametrize("name", ["sapo", "crf", "perceptron"])
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_a_learner_with_edge_features_and_missing_tags_equals_its_literal_twin(
    tiny: Any, seed: int, name: str, averaged: bool
) -> None:
    corpus = with_edge_rows(tiny.corpus(seed), seed)
    weights = make_weights(tiny, seed, corpus)  # as if the pairs that are missing now had been seen before
    corpus = with_open_tags(corpus, seed)
    twin, total = Twin(corpus, weights), 0.0
    weights.prepare(averaged=averaged, l1=False)
    n = {"sapo": 4, "crf": 10**6, "perceptron": 1}[name]
    order = [*range(corpus.sentences)] * 2
    run(name, corpus, weights, order, 1.0, Settings(n=min(n, 4), strength=0.0))
    for sentence in order:
        twin.step(sentence, n, 1.0, 0.0)
        total = total + twin.w
    expected = total / len(order) if averaged else twin.w
    np.testing.assert_allclose(flat(weights.true_weights()), expected, atol=1e-3)


@pytest.mark.parametrize("transitions", [True, False])
@pytest.mark.parametrize("name", ["sapo", "crf", "perceptron", "mira"])
@pytest.mark.parametrize("seed", range(3))
def test_a_learner_with_edge_features_equals_its_literal_twin(
    tiny: Any, seed: int, name: str, transitions: bool
) -> None:
    corpus = with_edge_rows(tiny.corpus(seed), seed)
    weights = make_weights(tiny, seed, corpus, transitions=transitions)
    twin = Twin(corpus, weights)
    order = [*range(corpus.sentences)] * 2
    n = {"sapo": 4, "crf": 10**6, "perceptron": 1, "mira": 1}[name]
    regularized = name in ("sapo", "crf")
    settings = Settings(n=min(n, 4), strength=0.7 if regularized else 0.0)
    run(name, corpus, weights, order, 0.3 if regularized else 1.0, settings)
    for sentence in order:
        if name == "mira":
            twin.mira_step(sentence)
        else:
            twin.step(sentence, n, 0.3 if regularized else 1.0, settings.strength)
    np.testing.assert_allclose(flat(weights.true_weights()), twin.w, atol=2e-4)


@pytest.mark.parametrize("name", ["sapo-avg", "crf-avg", "perceptron-avg"])
def test_averages_are_over_all_steps(tiny: Any, name: str) -> None:
    corpus = with_edge_rows(tiny.corpus(1), 1)
    weights = make_weights(tiny, 1, corpus)
    twin, total = Twin(corpus, weights), 0.0
    weights.prepare(averaged=True, l1=False)
    n = {"sapo-avg": 4, "crf-avg": 10**6, "perceptron-avg": 1}[name]
    order = [*range(corpus.sentences)] * 2
    run(name, corpus, weights, order, 1.0, Settings(n=min(n, 4), strength=0.0))
    for sentence in order:
        twin.step(sentence, n, 1.0, 0.0)
        total = total + twin.w
    np.testing.assert_allclose(flat(weights.true_weights()), total / len(order), atol=1e-3)


def test_n_best_mira_separates_the_oracle_from_all_its_rivals(tiny: Any) -> None:
    corpus = with_edge_rows(tiny.corpus(2), 2)
    weights = make_weights(tiny, 2, corpus)
    run("mira-nbest", corpus, weights, [0], 1.0, Settings(n=27))
    twin = Twin(corpus, weights)
    gold = tuple(corpus.gold[corpus.offsets[0] : corpus.offsets[1]].tolist())
    mine = float(twin.w @ twin.oracle(0))
    margins = [
        mine - score - sum(a != b for a, b in zip(path, gold, strict=True)) for score, path, _ in twin.taggings(0)
    ]
    before = Twin(corpus, make_weights(tiny, 2, corpus)).taggings(0)[:27]
    bound = {path for _, path, _ in before}
    kept = [margin for margin, (_, path, _) in zip(margins, twin.taggings(0), strict=True) if path in bound]
    assert min(kept) >= -1e-3


def test_l1_empties_edge_features_too(tiny: Any) -> None:
    corpus = with_edge_rows(tiny.corpus(3), 3)
    weights = make_weights(tiny, 3, corpus)
    weights.prepare(averaged=False, l1=True)
    run("sapo", corpus, weights, [*range(corpus.sentences)] * 20, 0.5, Settings(regularizer="l1", strength=9.0))
    weights.pay_penalties()
    assert (weights.pair_weights == 0).mean() > 0.5


def test_only_pairs_that_were_seen_with_a_feature_have_a_weight() -> None:
    corpus = EncodedCorpus(
        np.array([0, 3, 5]),
        np.zeros(6, np.int64),
        np.empty(0, np.int32),
        gold=np.array([0, 1, 1, 2, 0], np.int32),
        edge_row_offsets=np.array([0, 1, 3, 4, 5, 6]),
        edge_rows=np.array([0, 0, 1, 0, 1, 1], np.int32),
    )
    pairs = observed_pairs(corpus, 2, 3)
    assert pairs.offsets.tolist() == [0, 2, 4]
    assert pairs.codes.tolist() == [0 * 3 + 1, 1 * 3 + 1, 0 * 3 + 1, 2 * 3 + 0]


def test_tags_that_are_open_show_no_pair() -> None:
    corpus = EncodedCorpus(
        np.array([0, 4]),
        np.zeros(5, np.int64),
        np.empty(0, np.int32),
        gold=np.array([0, -1, 1, 0], np.int32),
        edge_row_offsets=np.arange(5),
        edge_rows=np.zeros(4, np.int32),
    )
    assert observed_pairs(corpus, 1, 2).codes.tolist() == [1 * 2 + 0]


def test_no_edge_features_are_no_pairs(tiny: Any) -> None:
    assert observed_pairs(tiny.corpus(0), 0, 3).offsets.tolist() == Pairs.none().offsets.tolist() == [0]


def test_forty_five_labels_need_no_more_than_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    tokens = 5000
    corpus = EncodedCorpus(
        np.array([0, tokens]),
        np.zeros(tokens + 1, np.int64),
        np.empty(0, np.int32),
        gold=rng.integers(45, size=tokens).astype(np.int32),
        edge_row_offsets=np.arange(tokens + 1),
        edge_rows=rng.integers(1000, size=tokens).astype(np.int32),
    )
    assert len(observed_pairs(corpus, 1000, 45).codes) < tokens  # not 1000 * 2025


def test_the_objective_is_a_number(tiny: Any) -> None:
    corpus = with_edge_rows(tiny.corpus(0), 0)
    totals = np.zeros(20)
    for name in ("sapo", "crf", "mira-nbest"):
        weights = make_weights(tiny, 0, corpus)
        list(LEARNERS[name].run(weights, corpus, np.arange(corpus.sentences), 0.1, Settings(), totals))
    assert math.isfinite(totals.sum())
