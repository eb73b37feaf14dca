"""The mistakes of a model are found, with their kinds, lines and probabilities."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.cli.errors import errors_text
from sapo.errors import SapoError
from sapo.evaluate.comparison import compare_taggings
from sapo.tagger.errors import BORDER, BOTH, EXTRA, MISSED, TYPE, WRONG_LABEL, find_errors, kind_of, paired_spans
from sapo.tags.spans import loose_spans

TRAIN = [
    (["Anna", "Lind", "left", "Oslo"], ["B-PER", "I-PER", "O", "B-LOC"]),
    (["Oslo", "sleeps", "now"], ["B-LOC", "O", "O"]),
] * 5


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return sapo.train(TRAIN, template="ner", epochs=5)


@pytest.mark.parametrize(
    ("gold", "found", "kinds"),
    [
        ("B-X I-X", "B-X I-X", []),
        ("B-X I-X", "O O", [MISSED]),
        ("O O", "B-X I-X", [EXTRA]),
        ("B-X I-X", "B-Y I-Y", [TYPE]),
        ("B-X I-X", "B-X O", [BORDER]),
        ("B-X I-X", "B-Y O", [BOTH]),
        ("B-X I-X", "B-X B-X", [BORDER, EXTRA]),
        ("B-X O B-X", "B-X B-X B-X", [EXTRA]),
    ],
)
def test_a_wrong_span_has_one_kind(gold: str, found: str, kinds: list[str]) -> None:
    assert [kind_of(*pair) for pair in paired_spans(gold.split(), found.split())] == kinds


tags = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@given(st.lists(st.tuples(tags, tags), min_size=1, max_size=8))
def test_every_wrong_span_is_told_once(pairs: list[tuple[str, str]]) -> None:
    gold, found = map(list, zip(*pairs, strict=True))
    told = list(paired_spans(gold, found))
    right, wrong = loose_spans(gold), loose_spans(found)
    assert {one for one, _ in told if one} == set(right) - set(wrong)
    assert {one for _, one in told if one} == set(wrong) - set(right)
    assert len([one for pair in told for one in pair if one]) == len(set(right) ^ set(wrong))


def test_mistakes_have_their_line_and_their_probability(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("Oslo\tB-LOC\nsleeps\tO\nnow\tO\n\nAnna\tO\nLind\tO\nleft\tO\nOslo\tB-PER\n\n", "utf-8")
    report = find_errors(tagger, path)
    assert [(mistake.kind, mistake.line, mistake.gold_type, mistake.found_type) for mistake in report.mistakes] == [
        (TYPE, 8, "PER", "LOC"),
        (EXTRA, 5, "-", "PER"),
    ]
    first, second = report.mistakes
    sentence = ["Anna", "Lind", "left", "Oslo"]
    assert first.found_probability == pytest.approx(tagger.probability(sentence, span=(3, 4, "LOC")))
    assert first.gold_probability == pytest.approx(tagger.probability(sentence, span=(3, 4, "PER")))
    assert second.words[second.start : second.end] == ("Anna", "Lind")
    assert report.confusion == {("PER", "LOC"): 1, ("-", "PER"): 1}
    assert report.scores == tagger.evaluate(path)


def test_gold_tags_that_a_sure_model_denies_are_suspect(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("Anna\tB-PER\nLind\tI-PER\nleft\tO\nOslo\tO\n\n", "utf-8")
    sure = sapo.Tagger(tagger.model.with_bias("B-LOC", 20.0))
    (suspect,) = [mistake for mistake in find_errors(sure, path).suspects if mistake.line == 4]
    assert (suspect.kind, suspect.found_type) == (EXTRA, "LOC")


def test_the_least_sure_come_first(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("Oslo\tB-LOC\nsleeps\tO\n\nAnna\tB-PER\nzzz\tO\nleft\tO\n\n", "utf-8")
    doubts = find_errors(tagger, path).least_sure
    assert len(doubts) == 2
    assert doubts[0].probability <= doubts[1].probability
    for doubt in doubts:
        marginal = tagger.marginals(list(doubt.words))[doubt.token]
        assert doubt.probability == pytest.approx(marginal[doubt.found])
        assert doubt.rival_probability == pytest.approx(max(p for label, p in marginal.items() if label != doubt.found))


def test_plain_labels_are_told_token_by_token(tmp_path: Path) -> None:
    tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    path = tmp_path / "test.txt"
    path.write_text("a\tDT\ndog\tVB\n\n", "utf-8")
    report = find_errors(tagger, path)
    (mistake,) = report.mistakes
    assert (mistake.kind, mistake.line, mistake.gold_type, mistake.found_type) == (WRONG_LABEL, 2, "VB", "NN")
    assert mistake.gold_probability == 0.0  # the model does not know the label
    assert "[dog]" in errors_text(report, 3)


def test_data_of_another_task_is_refused(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("a\tDT\n\n", "utf-8")
    with pytest.raises(SapoError, match="knows none of its labels"):
        find_errors(tagger, path)


def test_an_empty_file_is_refused(tagger: sapo.Tagger, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("\n", "utf-8")
    with pytest.raises(SapoError, match="has no sentences"):
        find_errors(tagger, tmp_path / "test.txt")


def test_the_number_of_wrong_tokens_is_that_of_a_comparison(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("Oslo\tO\nsleeps\tO\n\nAnna\tB-PER\nsees\tO\nBo\tB-PER\n\n", "utf-8")
    gold = [list(sentence.tags or ()) for sentence in sapo.read(path)]
    found = tagger.tag_many([sentence.words for sentence in sapo.read(path)])
    assert find_errors(tagger, path).scores == compare_taggings(gold, found, gold).a
