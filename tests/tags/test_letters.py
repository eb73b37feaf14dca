"""The table of letters: all that follows from it, against regular expressions that say what each scheme is."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.tags.labels import LEARNABLE, SHOWN
from sapo.tags.recognition import scheme_bans
from sapo.tags.schemes import (
    ALWAYS_BEGIN,
    ALWAYS_END,
    PREFIXES,
    SCHEMES,
    SPAN_LETTERS,
    TABLE,
    Prefix,
    Scheme,
    looks_like_spans,
    scheme_named,
)
from sapo.tags.spans import tags_to_spans
from scheme_patterns import TAGS, is_valid


def allowed_by_steps(tags: list[str], scheme: Scheme) -> bool:
    parts = [tag.partition("-") for tag in ["O", *tags, "O"]]
    steps = [(p, y, kind_p == kind_y) for (p, _, kind_p), (y, _, kind_y) in pairwise(parts)]
    return all(map(scheme.fits, tags)) and all(scheme.may_follow(*step) for step in steps)


def allowed_by_reading(tags: list[str], scheme: str) -> bool:
    try:
        tags_to_spans(tags, scheme)
    except SapoError:
        return False
    return True


def allowed_by_bans(tags: list[str], scheme: str) -> bool:
    labels = [tag for tag in TAGS if TABLE[scheme].fits(tag)]
    if not set(tags) <= set(labels):
        return False
    path = [labels.index(tag) for tag in tags]
    bans, L = scheme_bans(labels, scheme), len(labels)
    return not path or not (
        bans[L, path[0]] or bans[L + 1, path[-1]] or any(bans[before, tag] for before, tag in pairwise(path))
    )


def assert_agree(tags: list[str], scheme: str) -> None:
    expected = is_valid(tags, scheme)
    assert allowed_by_steps(tags, TABLE[scheme]) == expected
    if scheme in SCHEMES:
        assert allowed_by_reading(tags, scheme) == expected
        assert allowed_by_bans(tags, scheme) == expected


@pytest.mark.parametrize("scheme", TABLE)
@pytest.mark.parametrize("length", range(4))
def test_the_valid_short_taggings_are_those_of_the_definition(scheme: str, length: int) -> None:
    for tags in product(TAGS, repeat=length):
        assert_agree(list(tags), scheme)


@pytest.mark.parametrize("scheme", TABLE)
@given(data=st.data())
def test_the_valid_long_taggings_are_those_of_the_definition(scheme: str, data: st.DataObject) -> None:
    fitting = [tag for tag in TAGS if TABLE[scheme].fits(tag)]
    tags: list[str] = []
    for _ in range(data.draw(st.integers(0, 12))):  # mostly valid steps, else no long tagging would be valid
        before = tags[-1] if tags else "O"
        valid = [tag for tag in fitting if allowed_by_steps([*tags, tag], TABLE[scheme]) or before[1:] == tag[1:]]
        tags.append(data.draw(st.sampled_from(valid or TAGS)))
    assert_agree(tags, scheme)


@pytest.mark.parametrize(
    ("scheme", "needs_before", "needs_after"),
    [
        ("iob1", {"B": "I"}, {}),
        ("iob2", {"I": "B"}, {}),
        ("bioes", {"I": "B", "E": "S"}, {"B": "S", "I": "E"}),
        ("bilou", {"I": "B", "L": "U"}, {"B": "U", "I": "L"}),
        ("bmes", {"M": "B", "E": "S"}, {"B": "S", "M": "E"}),
        ("io", {}, {}),
        ("ioe1", {}, {"E": "I"}),
        ("ioe2", {}, {"I": "E"}),
    ],
)
def test_letters_know_which_neighbors_they_need(
    scheme: str, needs_before: dict[str, str], needs_after: dict[str, str]
) -> None:
    assert TABLE[scheme].needs_before == needs_before
    assert TABLE[scheme].needs_after == needs_after


def test_what_a_letter_means_is_the_same_in_every_scheme() -> None:
    assert "".join(sorted(SPAN_LETTERS)) == "BEILMSU"
    assert "".join(sorted(ALWAYS_BEGIN)) == "BSU"
    assert "".join(sorted(ALWAYS_END)) == "ELSU"
    assert SHOWN == {"B": "B", "I": "I", "E": "I", "S": "B", "L": "I", "U": "B", "M": "I"}
    assert LEARNABLE == ("iob2", "bioes", "bilou", "bmes")
    assert sorted(letter for letter, prefix in PREFIXES.items() if prefix is Prefix.INSIDE) == ["I", "M"]
    assert [letter for letter, prefix in PREFIXES.items() if prefix is Prefix.BEGIN] == ["B"]
    assert sorted(letter for letter, prefix in PREFIXES.items() if prefix is Prefix.END) == ["E", "L"]
    assert sorted(letter for letter, prefix in PREFIXES.items() if prefix is Prefix.SINGLE) == ["S", "U"]


@pytest.mark.parametrize(
    ("scheme", "letters"), [("iob1", "BI"), ("iob2", "BI"), ("bioes", "BEIS"), ("bilou", "BILU"), ("bmes", "BEMS")]
)
def test_a_scheme_has_its_letters(scheme: str, letters: str) -> None:
    assert "".join(sorted(scheme_named(scheme).letters)) == letters


@pytest.mark.parametrize("name", ["io", "ioe1", "ioe2", "iob", ""])
def test_only_schemes_that_can_be_written_are_offered(name: str) -> None:
    with pytest.raises(
        SapoError, match=f"unknown tag scheme '{name}'; (known: iob1, iob2, bioes, bilou|did you mean 'iob)"
    ):
        scheme_named(name)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["O", "B-X", "I-X", "B-Y", "I-Y"], True),
        (["O", "B-X", "I-X", "L-X", "U-X"], True),
        (["I-X"], True),
        (["O", "B-cell-type"], True),
        (["O"], False),
        ([], False),
        (["O", "B-X", "NN"], False),
        (["B", "I", "O"], True),
        (["B", "I"], True),
        (["B", "O"], False),
        (["I", "O"], False),
        (["B", "M", "E", "S"], True),
        (["B", "E", "S", "O"], True),
        (["B", "M", "E"], False),
        (["B", "S", "O", "N", "V"], False),
        (["O", "NP-B", "NP-I", "VP-B"], True),
        (["O", "NP-B", "NP-I", "VP"], False),
        (["NP-B"], False),
        (["O", "cell-type-B", "cell-type-E", "DNA-S"], True),
        (["X-B", "I-Y", "O"], False),
        (["O", "B-"], False),
        (["O", "BI-X"], False),
        (["O", "-X"], False),
    ],
)
def test_span_labels_are_o_or_have_a_letter_of_a_scheme(labels: list[str], expected: bool) -> None:
    assert looks_like_spans(labels) is expected
