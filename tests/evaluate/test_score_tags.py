"""Two lists of tag lists are scored as files are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import DataError
from sapo.evaluate import score_tags

TAGS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@given(st.lists(st.lists(st.tuples(TAGS, TAGS), max_size=5), max_size=4))
def test_exchanging_gold_and_predicted_exchanges_precision_and_recall(pairs: list[list[tuple[str, str]]]) -> None:
    gold, found = ([[pair[i] for pair in sentence] for sentence in pairs] for i in (0, 1))
    one, other = score_tags(gold, found), score_tags(found, gold)
    assert (one.precision, one.recall, one.accuracy) == (other.recall, other.precision, other.accuracy)
    assert score_tags(gold, gold).accuracy == (1.0 if any(gold) else 0.0)


def test_no_span_at_all_is_an_f1_of_zero() -> None:
    scores = score_tags([["O", "O"]], [["O", "O"]])
    assert scores.main == ("F1", 0.0)
    assert "FB1:   0.00" in str(scores)


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        ([["O"]], [], "1 gold sentences but 0 predicted"),
        ([["O"]], [["O", "O"]], "sentence 1 has 1 gold tags but 2"),
        (["O"], ["O"], "sentence 1 is a string"),
    ],
)
def test_lists_that_do_not_fit_are_refused(gold: list[list[str]], found: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_tags(gold, found)
