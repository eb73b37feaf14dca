"""Training, tagging and converting with bare labels (B, I, O and B, M, E, S), and with letters after the type."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.conversion import Source, Target, convert
from sapo.evaluate.scores import score
from sapo.tagger.decoding import Output
from sapo.tagger.files import tagged_file
from sapo.tags.recognition import recognize_scheme
from sapo.tags.schemes import as_prefixed
from sapo.tags.spans import convert_tags
from sapo.training.plan import make_plan
from sapo.training.run import read_data, start

WORDS = ["ab", "c", "dab", "abc", "d", "cc"]


def segmented(sentences: int) -> list[Any]:
    """Return sentences of letters, with the words in them as B, M, E and S."""
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(sentences):
        words = [WORDS[i] for i in rng.integers(0, len(WORDS), 5)]
        tags = [tag for word in words for tag in ("S" if len(word) == 1 else f"B{'M' * (len(word) - 2)}E")]
        pairs.append((list("".join(words)), tags))
    return pairs


@pytest.fixture(scope="module")
def segmenter() -> sapo.Tagger:
    return sapo.train(segmented(40), epochs=5)


def test_a_word_segmenter_keeps_to_its_scheme_and_gives_words(segmenter: sapo.Tagger) -> None:
    assert segmenter.model.constraints.scheme == "bmes"
    letters = list("abcddabccxyzab")
    for tagging in segmenter.nbest(letters, 20):
        assert recognize_scheme([["S"], ["B", "M", "E"], tagging.tags]) == "bmes"
    spans = segmenter.spans(letters)
    assert spans[0].start == 0
    assert [one.end for one in spans][:-1] == [one.start for one in spans][1:]
    assert {one.type for one in spans} == {"_"}
    first = spans[0]
    assert segmenter.probability(letters, span=(first.start, first.end, "_")) == pytest.approx(first.probability)


@pytest.mark.parametrize(
    ("tags", "template"),
    [("B M E S", "pos-best"), ("B I O O", "ner"), ("X-B X-I O O", "ner"), ("O B S N", "pos-best")],
)
def test_the_default_template_suits_the_labels(tags: str, template: str) -> None:
    assert read_data([(["a", "b", "c", "d"], tags.split())]).template == template


def test_dev_data_of_words_is_scored_by_f1() -> None:
    run = start(make_plan(segmented(20), dev=segmented(5), epochs=2))
    assert run.data.score_name == "F1"
    outcome = run.finish()
    X, y = zip(*segmented(5), strict=True)
    found = outcome.tagger.tag_many(X)
    labels = list("BMES")
    gold, predicted = (np.array([labels.index(t) for tags in some for t in tags], np.int32) for some in (y, found))
    scores = score(labels, gold, predicted, np.cumsum([0, *map(len, y)], dtype=np.int64))
    assert outcome.history[outcome.best_epoch - 1].dev == pytest.approx(scores.overall.f1 if scores.overall else None)


def test_a_labeler_of_words_scores_spans() -> None:
    X, y = zip(*segmented(20), strict=True)
    labeler = sapo.SequenceLabeler(epochs=2).fit(X, y)
    scores = labeler.evaluate(X, y)
    assert scores.main[0] == "F1"
    assert scores.accuracy > scores.main[1] or scores.main[1] == 1.0
    assert len(labeler.predict_spans(X)[0]) > 1


@pytest.mark.parametrize("tags", [["B", "I", "O"], ["NP-B", "NP-I", "O"]])
def test_the_same_model_is_learned_in_every_notation(tags: list[str]) -> None:
    words = [["the", "cat", "sleeps"], ["a", "dog", "barks"], ["the", "dog", "sleeps"]]
    usual = as_prefixed(tags)
    found, expected = (
        sapo.train([(one, names) for one in words], template="pos", epochs=3, scheme=None).model
        for names in (tags, usual)
    )
    np.testing.assert_array_equal(found.parameters.bans, expected.parameters.bans)
    np.testing.assert_array_equal(found.parameters.features, expected.parameters.features)
    one, other = (sapo.Tagger(model).spans(words[0]) for model in (found, expected))
    assert one == other


def test_parts_of_speech_with_letters_of_schemes_are_not_bound() -> None:
    tags = ["B", "I", "O", "S", "E", "M", "N"]
    data = read_data([(list("abcdefg"), tags), (list("gf"), ["O", "I"])], template="pos")
    assert data.gold.constraints.scheme is None
    assert data.score_name == "accuracy"


def test_an_update_takes_new_types_and_refuses_other_notations() -> None:
    tagger = sapo.train([(["the", "cat", "sleeps"], ["NP-B", "NP-I", "O"])], template="pos")
    trainer = sapo.Trainer(tagger)
    trainer.update([(["it", "sleeps"], ["NP-B", "VP-B"])], new_labels=True)
    assert "VP-B" in trainer.tagger.labels
    with pytest.raises(sapo.SapoError, match="label 'B-VP' does not fit the model's IOB2 scheme"):
        trainer.update([(["it", "sleeps"], ["NP-B", "B-VP"])], new_labels=True)


def test_conversion_keeps_the_notation(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a B\nb M\nc E\nd S\n\ne O\n")
    convert(Source(tmp_path / "a.txt"), Target(tmp_path / "b.txt", scheme="iob2"))
    assert (tmp_path / "b.txt").read_text() == "a B\nb I\nc I\nd B\n\ne O\n"
    assert convert_tags(["NP-B", "NP-I", "O", "VP-B"], "iob2", "bioes") == ["NP-B", "NP-E", "O", "VP-S"]


def test_text_in_jsonl_gets_the_spans_of_words(tmp_path: Path, segmenter: sapo.Tagger) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a", "b", "d"]}\n')
    for output, key in ((Output(), '"tags": ["B", "E", "S"]'), (Output(spans=True), '"end": 2, "label": "_"')):
        assert key in b"".join(part for _, part in tagged_file(segmenter, tmp_path / "a.jsonl", output)).decode()
