"""Tables of strings and keys against dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.features.hashing import (
    add_keys,
    count_keys,
    find_frozen,
    find_key,
    find_string,
    hash_bytes,
    hash_key,
    hash_keys,
    hash_strings,
    insert_rows,
    new_slots,
    slots_of_strings,
)
from sapo.features.strings import StringTable, fields, power_of_two
from sapo.features.tables import _in_buckets

# few different strings, so that many come again; of few letters, so that prefixes of each other are among them
STRINGS = st.lists(st.one_of(st.text("ab", max_size=3), st.sampled_from(["", "é", "日本", "\x00", "🙂", "a\nb"])))
ANY_STRINGS = st.lists(st.text(max_size=8), max_size=30)
# different strings with the same FNV-1a hash of 32 bits: only a look at the bytes tells them apart
TWINS = [("costarring", "liquid"), ("declinate", "macallums"), ("altarage", "zinke")]
KEYS = st.lists(st.one_of(st.integers(0, 20), st.integers(0, 2**62), st.just(-1)), max_size=40)


def numbered(strings: list[str], known: dict[str, int]) -> list[int]:
    """The twin: the number of each string in the order they came."""
    return [known.setdefault(string, len(known)) for string in strings]


@given(st.lists(st.one_of(STRINGS, ANY_STRINGS), max_size=4), STRINGS)
@settings(deadline=None, max_examples=150)
def test_a_string_table_equals_a_dictionary(batches: list[list[str]], wanted: list[str]) -> None:
    table, known = StringTable(), dict[str, int]()
    for batch in batches:
        assert table.add(batch).tolist() == numbered(batch, known)
        assert len(table) == len(known)
    assert table.strings() == list(known)
    assert table.find(wanted).tolist() == [known.get(string, -1) for string in wanted]
    assert len(table) == len(known)


@given(STRINGS, STRINGS)
@settings(deadline=None, max_examples=60)
def test_a_stored_string_table_finds_the_same(strings: list[str], wanted: list[str]) -> None:
    table = StringTable(strings)
    arrays = {f"words.{key}": array.copy() for key, array in table.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    stored = StringTable.from_arrays(arrays, "words")
    assert stored.strings() == table.strings()
    assert stored.find(wanted + strings).tolist() == table.find(wanted + strings).tolist()


def test_a_lone_surrogate_as_json_may_hold_one_is_a_string_like_any_other() -> None:
    table = StringTable(["a\ud800"])
    assert table.find(["a\ud800", "a"]).tolist() == [0, -1]
    assert table[0] == "a\ud800"


def test_strings_are_added_only_where_no_number_is_known_yet() -> None:
    table = StringTable(["x", "y"])
    ids = np.array([1, -1, 0, -1], np.int32)
    assert table.add_fields(*fields(["other", "new", "another", "y"]), ids).tolist() == [1, 2, 0, 1]
    assert table.strings() == ["x", "y", "new"]
    assert table.strings(2) == ["new"]


def test_a_table_grows_to_thousands_of_strings() -> None:
    table = StringTable()
    words = [f"word{i * i}" for i in range(3000)]
    for start in range(0, 3000, 7):
        table.add(words[start : start + 7])
    assert len(table) == 3000
    assert table.find(words).tolist() == list(range(3000))
    assert table.find(["word2", "", "Word0"]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("pair", TWINS)
def test_strings_with_the_same_hash_are_told_apart(pair: tuple[str, str]) -> None:
    data, starts, ends = fields(pair)
    assert hash_bytes(data, starts[0], ends[0]) == hash_bytes(data, starts[1], ends[1])
    assert StringTable([pair[0]]).find(pair).tolist() == [0, -1]
    assert StringTable(pair).find(pair[::-1]).tolist() == [1, 0]


def test_a_string_is_not_found_by_its_beginning_or_by_what_follows_it() -> None:
    table = StringTable(["ab", "cd"])
    assert table.find(["a", "abc", "abcd", "b", "bc", ""]).tolist() == [-1] * 6


# Slots are stored in model files: with another hash, or one that differs between the modes, they would be lost.
@pytest.mark.parametrize(
    ("string", "expected"),
    [
        (b"", 2166202364),
        (b"a", 3826114868),
        (b"the", 3020937729),
        ("日本".encode(), 2670186524),
        (b"\x00" * 9, 3370389556),
    ],
)
def test_the_hash_of_a_string_never_changes(string: bytes, expected: int) -> None:
    data = np.frombuffer(b"xy" + string + b"z", np.uint8)
    assert hash_bytes(data, 2, 2 + len(string)) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (0, 0),
        (1, 1974028515),
        (2**32, 23505),
        (2**32 + 1, 1974005009),
        (2**63 - 1, 1785949457),
        (123456789012345678, 3259717102),
    ],
)
def test_the_hash_of_a_key_never_changes(key: int, expected: int) -> None:
    assert hash_key(np.int64(key)) == expected


@given(KEYS)
@settings(deadline=None, max_examples=150)
def test_counted_keys_equal_a_counter(wanted: list[int]) -> None:
    keys, counts = np.full(len(wanted), -7, np.int64), np.full(len(wanted), -7, np.int32)
    slots = new_slots(power_of_two(2 * len(wanted)))
    distinct = count_keys(np.array(wanted, np.int64), keys, counts, slots)
    expected = Counter(key for key in wanted if key >= 0)
    assert dict(zip(keys[:distinct].tolist(), counts[:distinct].tolist(), strict=True)) == expected
    assert keys[:distinct].tolist() == list(expected)  # in the order they appeared


@given(KEYS, KEYS, KEYS)
@settings(deadline=None, max_examples=100)
def test_two_tables_of_rows_side_by_side_equal_two_dictionaries(
    left: list[int], right: list[int], more: list[int]
) -> None:
    # half of the keys in each table; the tables are as small as may be, so that hashes collide
    groups = [list(dict.fromkeys(key for key in group if key >= 0)) for group in (left, right)]
    keys = np.array(groups[0] + groups[1], np.int64)
    rows = np.arange(len(keys), dtype=np.int32)
    sizes = [power_of_two(2 * len(group)) for group in groups]
    slots = new_slots(sum(sizes))
    first = 0
    for group, base, size in zip(groups, (0, sizes[0]), sizes, strict=True):
        insert_rows(rows[first : first + len(group)], keys, slots, base, size - 1)
        first += len(group)
    for group, base, size, begin in zip(groups, (0, sizes[0]), sizes, (0, len(groups[0])), strict=True):
        known = {key: begin + i for i, key in enumerate(group)}
        for key in [*left, *right, *more]:
            if key >= 0:
                found = slots[find_key(key, keys, slots, base, size - 1)] - 1
                assert found == known.get(key, -1)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_a_table_with_one_empty_slot_left_still_finds_and_misses(size: int) -> None:
    keys = np.arange(100, 100 + size - 1, dtype=np.int64)
    slots = new_slots(size)
    insert_rows(np.arange(size - 1, dtype=np.int32), keys, slots, 0, size - 1)
    assert np.count_nonzero(slots[:-1]) == size - 1
    assert [slots[find_key(int(key), keys, slots, 0, size - 1)] - 1 for key in keys] == list(range(size - 1))
    assert slots[find_key(99, keys, slots, 0, size - 1)] == 0


@given(st.lists(st.integers(0, 40), max_size=60), st.lists(st.integers(0, 40), max_size=60), st.booleans())
def test_keys_that_are_added_equal_a_dictionary(before: list[int], after: list[int], direct: bool) -> None:
    keys, slots = np.zeros(128, np.int64), new_slots(256)
    base, size, known, count = 64, 128, {}, 0
    for wanted in (before, after):
        count = add_keys(np.array(wanted, np.int64), keys, count, direct, slots, base, size)
        for key in wanted:
            known.setdefault(key, len(known))
    assert keys[:count].tolist() == list(known)
    assert not slots[:base].any()
    assert not slots[base + size : -1].any()
    for key in range(41):
        slot = base + key if direct else find_key(key, keys, slots, base, size - 1)
        assert slots[slot] - 1 == known.get(key, -1)


@pytest.mark.parametrize("keys", [[0, 1, 2**32, 2**32 + 1, 2**63 - 1, 123456789012345678]])
def test_many_keys_have_the_hashes_of_each(keys: list[int]) -> None:
    assert hash_keys(np.array(keys, np.int64)).tolist() == [hash_key(np.int64(key)) for key in keys]


@given(st.data(), st.integers(2, 63))
@settings(deadline=None, max_examples=150)
def test_a_frozen_table_equals_a_dictionary(data: st.DataObject, bits: int) -> None:
    some = st.one_of(st.integers(0, 2**bits - 1), st.integers(0, min(20, 2**bits - 1)))
    known = np.array(data.draw(st.lists(some, unique=True, max_size=40)), np.int64)
    bucket_bits = data.draw(st.integers(0, min(bits - 1, 6)))
    before, first = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 5))
    seed = data.draw(st.sampled_from([0, 123_456_789]))
    order, ends, rests = _in_buckets(known, bits, bucket_bits, seed)
    rest_bits = bits - bucket_bits
    buckets = np.concatenate([np.full(before, -7), first + ends]).astype(np.int32)
    origin = -first * ((rest_bits + 7) // 8)
    rows = {key: first + row for row, key in enumerate(known[order].tolist())}
    for key in [*known.tolist(), *data.draw(st.lists(some, max_size=20))]:
        found = find_frozen(key, rest_bits, seed, buckets, before, (1 << bucket_bits) - 1, rests, origin)
        assert found == rows.get(key, -1)


@given(st.one_of(STRINGS, ANY_STRINGS, st.lists(st.integers(0, 300).map("ab".__mul__), max_size=50)))
@settings(deadline=None, max_examples=150)
def test_slots_that_are_made_at_once_are_as_good_as_those_of_a_kernel(strings: list[str]) -> None:
    distinct = list(dict.fromkeys(strings))
    blob, starts, ends = fields(distinct)
    offsets = np.append(np.zeros(1, np.int64), ends)
    assert hash_strings(blob, offsets).tolist() == [hash_bytes(blob, *at) for at in zip(starts, ends, strict=True)]
    slots = slots_of_strings(blob, offsets, power_of_two(2 * len(distinct)))
    assert np.count_nonzero(slots[:-1]) == len(distinct)
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert slots[find_string(blob, start, end, blob, offsets, slots)] == number + 1
