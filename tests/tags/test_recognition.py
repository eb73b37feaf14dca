"""Recognition of schemes, of sentences and of counts: what fits, against the definition of each scheme."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.tags.recognition import recognize, recognize_scheme, transition_counts
from sapo.tags.schemes import SCHEMES
from sapo.tags.spans import loose_spans, spans_to_tags
from scheme_patterns import TAGS, is_valid

LIKELIEST_FIRST = ("iob2", "iob1", "bioes", "bilou", "bmes")


def recognized(sentences: list[list[str]]) -> tuple[str, int] | None:
    """What `recognize` finds: the scheme and the number of faults."""
    labels = sorted({tag for tags in sentences for tag in tags})
    gold = np.array([labels.index(tag) for tags in sentences for tag in tags], np.int32)
    found = recognize(labels, transition_counts(gold, np.cumsum([0, *map(len, sentences)]), len(labels)))
    return found and (found[0], int(found[1].sum()))


@st.composite
def tagged(draw: st.DrawFn) -> list[list[str]]:
    """Draw sentences that are all valid in one scheme, or in none."""
    listed = draw(st.lists(st.lists(st.sampled_from(TAGS), max_size=6), max_size=4))
    scheme = draw(st.sampled_from([*SCHEMES, None]))
    return listed if scheme is None else [spans_to_tags(loose_spans(tags), len(tags), scheme) for tags in listed]


@given(tagged())
def test_the_first_scheme_in_which_all_sentences_are_valid_is_recognized(sentences: list[list[str]]) -> None:
    fitting = [scheme for scheme in LIKELIEST_FIRST if all(is_valid(tags, scheme) for tags in sentences)]
    expected = fitting[0] if fitting and any(sentences) else None
    assert recognize_scheme(sentences) == expected
    if any(tag != "O" for tags in sentences for tag in tags):
        found = recognized(sentences)
        assert (found[0] if found and not found[1] else None) == expected


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        (["O B-X I-X O", "B-X B-X"], "iob2"),
        (["O I-X I-X O", "I-X B-X"], "iob1"),
        (["I-X O I-X"], "iob1"),
        (["B-X E-X S-X O"], "bioes"),
        (["B-X L-X U-X O"], "bilou"),
        (["B-X M-X E-X O", "S-X"], "bmes"),
        (["B M E S"], "bmes"),
        (["S O B", "I O"], None),
        (["B I O", "O B"], "iob2"),
        (["I O", "I B I"], "iob1"),
        (["B I E O S"], "bioes"),
        (["NP-B NP-I O VP-B"], "iob2"),
        (["NP-I VP-I NP-I NP-B"], "iob1"),
        (["O B-X"] * 20 + ["O I-X"], "iob2"),
        (["DT NN"], None),
        (["O O"], None),
        (["O I-X I-Y B-Y B-X O B-Y I-X O B-X I-Y"], None),
        (["B-X O E-X I-X O S-X"], None),
        (["O B-"], None),
        (["O Q-X"], None),
    ],
)
def test_a_scheme_is_recognized_by_its_letters_and_by_what_follows_what(
    sentences: list[str], scheme: str | None
) -> None:
    found = recognized([sentence.split() for sentence in sentences])
    assert (found and found[0]) == scheme


@pytest.mark.parametrize(
    "sequences",
    [
        [],
        [[]],
        [["DT", "NN"]],
        [["B-NP", "NN"]],
        [["B-"]],
        [[""]],
        [["O", "I", "B", "O", "B"]],
        [["S", "O"], ["B", "O", "V"]],
        [["B-NP", "I-NP", "E-NP"], ["B-NP", "I-NP", "L-NP"]],
        [["I-NP"], ["B-NP"]],
    ],
)
def test_no_scheme_is_recognized_where_none_fits(sequences: list[list[str]]) -> None:
    assert recognize_scheme(sequences) is None


def test_outside_alone_counts_as_iob2() -> None:
    assert recognize_scheme([["O", "O"]]) == "iob2"


def test_nothing_is_read_after_the_last_scheme_is_out() -> None:
    def sentences() -> Iterator[list[str]]:
        yield ["B-X", "NN"]
        raise AssertionError

    assert recognize_scheme(sentences()) is None


def test_neighbors_are_counted_within_sentences_and_not_beside_missing_tags() -> None:
    gold = np.array([0, 1, -1, 0, 1, 1], np.int32)
    counts = transition_counts(gold, np.array([0, 4, 4, 6]), 2)
    assert counts.tolist() == [[0, 1], [0, 1], [1, 1], [1, 1]]
