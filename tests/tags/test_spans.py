"""Spans and tags of a sentence: fixed examples, every error, and round trips, random and over all short sequences."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.tags.schemes import SCHEMES
from sapo.tags.spans import Span, convert_tags, spans_to_tags, tags_to_spans

TYPES = st.sampled_from(["NP", "VP", "B-cell", "-", "O", "I-NP"])

# one sentence, written in all four schemes
WRITTEN = {
    "iob1": ["I-A", "I-A", "I-A", "B-A", "O", "I-B", "I-A", "B-A", "I-A", "I-B"],
    "iob2": ["B-A", "I-A", "I-A", "B-A", "O", "B-B", "B-A", "B-A", "I-A", "B-B"],
    "bioes": ["B-A", "I-A", "E-A", "S-A", "O", "S-B", "S-A", "B-A", "E-A", "S-B"],
    "bilou": ["B-A", "I-A", "L-A", "U-A", "O", "U-B", "U-A", "B-A", "L-A", "U-B"],
    "bmes": ["B-A", "M-A", "E-A", "S-A", "O", "S-B", "S-A", "B-A", "E-A", "S-B"],
}
SPANS = [
    Span(0, 3, "A"),
    Span(3, 4, "A"),
    Span(5, 6, "B"),
    Span(6, 7, "A"),
    Span(7, 9, "A"),
    Span(9, 10, "B"),
]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Draw spans in order that do not overlap, and the sentence's length; touching spans are common."""
    spans, position = [], 0
    for gap, size, span_type in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), TYPES), max_size=8)):
        spans.append(Span(position + gap, position + gap + size, span_type))
        position += gap + size
    return spans, position + draw(st.integers(0, 2))


def is_valid(tags: list[str], scheme: str) -> bool:
    try:
        tags_to_spans(tags, scheme)
    except SapoError:
        return False
    return True


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_reads_the_example(scheme: str) -> None:
    assert tags_to_spans(WRITTEN[scheme], scheme) == SPANS


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_writes_the_example_from_spans_in_any_order(scheme: str) -> None:
    assert spans_to_tags(SPANS[::-1], 10, scheme) == WRITTEN[scheme]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_empty_sentence_has_no_spans(scheme: str) -> None:
    assert tags_to_spans([], scheme) == []
    assert spans_to_tags([], 0, scheme) == []


@given(sentences(), st.sampled_from(SCHEMES))
def test_spans_to_tags_to_spans_is_the_identity(sentence: tuple[list[Span], int], scheme: str) -> None:
    spans, length = sentence
    tags = spans_to_tags(spans, length, scheme)
    assert len(tags) == length
    assert tags_to_spans(tags, scheme) == spans


@given(sentences(), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_conversions_commute(sentence: tuple[list[Span], int], source: str, by_way_of: str, target: str) -> None:
    tags = spans_to_tags(*sentence, source)
    there = convert_tags(convert_tags(tags, source, by_way_of), by_way_of, target)
    assert there == convert_tags(tags, source, target) == spans_to_tags(*sentence, target)
    assert convert_tags(there, target, source) == tags


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_valid_short_sequences_are_exactly_those_that_spans_can_write(scheme: str) -> None:
    all_tags = ["O", *(f"{letter}-{span_type}" for letter in "BIESLUM" for span_type in "XY")]
    for length in range(4):
        starts_and_ends = [(start, end) for start in range(length) for end in range(start + 1, length + 1)]
        span_lists: list[list[Span]] = [[]]
        for spans in span_lists:  # grows while it is read: each list of spans, with one more span to the right
            first_free = spans[-1].end if spans else 0
            span_lists.extend(
                [*spans, Span(start, end, span_type)]
                for start, end in starts_and_ends
                if start >= first_free
                for span_type in "XY"
            )
        writable = {tuple(spans_to_tags(spans, length, scheme)) for spans in span_lists}
        valid = {tags for tags in product(all_tags, repeat=length) if is_valid(list(tags), scheme)}
        assert len(writable) == len(span_lists)
        assert valid == writable


@pytest.mark.parametrize(
    ("scheme", "tags", "message"),
    [
        (
            "iob2",
            ["O", "B-NP", "O", "I-NP"],
            (
                "token 3: 'I-NP' cannot follow 'O' in iob2; "
                "a span begins with B- and goes on with I- of the same type: write 'B-NP'"
            ),
        ),
        (
            "iob2",
            ["B-VP", "I-NP"],
            (
                "token 1: 'I-NP' cannot follow 'B-VP' in iob2; "
                "a span begins with B- and goes on with I- of the same type: write 'B-NP'"
            ),
        ),
        (
            "iob1",
            ["B-NP"],
            (
                "token 0: 'B-NP' cannot begin a sentence in iob1; "
                "a span begins with B- only right after a span of the same type, else with I-: write 'I-NP'"
            ),
        ),
        (
            "bioes",
            ["O", "E-NP"],
            (
                "token 1: 'E-NP' cannot follow 'O' in bioes; "
                "a span is S-, or B- to E- with I- between, all of the same type: write 'S-NP'"
            ),
        ),
        (
            "bioes",
            ["B-NP", "I-NP", "O"],
            (
                "token 2: 'O' cannot follow 'I-NP' in bioes; "
                "a span is S-, or B- to E- with I- between, all of the same type: write 'E-NP' at token 1"
            ),
        ),
        (
            "bilou",
            ["O", "B-NP"],
            (
                "token 1: 'B-NP' cannot end a sentence in bilou; "
                "a span is U-, or B- to L- with I- between, all of the same type: write 'U-NP'"
            ),
        ),
        (
            "iob2",
            ["O", "S-NP"],
            "token 1: 'S-NP' is not a tag of iob2; expected O, B-TYPE, I-TYPE, with a type after the '-'",
        ),
    ],
)
def test_a_broken_sequence_is_told_with_position_tag_rule_and_way_out(
    scheme: str, tags: list[str], message: str
) -> None:
    with pytest.raises(SapoError) as error:
        tags_to_spans(tags, scheme)
    assert str(error.value) == message


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("tag", ["B-", "B", "I-", "", "-", "-NP", "O-", "O-NP", "b-NP", "BI-NP", "NN"])
def test_what_is_not_letter_and_type_is_an_error(scheme: str, tag: str) -> None:
    with pytest.raises(SapoError, match=r"token 1: .* is not a tag of"):
        tags_to_spans(["O", tag], scheme)


def test_a_type_may_hold_hyphens() -> None:
    assert tags_to_spans(["B-B-cell", "I-B-cell"], "iob2") == [Span(0, 2, "B-cell")]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 2, "A"), Span(1, 3, "B")], "span 1:3 'B' overlaps span 0:2 'A'"),
        ([Span(2, 3, "A"), Span(0, 4, "B")], "span 2:3 'A' overlaps span 0:4 'B'"),
        ([Span(1, 2, "A"), Span(1, 2, "A")], "span 1:2 'A' overlaps span 1:2 'A'"),
        ([Span(2, 2, "A")], "span 2:2 'A' is empty"),
        ([Span(3, 2, "A")], "span 3:2 'A' is empty"),
        ([Span(3, 5, "A")], "span 3:5 'A' is out of range; the sentence has 4 tokens"),
        ([Span(-1, 2, "A")], "span -1:2 'A' is out of range"),
        ([Span(0, 2, "")], "span 0:2 has an empty type"),
    ],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_that_cannot_be_written_are_an_error(scheme: str, spans: list[Span], message: str) -> None:
    with pytest.raises(SapoError, match=message):
        spans_to_tags(spans, 4, scheme)


def test_an_unknown_scheme_is_told_with_the_known_ones() -> None:
    message = "unknown tag scheme 'iob'; did you mean 'iob2'"
    with pytest.raises(SapoError, match=message):
        tags_to_spans([], "iob")
    with pytest.raises(SapoError, match=message):
        spans_to_tags([], 0, "iob")
