"""Spans of tokens become spans of characters, and every error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.annotations import CharSpan, spans_to_char_spans
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
def test_a_span_has_the_characters_of_its_tokens(offsets: list[tuple[int, int]], data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, len(offsets) - 1), max_size=5))
    spans = [Span(start, data.draw(st.integers(start + 1, len(offsets))), "A") for start in starts]
    expected = [CharSpan(offsets[span.start][0], offsets[span.end - 1][1], "A") for span in spans]
    assert spans_to_char_spans(spans, offsets) == expected


@pytest.mark.parametrize("offsets", [[(0, 2), (1, 3)], [(0, 2), (2, 2)], [(3, 5), (0, 2)], [(-1, 2)]])
def test_tokens_that_are_empty_or_out_of_order_are_an_error(offsets: list[tuple[int, int]]) -> None:
    with pytest.raises(SapoError, match="list tokens in text order"):
        spans_to_char_spans([], offsets)


def test_a_span_beyond_the_last_token_has_no_characters() -> None:
    with pytest.raises(SapoError, match="span 1:3 'A' is out of range; the sentence has 2 tokens"):
        spans_to_char_spans([Span(1, 3, "A")], [(0, 2), (3, 5)])
