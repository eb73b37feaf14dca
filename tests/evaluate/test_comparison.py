"""All numbers of a comparison fit each other and the scores of each system alone."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.evaluate.comparison import Comparison, compare_taggings, comparison_json, comparison_text
from sapo.evaluate.scores import score
from sapo.evaluate.significance import span_counts, token_counts

Taggings = list[list[str]]
SPANS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
PLAIN = ["NN", "VB", "DT"]


@st.composite
def taggings(draw: st.DrawFn, labels: list[str]) -> tuple[Taggings, Taggings, Taggings]:
    """Gold, A and B; most tags are right."""
    tag = st.sampled_from(labels)
    row = st.one_of(tag.map(lambda t: (t, t, t)), st.tuples(tag, tag, tag))
    sentences = draw(st.lists(st.lists(row, min_size=1, max_size=6), min_size=2, max_size=8))
    gold, a, b = ([[token[i] for token in sentence] for sentence in sentences] for i in range(3))
    return gold, a, b


def arrays(labels: list[str], *all_tags: Taggings) -> list[np.ndarray]:
    ids = [np.array([labels.index(tag) for one in tags for tag in one], dtype=np.int32) for tags in all_tags]
    return [*ids, np.cumsum([0, *map(len, all_tags[0])], dtype=np.int64)]


@pytest.mark.parametrize("labels", [SPANS, PLAIN], ids=["spans", "plain"])
@given(data=st.data())
def test_the_numbers_are_those_of_each_system_alone(labels: list[str], data: st.DataObject) -> None:
    gold, a, b = data.draw(taggings(labels))
    result = compare_taggings(gold, a, b)
    used = sorted({tag for tags in (gold, a, b) for one in tags for tag in one})
    gold_ids, a_ids, b_ids, offsets = arrays(used, gold, a, b)
    assert (result.a, result.b) == (score(used, gold_ids, a_ids, offsets), score(used, gold_ids, b_ids, offsets))
    assert result.difference == pytest.approx(result.a.main[1] - result.b.main[1], abs=1e-12)
    right = [
        tuple(sum(g == t for g, t in zip(one, tags[i], strict=True)) for tags in (a, b)) for i, one in enumerate(gold)
    ]
    assert result.differing == sum(x != y for x, y in zip(a, b, strict=True))
    assert result.a_wins == sum(x > y for x, y in right)
    assert result.b_wins == sum(x < y for x, y in right)
    assert result.even >= 0


@pytest.mark.parametrize("labels", [SPANS, PLAIN], ids=["spans", "plain"])
@given(data=st.data())
def test_swapping_the_systems_turns_the_signs_only(labels: list[str], data: st.DataObject) -> None:
    gold, a, b = data.draw(taggings(labels))
    forth, back = compare_taggings(gold, a, b), compare_taggings(gold, b, a)
    assert (back.a, back.b) == (forth.b, forth.a)
    assert (back.a_wins, back.b_wins, back.even) == (forth.b_wins, forth.a_wins, forth.even)
    assert (back.difference, back.randomization.p) == (-forth.difference, forth.randomization.p)


@given(taggings(SPANS))
def test_a_system_beside_itself_has_a_p_of_1(three: tuple[Taggings, Taggings, Taggings]) -> None:
    gold, a, _ = three
    result = compare_taggings(gold, a, a)
    assert (result.randomization.p, result.differing, result.difference) == (1, 0, 0)
    meaning = f"\none: no significant difference in {result.score_name} from two"
    assert comparison_text(["one", "two"], [result]).endswith(meaning)


@given(taggings(SPANS))
def test_counts_of_sentences_are_the_scores_of_single_sentences(three: tuple[Taggings, Taggings, Taggings]) -> None:
    gold, a, _ = three
    gold_ids, a_ids, offsets = arrays(SPANS, gold, a)
    spans, tokens = span_counts(SPANS, gold_ids, a_ids, offsets), token_counts(gold_ids, a_ids, offsets)
    for i, (begin, end) in enumerate(itertools.pairwise(offsets)):
        alone = score(SPANS, gold_ids[begin:end], a_ids[begin:end], np.array([0, end - begin]))
        assert alone.overall is not None
        found = (spans.gold[i], spans.found[i], spans.correct[i])
        assert found == (alone.overall.gold, alone.overall.found, alone.overall.correct)
        assert (tokens.gold[i], tokens.correct[i]) == (alone.tokens, alone.correct_tokens)


def test_an_empty_sentence_changes_no_test() -> None:
    gold, a, b = [["B-X", "O"], ["B-X"]], [["B-X", "O"], ["O"]], [["O", "O"], ["O"]]
    plain = compare_taggings(gold, a, b)
    wider = compare_taggings([[], *gold, []], [[], *a, []], [[], *b, []])
    assert wider.randomization == plain.randomization
    assert (wider.a.sentences, plain.a.sentences) == (4, 2)


def test_f1_may_fall_where_accuracy_rises() -> None:
    gold = [["B-X", "I-X", "I-X", "I-X"]] * 12
    a = [["B-X", "I-X", "I-X", "O"]] * 11 + [["O"] * 4]  # three right tags, no right span
    b = [["B-X", "I-X", "I-X", "I-X"]] * 6 + [["O"] * 4] * 6
    result = compare_taggings(gold, a, b)
    assert result.difference < 0 < result.a.accuracy - result.b.accuracy
    told = comparison_text(["a", "b"], [result]).splitlines()[-1]
    assert told == "a: significantly lower F1 than b"


def plain_comparison(better: int, worse: int, same: int = 20) -> Comparison:
    """A is right in the first sentences, B in the next, both in the last."""
    size = better + worse + same
    gold = [["X", "Y"]] * size
    a = [["X", "Y"]] * better + [["Y", "Y"]] * worse + [["X", "Y"]] * same
    b = [["Y", "Y"]] * better + [["X", "Y"]] * (worse + same)
    return compare_taggings(gold, a, b)


@pytest.mark.parametrize(
    ("better", "worse", "meaning"),
    [
        (12, 1, "a: significantly higher accuracy than b"),
        (1, 12, "a: significantly lower accuracy than b"),
        (3, 2, "a: no significant difference in accuracy from b"),
        (5, 0, "a: no significant difference in accuracy from b"),
    ],
)
def test_one_sentence_says_what_it_means(better: int, worse: int, meaning: str) -> None:
    assert comparison_text(["a", "b"], [plain_comparison(better, worse)]).splitlines()[-1] == meaning


def test_several_systems_are_told_in_rows_with_corrected_p_values() -> None:
    comparisons = [plain_comparison(12, 1), plain_comparison(1, 12), plain_comparison(6, 0)]
    told = comparison_text(["a", "weak", "strong", "close"], comparisons)
    rows = {line.split()[0]: line.split()[1:] for line in told.split("\n\n")[1].splitlines()}
    assert rows["close"] == ["+11.54", "6", "6", "0", "0.0312", "0.0312"]
    assert rows["weak"][4:6] == ["0.0034", "0.0103"]
    assert told.endswith("a: significantly higher accuracy than weak, close; significantly lower accuracy than strong")


def test_what_is_not_clear_after_the_correction_is_said_so() -> None:
    told = comparison_text(["a", "b", "c"], [plain_comparison(6, 0), plain_comparison(6, 0)])
    assert told.endswith("a: no significant difference in accuracy from b, c")


def test_json_has_all_numbers_and_no_infinity() -> None:
    result = compare_taggings([["X"], ["Y"]], [["X"], ["Y"]], [["Y"], ["X"]])
    told = json.loads(json.dumps(comparison_json(["a", "b"], [result]), allow_nan=False))
    assert [system["token_accuracy"] for system in told["systems"]] == [1, 0]
    assert told["comparisons"] == [
        {
            "a": "a",
            "b": "b",
            "score": "accuracy",
            "difference": 1,
            "sentences": {"differing": 2, "a_wins": 2, "b_wins": 0, "even": 0},
            "randomization": {"p": 0.5, "holm": 0.5, "rounds": 3, "exact": True},
        }
    ]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([["X", "Y"]], [["X", "Y"], ["X"]], "gold has 2 sentences, a has 1"),
        ([["X", "Y"], ["X"]], [["X", "Y"], ["X", "X"]], "sentence 2 has 1 gold tags, but 2 in b"),
    ],
)
def test_taggings_that_do_not_fit_are_told(a: Taggings, b: Taggings, message: str) -> None:
    with pytest.raises(SapoError, match=message):
        compare_taggings([["X", "Y"], ["X"]], a, b)


def test_a_single_sentence_is_not_enough() -> None:
    with pytest.raises(SapoError, match="at least 2 sentences, found 1; an empty line ends a sentence"):
        compare_taggings([["X", "Y"]], [["X", "Y"]], [["X", "X"]])
