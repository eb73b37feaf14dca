"""The loop for any structure: a chain learned as a structure equals the chain, and each update is the paper's."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from literal_sapo import make_corpus
from sapo.errors import OptionError
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Longs, offsets_of
from sapo.learn.mira import mira_nbest_pass, mira_pass
from sapo.learn.perceptron import perceptron_pass
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.structured import (
    FlatWeights,
    GivenLists,
    PartCandidates,
    PartRows,
    PartStructure,
    learn_structure,
    part_coefficients,
)
from sapo.learn.weights import Weights
from sapo.search.lists import CandidateLists

LABELS = 3


class Chain(PartStructure):
    """A chain whose taggings are all listed. A part is a token with its label and the label before it."""

    def __init__(self, corpus: EncodedCorpus, order: list[int]) -> None:
        self.corpus = corpus
        self.order = order  # sample i of the structure is this sentence

    def __len__(self) -> int:
        return len(self.order)

    def _parts(self, sentence: int, tags: tuple[int, ...]) -> list[int]:
        first = int(self.corpus.offsets[sentence])
        before = (LABELS, *tags[:-1])
        return [((first + t) * (LABELS + 1) + before[t]) * LABELS + tag for t, tag in enumerate(tags)]

    def search(self, sample: int, weights: FlatWeights, n: int) -> PartCandidates:
        sentence = self.order[sample]
        length = int(np.diff(self.corpus.offsets)[sentence])
        found = []
        for tags in product(range(LABELS), repeat=length):
            parts = np.array(self._parts(sentence, tags))
            rows = self.rows(sample, parts)
            found.append((float(weights.v[rows.rows].sum(dtype=np.float64)) * weights.scale, parts))
        best = sorted(found, key=lambda one: -one[0])[:n]
        parts = np.concatenate([one[1] for one in best])
        return PartCandidates(parts, np.arange(len(best) + 1) * length, np.array([one[0] for one in best]))

    def oracle(self, sample: int) -> Longs:
        sentence = self.order[sample]
        gold = self.corpus.gold[self.corpus.offsets[sentence] : self.corpus.offsets[sentence + 1]]
        return np.array(self._parts(sentence, tuple(gold.tolist())), np.int64)

    def rows(self, sample: int, parts: Longs) -> PartRows:
        corpus, each = self.corpus, []
        for part in parts.tolist():
            tag, rest = part % LABELS, part // LABELS
            token, before = rest // (LABELS + 1), rest % (LABELS + 1)
            rows = (
                corpus.rows[corpus.row_offsets[token] : corpus.row_offsets[token + 1]].astype(np.int64) * LABELS + tag
            )
            edge = [self.edges + before * LABELS + tag] if before < LABELS else []
            each.append(np.concatenate([rows, np.array(edge, np.int64)]))
        return PartRows(np.concatenate(each), offsets_of(np.array([len(one) for one in each])))

    @property
    def edges(self) -> int:
        return (int(self.corpus.rows.max()) + 1) * LABELS

    def cost(self, sample: int, candidates: PartCandidates, oracle: Longs) -> np.ndarray:
        tags = oracle % LABELS
        return np.array([float((candidates.of(k) % LABELS != tags).sum()) for k in range(len(candidates.scores))])


@pytest.mark.parametrize(
    ("name", "passes", "settings"),
    [
        ("sapo", sapo_pass, Settings(n=4, epochs=1, rate=0.3, strength=0.5)),
        ("sapo", sapo_pass, Settings(n=200, epochs=1, rate=0.3, regularizer="none")),
        ("perceptron", perceptron_pass, Settings(n=1, epochs=1)),
        ("mira", mira_pass, Settings(n=1, epochs=1)),
        ("mira-nbest", mira_nbest_pass, Settings(n=4, epochs=1)),
    ],
)
def test_a_chain_learned_as_a_structure_gets_the_weights_of_the_chain(name, passes, settings) -> None:  # type: ignore[no-untyped-def]
    corpus = make_corpus(3)
    features = int(corpus.rows.max()) + 1
    for sentence in range(4):  # one at a time, so that both loops have the same order
        one = EncodedCorpus(
            offsets=corpus.offsets[sentence : sentence + 2],
            row_offsets=corpus.row_offsets,
            rows=corpus.rows,
            values=corpus.values,
            gold=corpus.gold,
        )
        weights = Weights.zeros(features, LABELS)
        structure = Chain(corpus, [sentence])
        rng = np.random.default_rng(sentence)
        weights.features[:] = rng.normal(size=weights.features.shape)
        weights.edges[:] = rng.normal(size=weights.edges.shape)
        flat = FlatWeights(0)
        flat.v = np.concatenate([weights.features.ravel(), weights.edges.ravel()])
        totals = np.zeros(40)
        list(passes(weights, one, np.zeros(1, np.int64), settings.rate, settings, totals))
        learn_structure(structure, flat, settings, learner=name)
        now = weights.current()
        chained = np.concatenate([now.features.ravel(), now.edges.ravel()])
        np.testing.assert_allclose(flat.v, chained, atol=2e-5)


def test_averages_are_the_mean_of_the_weights_after_each_step() -> None:
    corpus = make_corpus(5)
    settings = Settings(n=3, epochs=2, rate=0.2, strength=0.5, average=1.0)
    structure = Chain(corpus, [0, 1, 2, 3])
    seen: list[np.ndarray] = []

    class Spy(FlatWeights):
        def end_sample(self, shrink: float) -> None:
            super().end_sample(shrink)
            seen.append(self.v * self.scale)

    weights = Spy(structure.edges + LABELS * LABELS)
    learn_structure(structure, weights, settings)
    np.testing.assert_allclose(weights.v, np.mean(seen, axis=0), atol=1e-5)


@given(st.data())
def test_an_update_is_the_gold_features_minus_the_expected_ones(data: st.DataObject) -> None:
    number = st.integers(0, 6)
    some = st.lists(st.lists(number, min_size=1, max_size=4), min_size=1, max_size=4)
    found, gold = data.draw(some), data.draw(st.lists(number, min_size=1, max_size=4))
    share = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(found), max_size=len(found))))
    share /= share.sum()
    candidates = PartCandidates(
        np.array([part for parts in found for part in parts]),
        offsets_of(np.array([len(parts) for parts in found])),
        np.zeros(len(found)),
    )
    parts, coefficients = part_coefficients(candidates, np.array(gold), share)
    wanted = np.bincount(gold, minlength=7).astype(float)
    for parts_of_one, p in zip(found, share, strict=True):
        wanted -= p * np.bincount(parts_of_one, minlength=7)
    got = np.zeros(7)
    got[parts] = coefficients
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_lists_are_ranked_by_what_their_features_say() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=40)
    rows = rng.integers(40, size=(100 * 6, 3))
    lists = CandidateLists(np.arange(101) * 6, np.arange(601) * 3, rows.ravel(), np.empty(0, np.float32))
    gold = true[rows].sum(axis=1).reshape(100, 6).argmax(axis=1)
    structure, weights = GivenLists(lists, gold), FlatWeights(40)
    history = learn_structure(structure, weights, Settings(n=5, epochs=20, strength=0.0))
    right = [int(structure.search(i, weights, 1).parts[0]) - 6 * i == gold[i] for i in range(100)]
    assert np.mean(right) > 0.95
    assert history[-1].loss < history[0].loss


def test_a_list_without_a_right_candidate_changes_nothing() -> None:
    lists = CandidateLists(np.array([0, 2]), np.array([0, 1, 2]), np.array([0, 1]), np.empty(0, np.float32))
    weights = FlatWeights(2)
    learn_structure(GivenLists(lists, np.array([-1])), weights, Settings(epochs=2))
    assert not weights.v.any()


def test_an_unknown_learner_is_named() -> None:
    lists = CandidateLists(np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    with pytest.raises(OptionError, match="unknown learner 'sappo' for structures; did you mean 'sapo'"):
        learn_structure(GivenLists(lists, np.empty(0, np.int64)), FlatWeights(0), Settings(), learner="sappo")
