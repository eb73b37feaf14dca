"""Spans of characters and of tokens: there and back, and every error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.annotations import CharSpan, char_spans_to_spans, spans_to_char_spans
from sapo.errors import SapoError
from sapo.tags.spans import Span


@st.composite
def texts_with_offsets(draw: st.DrawFn) -> list[tuple[int, int]]:
    offsets, position = [], 0
    for gap, size in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=12)):
        offsets.append((position + gap, position + gap + size))
        position += gap + size
    return offsets


@given(texts_with_offsets(), st.data())
def test_spans_to_characters_to_spans_is_the_identity(offsets: list[tuple[int, int]], data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, len(offsets) - 1), max_size=5))
    spans = [Span(start, data.draw(st.integers(start + 1, len(offsets))), "A") for start in starts]
    assert char_spans_to_spans(spans_to_char_spans(spans, offsets), offsets) == spans


@pytest.mark.parametrize(
    ("span", "message"),
    [
        (CharSpan(4, 7, "A"), "character span 4:7 'A' does not begin where .* the nearest is token 2 at 3:7"),
        (CharSpan(3, 6, "A"), "character span 3:6 'A' does not end where .* the nearest is token 2 at 3:7"),
        (CharSpan(3, 8, "A"), "character span 3:8 'A' does not end where .* the nearest is token 3 at 7:9"),
        (CharSpan(3, 10, "A"), "character span 3:10 'A' does not end where .* the nearest is token 3 at 7:9"),
        (CharSpan(3, 99, "A"), "character span 3:99 'A' does not end where .* the nearest is token 4 at 12:15"),
        (CharSpan(-1, 2, "A"), "character span -1:2 'A' does not begin where .* the nearest is token 1 at 0:2"),
        (CharSpan(11, 15, "A"), "character span 11:15 'A' does not begin where .* the nearest is token 4 at 12:15"),
        (CharSpan(7, 7, "A"), "character span 7:7 'A' holds no character"),
    ],
)
def test_a_character_span_off_the_token_borders_is_an_error(span: CharSpan, message: str) -> None:
    with pytest.raises(SapoError, match=message):
        char_spans_to_spans([span], [(0, 2), (3, 7), (7, 9), (12, 15)])


def test_a_character_span_of_a_text_without_tokens_is_an_error() -> None:
    with pytest.raises(SapoError, match=r"character span 0:1 'A' .* the text has no tokens"):
        char_spans_to_spans([CharSpan(0, 1, "A")], [])


@pytest.mark.parametrize("offsets", [[(0, 2), (1, 3)], [(0, 2), (2, 2)], [(3, 5), (0, 2)], [(-1, 2)]])
def test_tokens_that_are_empty_or_out_of_order_are_an_error(offsets: list[tuple[int, int]]) -> None:
    with pytest.raises(SapoError, match="list tokens in text order"):
        char_spans_to_spans([], offsets)
    with pytest.raises(SapoError, match="list tokens in text order"):
        spans_to_char_spans([], offsets)


def test_a_span_beyond_the_last_token_has_no_characters() -> None:
    with pytest.raises(SapoError, match="span 1:3 'A' is out of range; the sentence has 2 tokens"):
        spans_to_char_spans([Span(1, 3, "A")], [(0, 2), (3, 5)])
