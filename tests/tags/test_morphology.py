"""Labels that hold morphology: what is one, in which order, and with which values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.tags.labels import in_order, read_morphology, split_pos

ITEMS = st.lists(st.sampled_from(["Case=Nom", "Case=Acc", "case=Nom", "Number=Sing", "NumForm=Word"]), min_size=1)


@given(ITEMS, st.randoms())
def test_the_order_does_not_depend_on_that_of_the_features(items: list[str], random: object) -> None:
    shuffled = sorted(items, key=lambda _: random.random())  # type: ignore[attr-defined]
    once = in_order("|".join(items))
    assert once == in_order("|".join(shuffled))
    assert once is not None
    assert in_order(once) == once
    assert set(once.split("|")) == set(items)


def test_the_order_is_that_of_ud() -> None:
    feats = "NumType=Ord|Number[psor]=Sing|Number=Plur|NumForm=Word|Case=Nom"
    assert in_order(feats) == "Case=Nom|Number=Plur|Number[psor]=Sing|NumForm=Word|NumType=Ord"


@given(st.text("AB|_", min_size=1), st.just("_") | ITEMS.map("|".join))
def test_a_part_of_speech_is_taken_off_again(pos: str, features: str) -> None:
    assert split_pos(f"{pos}|{features}") == (pos, features)


@pytest.mark.parametrize(
    "labels",
    [
        [],
        ["_"],
        ["NN", "VB"],
        ["NN", "="],
        ["O", "B-X"],
        ["NOUN|_", "VERB|_"],
        ["Case=Nom", "NOUN"],
        ["Case=Nom", "NOUN|Case=Nom"],
        ["NOUN|Case=Nom", "_"],
        ["Case=Nom|"],
    ],
)
def test_other_labels_are_no_morphology(labels: list[str]) -> None:
    assert read_morphology(labels) is None


def test_a_part_of_speech_that_is_not_of_ud_is_pos_and_a_missing_one_has_no_value() -> None:
    assert read_morphology(["NN|Case=Nom", "_|_"]) == [{"pos": "NN", "Case": "Nom"}, {}]
