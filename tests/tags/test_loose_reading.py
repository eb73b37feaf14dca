"""Spans of tags that may break every scheme: as conlleval reads them, and the same for one sentence as for arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conlleval_rules import chunk_ended, chunk_starts, split
from sapo.tags.schemes import label_kinds
from sapo.tags.spans import Span, convert_tags, joined, loose_spans, read_spans, spans_to_tags, tags_to_spans
from scheme_patterns import TAGS


def conlleval_spans(tags: list[str]) -> list[Span]:
    spans, start = [], None
    for position, (before, here) in enumerate(zip(["O", *tags], [*tags, "O"], strict=True)):
        if start is not None and chunk_ended(split(before), split(here)):
            spans.append(Span(start, position, split(before)[1]))
            start = None
        if chunk_starts(split(before), split(here)):
            start = position
    return spans


@given(st.lists(st.sampled_from(TAGS), max_size=12))
def test_any_tags_are_read_as_conlleval_reads_them(tags: list[str]) -> None:
    assert loose_spans(tags) == conlleval_spans(tags)


@given(st.lists(st.lists(st.sampled_from(TAGS), max_size=8), max_size=4))
def test_sentences_and_arrays_are_read_alike(sentences: list[list[str]]) -> None:
    kinds = label_kinds(TAGS)
    gold = np.array([TAGS.index(tag) for tags in sentences for tag in tags], np.int32)
    offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    found = read_spans(kinds, gold, offsets)
    arrays = zip(found.starts.tolist(), found.ends.tolist(), (kinds.type_names[t] for t in found.types), strict=True)
    expected = [
        (span.start + first, span.end + first, span.type)
        for first, tags in zip(offsets.tolist(), sentences, strict=False)
        for span in loose_spans(tags)
    ]
    assert list(arrays) == expected


@given(st.lists(st.sampled_from(TAGS), max_size=12), st.sampled_from(["iob1", "iob2", "bioes", "bilou"]))
def test_valid_tags_are_read_as_their_scheme_says(tags: list[str], scheme: str) -> None:
    valid = spans_to_tags(loose_spans(tags), len(tags), scheme)
    assert loose_spans(valid) == tags_to_spans(valid, scheme) == loose_spans(tags)
    assert loose_spans(convert_tags(valid, scheme, "bilou")) == loose_spans(tags)


def test_a_tag_without_a_letter_or_a_type_continues_nothing() -> None:
    assert not any(joined(*pair) for pair in [("-X", "-X"), ("-X", "I-X"), ("I-X", "-X"), ("B", "I"), ("O", "O")])
    assert loose_spans(["-X", "-X", "NN"]) == [Span(0, 1, "X"), Span(1, 2, "X")]
