"""Labels and rules give back the output that they were made from."""

from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapo.errors import DataError
from sapo.tags.edits import align, apply_labels, apply_rule, edit_labels, lowered, rule_of

texts = st.text(st.characters(blacklist_characters="\0"), max_size=12)
words = st.text("abA|ß\u0130\u03c3\u03a3\u03c2\u01c5\ufb01", max_size=8)


@given(form=(texts | words).filter(bool), output=texts | words)
@example("İ", "i̇")
@example("ΟΔΟΣ", "οδος")
@example("a", "")
@example("ß", "SS")
@example("b", "ab")
def test_labels_and_rules_give_the_output_back(form: str, output: str) -> None:
    labels = edit_labels(form, output)
    assert len(labels) == len(form)
    assert apply_labels(form, labels) == output
    assert apply_rule(form, rule_of(form, output)) == output


@given(form=words)
def test_lower_case_keeps_the_length(form: str) -> None:
    assert len(lowered(form)) == len(form)


@given(form=st.text("abc", min_size=1, max_size=6), output=st.text("abc", max_size=6))
def test_an_alignment_has_the_smallest_cost(form: str, output: str) -> None:
    @cache
    def least(i: int, j: int) -> float:
        if not i or not j:
            return float(i + j)
        replaced = least(i - 1, j - 1) + (0.0 if form[i - 1] == output[j - 1] else 1.5)
        return min(replaced, least(i - 1, j) + 1, least(i, j - 1) + 1)

    def cost(letter: str, piece: str) -> float:
        if letter in piece:
            return len(piece) - 1.0
        return min(1.0 + len(piece), 1.5 + len(piece) - 1 if piece else 1.0)

    pieces = align(form, output)
    assert "".join(pieces) == output
    assert sum(map(cost, form, pieces)) == pytest.approx(least(len(form), len(output)))


def test_long_strings_that_share_most_are_aligned_and_others_are_refused() -> None:
    long = "ab" * 5000
    assert apply_labels(long + "s", edit_labels(long + "s", long)) == long
    with pytest.raises(DataError, match="differ in 10,000 and 10,000 characters; split them"):
        edit_labels(long, "cd" * 5000)
    with pytest.raises(DataError, match="NUL"):
        edit_labels("a\0", "a")
