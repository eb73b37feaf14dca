"""Strings and their numbers: as a dictionary would do it."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.features import strings
from sapo.features.strings import StringTable, narrow, power_of_two, widen


def from_arrays(arrays: Mapping[str, np.ndarray]) -> StringTable:
    """As from a model file, where each table has a name."""
    return StringTable.from_arrays({f"words.{key}": array for key, array in arrays.items()}, "words")


STRINGS = st.lists(st.text(max_size=6), max_size=40)


@settings(deadline=None, max_examples=80)
@given(st.lists(STRINGS, max_size=5), STRINGS)
def test_a_table_numbers_strings_as_a_dictionary_does(batches: list[list[str]], others: list[str]) -> None:
    table, known = StringTable(), dict[str, int]()
    for batch in batches:
        assert table.add(batch).tolist() == [known.setdefault(string, len(known)) for string in batch]
    assert table.strings() == list(known)
    assert len(table) == len(known)
    assert table.find(others).tolist() == [known.get(string, -1) for string in others]


@settings(deadline=None, max_examples=50)
@given(STRINGS, STRINGS)
def test_a_table_made_of_its_arrays_is_the_same(strings: list[str], others: list[str]) -> None:
    table = StringTable(strings)
    again = from_arrays(table.arrays())
    assert again.strings() == table.strings()
    assert np.array_equal(again.find(strings + others), table.find(strings + others))


@settings(deadline=None, max_examples=50)
@given(STRINGS)
def test_equal_tables_have_equal_arrays_however_they_were_filled(strings: list[str]) -> None:
    at_once, bit_by_bit = StringTable(strings), StringTable()
    for string in strings:
        bit_by_bit.add([string])
    one, two = at_once.arrays(), bit_by_bit.arrays()
    assert all(np.array_equal(one[name], two[name]) for name in ("blob", "offsets", "slots"))


def test_a_lone_surrogate_which_json_can_write_comes_out_as_it_went_in() -> None:
    table = StringTable(["a", "\ud83d"])
    assert table.strings() == ["a", "\ud83d"]
    assert table.find(["\ud83d"]).tolist() == [1]


def test_strings_that_share_beginnings_and_lengths_are_told_apart() -> None:
    strings = [f"{'x' * (i % 7)}{i:05d}" for i in range(20_000)]
    table = StringTable(strings)
    assert table.add(strings).tolist() == list(range(20_000))
    assert table[12_345] == strings[12_345]


@pytest.mark.parametrize(
    "change",
    [
        lambda blob, offsets, slots: (blob, offsets[:0], slots),
        lambda blob, offsets, slots: (blob, offsets + 1, slots),
        lambda blob, offsets, slots: (blob[:-1], offsets, slots),
        lambda blob, offsets, slots: (blob, offsets[[0, 2, 1, 3]], slots),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(change: Callable[..., tuple[np.ndarray, ...]]) -> None:
    arrays = StringTable(["a", "bc", "def"]).arrays()
    with pytest.raises(ValueError, match=r"string table"):
        from_arrays(dict(zip(arrays, change(*arrays.values()), strict=True)))


@pytest.mark.parametrize("slots", [[], [1, 1], [0, 1, 0], [7, -1, 9, 5], [1] * 64])
def test_slots_of_a_file_are_not_trusted(slots: list[int]) -> None:
    arrays = StringTable(["a", "bc", "def"]).arrays()
    table = from_arrays({**arrays, "slots": np.array(slots, np.int32)})
    assert table.find(["def", "x", "a"]).tolist() == [2, -1, 0]
    assert table.copy(room=9).add(["x", "y", "bc"]).tolist() == [3, 4, 1]


def test_slots_are_a_power_of_two() -> None:
    assert [power_of_two(at_least) for at_least in (0, 1, 2, 3, 4, 5, 1024, 1025)] == [2, 2, 2, 4, 4, 8, 1024, 2048]


def test_more_bytes_than_their_places_can_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MOST_BYTES", 5)
    table = StringTable(["abc", "de"])
    with pytest.raises(SapoError, match="6 bytes of strings at once are more than 5; give fewer sentences"):
        table.find(["abc", "def"])


@settings(deadline=None, max_examples=50)
@given(STRINGS, STRINGS)
def test_a_table_made_of_its_small_arrays_is_the_same(strings: list[str], others: list[str]) -> None:
    table = StringTable(strings)
    again = StringTable.from_small_arrays(
        {f"words.{key}": array for key, array in table.small_arrays().items()}, "words"
    )
    assert again.strings() == table.strings()
    assert np.array_equal(again.find(strings + others), table.find(strings + others))
    assert np.array_equal(again.copy().add(others), table.copy().add(others))


@given(st.lists(st.integers(0, 2**31 - 1)), st.integers(0, 31))
def test_narrow_numbers_are_the_same_when_they_are_widened(numbers: list[int], shift: int) -> None:
    expected = np.array(numbers, np.int32) >> shift
    planes = narrow(expected)
    assert widen({"numbers": planes}, "numbers").tolist() == expected.tolist()
    assert len(planes) == 1 or planes[-1].any()


@pytest.mark.parametrize(
    "planes",
    [np.zeros(3, np.uint8), np.zeros((0, 3), np.uint8), np.zeros((5, 3), np.uint8), np.zeros((1, 3), np.int32),
     np.full((4, 1), 255, np.uint8)],
)  # fmt: skip
def test_what_is_not_narrow_is_refused(planes: np.ndarray) -> None:
    with pytest.raises(ValueError, match="numbers"):
        widen({"numbers": planes}, "numbers")
