"""A sentence of weight 0 is as good as absent: the model is the same, byte for byte."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.formats import read
from sapo.corpus.sample import sample_path
from sapo.tagger.file import model_bytes

LEARNERS = ("sapo", "crf", "perceptron-avg", "mira")
EXTRA: list[Any] = [(["Zork", "sings", "!"], ["B-ODD", "I-ODD", "B-ODD"])]  # words and a label of its own
Pairs = list[Any]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return [(list(one.words), list(one.tags or ())) for one in islice(read(sample_path("train")), 40)]


def mixed(pairs: Pairs) -> tuple[Pairs, list[float]]:
    """Return the sentences with some of weight 0 between them, also first and last, and all weights."""
    return [*EXTRA, *pairs[:10], *EXTRA, pairs[3], *pairs[10:], *EXTRA], [0, *[1] * 10, 0, 0, *[1] * 30, 0]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_sentence_of_weight_0_is_left_out(learner: str, pairs: Pairs) -> None:
    longer, weights = mixed(pairs)
    without = sapo.train(pairs, learner=learner, epochs=3)
    assert model_bytes(sapo.train(longer, learner=learner, epochs=3, sample_weight=weights).model) == model_bytes(
        without.model
    )


def test_other_weights_stay_with_their_sentences(pairs: Pairs) -> None:
    longer, weights = mixed(pairs)
    doubled = [2.0 * weight if number % 3 else weight for number, weight in enumerate(weights)]
    expected = sapo.train(pairs, epochs=2, sample_weight=[weight for weight in doubled if weight])
    assert model_bytes(sapo.train(longer, epochs=2, sample_weight=doubled).model) == model_bytes(expected.model)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_sequence_of_weight_0_is_left_out_by_the_estimator(learner: str, pairs: Pairs) -> None:
    longer, weights = mixed(pairs)
    one, other = (sapo.SequenceLabeler(learner=learner, epochs=2) for _ in range(2))
    one.fit([words for words, _ in pairs], [tags for _, tags in pairs])
    other.fit([words for words, _ in longer], [tags for _, tags in longer], sample_weight=weights)
    assert model_bytes(one.tagger_.model) == model_bytes(other.tagger_.model)
    assert one.classes_ == other.classes_


def test_ready_made_features_of_weight_0_are_left_out(pairs: Pairs) -> None:
    longer, weights = mixed(pairs)
    ready, all_ready = ([([{"w": word} for word in words], tags) for words, tags in some] for some in (pairs, longer))
    expected = sapo.train(ready, epochs=2)
    assert model_bytes(sapo.train(all_ready, epochs=2, sample_weight=weights).model) == model_bytes(expected.model)


def test_a_sentence_of_a_file_with_weight_0_is_left_out(tmp_path: Path, pairs: Pairs) -> None:
    longer, weights = mixed(pairs)
    for name, some in (("short", pairs), ("long", longer)):
        text = ["".join(f"{w} {t}\n" for w, t in zip(words, tags, strict=True)) for words, tags in some]
        (tmp_path / name).write_text("\n".join(text))
    expected = sapo.train(tmp_path / "short", epochs=2)
    assert model_bytes(sapo.train(tmp_path / "long", epochs=2, sample_weight=weights).model) == model_bytes(
        expected.model
    )
    with pytest.raises(sapo.SapoError, match="sample_weight has 3 weights for 44 sentences"):
        sapo.train(tmp_path / "long", sample_weight=[0, 1, 1])
    with pytest.raises(sapo.SapoError, match="sample_weight has 50 weights for 44 sentences"):
        sapo.train(tmp_path / "long", sample_weight=[1] * 50)


def test_a_sentence_of_an_attribute_file_with_weight_0_is_left_out(tmp_path: Path, pairs: Pairs) -> None:
    longer, weights = mixed(pairs)
    for name, some in (("short", pairs), ("long", longer)):
        text = [
            "".join(f"{t}\tw={w}\tlength:{len(w)}\n" for w, t in zip(words, tags, strict=True)) for words, tags in some
        ]
        (tmp_path / f"{name}.crfsuite").write_text("\n".join(text))
    expected = sapo.train(tmp_path / "short.crfsuite", epochs=2)
    found = sapo.train(tmp_path / "long.crfsuite", epochs=2, sample_weight=weights)
    assert model_bytes(found.model) == model_bytes(expected.model)


@pytest.mark.parametrize("learner", ["sapo", "crf-lbfgs"])
def test_an_attribute_file_is_learned_as_its_features_are_from_python(
    tmp_path: Path, pairs: Pairs, learner: str
) -> None:
    path = tmp_path / "a.crfsuite"
    rows = [[(t, f"w={w}", len(w) % 9) for w, t in zip(words, tags, strict=True)] for words, tags in pairs]
    path.write_text("\n".join("".join(f"{t}\t{w}\tlength:{n}\n" for t, w, n in row) for row in rows))
    of_python = [([{w: 1, "length": n} for _, w, n in row], [t for t, _, _ in row]) for row in rows]
    one, other = (sapo.train(data, learner=learner, epochs=2).model for data in (path, of_python))
    assert (one.parameters.features == other.parameters.features).all()


def test_updates_leave_sentences_of_weight_0_out(pairs: Pairs) -> None:
    tagger = sapo.train(pairs[:20], epochs=2)
    one, other = sapo.Trainer(tagger), sapo.Trainer(tagger)
    one.update(pairs[20:25])
    other.update([*EXTRA, *pairs[20:25]], sample_weight=[0, 1, 1, 1, 1, 1])
    assert model_bytes(one.snapshot().model) == model_bytes(other.snapshot().model)


def test_partial_fit_leaves_sequences_of_weight_0_out() -> None:
    labeler = sapo.SequenceLabeler(template="pos", class_weight={"B": 2.0})
    labeler.partial_fit([["a"], ["b"]], [["A"], ["B"]], sample_weight=[1, 0])
    assert labeler.classes_ == ["A"]
    labeler.partial_fit([["a"], ["b"]], [["A"], ["B"]], sample_weight=[1, 0])
    assert labeler.classes_ == list(labeler.tagger_.labels) == ["A"]
