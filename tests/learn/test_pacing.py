"""New sentences are learned where that changes least for others."""

import numpy as np
import pytest

import sapo
from sapo.features.encoded import EncodedCorpus
from sapo.learn.updating import Pacing, growth, typical_weight
from sapo.learn.weights import Weights
from sapo.search.weights import FeatureRows

CORPUS = EncodedCorpus(
    np.array([0, 2]), np.array([0, 2, 4]), np.array([0, 1, 0, 2], np.int32), np.empty(0, np.float32), np.zeros(2, "i4")
)


def weights() -> Weights:
    features = np.array([[3.0, 0.1], [0.0, 0.0], [-1 / 3, 2.0], [0.7, 0.0]], np.float32)
    return Weights.of(features, np.array([[0.3, 0.0], [1.0, -1.0]], np.float32))


def test_large_weights_are_slow_and_new_ones_are_not() -> None:
    gentle = Pacing.of(CORPUS, weights(), 1.0, share=0.0, known=2)
    assert gentle.speeds.ravel().tolist() == [0.5, 1.0, 0.5]  # s^2 is 1/4, 1 and 1/3, rounded to a power of four
    assert gentle.corpus.values.tolist() == [0.5, 1.0, 0.5, 0.5]
    assert (gentle.edge_speeds == 0).all()


def test_where_all_sentences_are_new_or_no_weight_is_learned_nothing_is_slow() -> None:
    for gentle in (
        Pacing.of(CORPUS, weights(), 1.0, share=1.0, known=2),
        Pacing.of(CORPUS, weights(), 0.0, share=0.0, known=0),
    ):
        assert (gentle.speeds == 1).all()
        assert (gentle.edge_speeds == 1).all()


def test_transitions_of_new_labels_belong_to_the_new_sentences() -> None:
    assert Pacing.of(CORPUS, weights(), 1.0, share=0.25, known=1).edge_speeds.tolist() == [[0.25, 1], [1, 1]]


def test_a_step_moves_a_weight_by_the_square_of_its_speed_and_others_not_at_all() -> None:
    learned, before = weights(), weights()
    gentle = Pacing.of(CORPUS, learned, 1.0, share=0.25, known=2)
    with gentle.slowed(learned) as corpus:
        for row, value in zip(corpus.rows[:2], corpus.values[:2], strict=True):  # a step for the first token
            learned.features[row, 0] += value
        learned.edges[0, 1] += 1
    assert learned.features[0, 0] - before.features[0, 0] == gentle.speeds[0] ** 2
    assert learned.features[1, 0] == 1.0
    learned.features[:2, 0] = before.features[:2, 0]
    assert (learned.features == before.features).all()
    assert (learned.edges - before.edges).tolist() == [[0, 0.25], [0, 0]]


def test_where_learning_fails_the_weights_are_as_before() -> None:
    learned = weights()
    gentle = Pacing.of(CORPUS, learned, 1.0, share=0.25, known=2)
    with pytest.raises(KeyboardInterrupt), gentle.slowed(learned):
        raise KeyboardInterrupt
    assert (learned.features == weights().features).all()
    assert (learned.edges == weights().edges).all()


def test_the_rate_grows_for_one_sentence_and_falls_for_many() -> None:
    rates = [growth(0.9, sentences) for sentences in (1, 2, 10, 1000)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 1 > rates[2] > rates[3] > 0.9


def test_a_correction_is_learned_and_transitions_hardly_move() -> None:
    pairs = [(["a", "dog"], ["D", "N"]), (["the", "cat"], ["D", "N"])] * 20
    tagger = sapo.train(pairs, template="pos")
    trainer = sapo.Trainer(tagger)
    trainer.update([(["the", "run"], ["D", "V"]), (["run", "dog"], ["V", "N"])], new_labels=True)
    assert trainer.tagger.tag(["the", "run"]) == ["D", "V"]
    assert trainer.tagger.tag(["the", "cat"]) == ["D", "N"]
    old, new = tagger.model.parameters.edges, trainer.snapshot().model.parameters.edges[:2, :2]
    assert np.abs(new - old).max() < 0.1 * np.abs(old).max()


def test_features_without_weights_have_a_typical_weight_of_nothing() -> None:
    assert typical_weight(FeatureRows.of_matrix(np.empty((0, 3), np.float32))) == 0.0
    assert typical_weight(FeatureRows.of_matrix(np.array([[1, -3], [0, 1]], np.float32))) == 2.0
