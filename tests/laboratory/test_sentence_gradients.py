"""s_z(w) and ∇f_z(w) as vectors: beside the steps of the learners, finite differences and all taggings."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from laboratory.theory.sentence_gradients import expectations, sentence_gradients
from literal_sapo import Literal, make_corpus, make_weights
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus, Pairs, observed_pairs
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import Lattice

ALL = 3**4


def nonzero(change: Any) -> list[float]:
    """What a step changes, in some order."""
    flat = np.concatenate([np.ravel(block) for block in change])
    return sorted(flat[np.abs(flat) > 1e-5].tolist())


def step(learner: str, weights: Weights, corpus: EncodedCorpus, sentence: int, n: int) -> list[float]:
    before = weights.current().blocks
    settings = Settings(n=n, strength=0.0, regularizer="none")
    list(LEARNERS[learner].run(weights, corpus, np.array([sentence]), 1.0, settings, np.zeros(20)))
    return nonzero([after - old for after, old in zip(weights.current().blocks, before, strict=True)])


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
def test_the_gradients_are_what_the_learners_do(values: bool, transitions: bool) -> None:
    corpus = make_corpus(3, values=values)
    for sentence in range(corpus.sentences):
        weights = make_weights(3, corpus, transitions=transitions)
        found = sentence_gradients(corpus, sentence, weights.current(), (1, 2, 7), transitions=transitions)
        assert step("crf", weights, corpus, sentence, 1) == pytest.approx(nonzero([-found.gradient]), abs=1e-5)
        for at, n in enumerate((1, 2, 7)):
            weights = make_weights(3, corpus, transitions=transitions)
            assert step("sapo", weights, corpus, sentence, n) == pytest.approx(nonzero([-found.updates[at]]), abs=1e-5)


def with_edge_features(corpus: EncodedCorpus) -> tuple[EncodedCorpus, Pairs]:
    rows = np.arange(corpus.tokens, dtype=np.int32) % 2
    edged = EncodedCorpus(
        corpus.offsets,
        corpus.row_offsets,
        corpus.rows,
        gold=corpus.gold,
        edge_row_offsets=np.arange(corpus.tokens + 1),
        edge_rows=rows,
    )
    return edged, observed_pairs(edged, 2, 3)


def test_edge_features_count_too() -> None:
    corpus, pairs = with_edge_features(make_corpus(4))

    def weights() -> Weights:
        plain = make_weights(4, corpus)
        made = Weights.of(plain.features, plain.edges, pairs=pairs)
        made.pair_weights[:] = np.random.default_rng(0).normal(size=made.pair_weights.shape)
        return made

    for sentence in range(corpus.sentences):
        found = sentence_gradients(corpus, sentence, weights().current(), (3,))
        assert step("crf", weights(), corpus, sentence, 1) == pytest.approx(nonzero([-found.gradient]), abs=1e-5)
        assert step("sapo", weights(), corpus, sentence, 3) == pytest.approx(nonzero([-found.updates[0]]), abs=1e-5)


def test_with_all_taggings_the_update_is_the_gradient() -> None:
    corpus = make_corpus(5)
    for sentence in range(corpus.sentences):
        found = sentence_gradients(corpus, sentence, make_weights(5, corpus).current(), (1, ALL))
        assert found.distances[1] == pytest.approx(0.0, abs=1e-5)
        assert found.cosines[1] == pytest.approx(1.0)
        assert found.mass[1] == pytest.approx(1.0)
        assert found.mass[0] < 1.0 < 1.0 + found.distances[0]


def test_the_mean_distance_falls_with_n() -> None:
    """For one sentence it may rise; in the mean over many it falls."""
    corpus = make_corpus(6, lengths=(4,) * 60)
    sizes = (1, 2, 5, 10, 20, 50, ALL)
    parameters = make_weights(6, corpus).current()
    found = [sentence_gradients(corpus, sentence, parameters, sizes) for sentence in range(corpus.sentences)]
    mean = np.mean([one.distances / one.length for one in found], axis=0)
    assert (np.diff(mean) < 0).all()


def test_the_distance_is_at_most_twice_the_missing_mass_times_the_longest_feature_vector() -> None:
    corpus = make_corpus(7)
    parameters = make_weights(7, corpus).current()
    literal = Literal.like(corpus, make_weights(7, corpus))
    for sentence in range(corpus.sentences):
        _, vectors = literal.table(sentence)
        found = sentence_gradients(corpus, sentence, parameters, (1, 2, 5))
        assert (found.distances <= 2 * (1 - found.mass) * np.linalg.norm(vectors, axis=1).max() + 1e-6).all()


def test_the_loss_is_the_logarithm_of_the_oracles_probability() -> None:
    corpus = make_corpus(8)
    literal = Literal.like(corpus, make_weights(8, corpus))
    paths, vectors = literal.table(2)
    scores = vectors @ literal.flat
    expected = np.log(np.exp(scores).sum()) - scores[paths.index(literal.oracle(2))]
    assert sentence_gradients(corpus, 2, make_weights(8, corpus).current(), (1,)).loss == pytest.approx(
        expected, abs=1e-4
    )


def test_taggings_of_a_long_sentence_are_shared_out_though_each_is_too_rare_for_a_number() -> None:
    """There are 45^250 taggings, all alike."""
    lattice = Lattice(np.zeros((250, 45), np.float32), np.zeros((45, 45), np.float32))
    nodes, pairs, mass, _ = expectations(lattice, (1, 5))
    assert mass.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(nodes.sum(axis=2), 1.0)
    np.testing.assert_allclose(pairs.sum(axis=(1, 2, 3)), 249.0)
    np.testing.assert_allclose(5 * nodes[2], np.round(5 * nodes[2]), atol=1e-9)


def test_a_sentence_without_all_its_tags_has_no_gradient() -> None:
    corpus = make_corpus(3, lengths=(2, 2))
    corpus = dataclasses.replace(corpus, gold=np.array([0, 1, 0, -1], np.int32))
    parameters = make_weights(4, corpus).current()
    assert sentence_gradients(corpus, 0, parameters, (4,)).loss > 0
    with pytest.raises(SapoError, match="sentence 1: gradients need a sentence with all its tags"):
        sentence_gradients(corpus, 1, parameters, (4,))
