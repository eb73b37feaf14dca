"""Data that was made to collide: looking it up takes a few steps, which are counted, and changes no number."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError
from sapo.features import hashing
from sapo.features import tables as frozen_tables
from sapo.features.building import distinct_keys
from sapo.features.hashing import hash_keys, hash_strings, new_slots
from sapo.features.layout import FeatureLayout
from sapo.features.strings import StringTable, fields
from sapo.features.tables import FrozenTables, OpenTables, best_bucket_bits, freeze_tables, fullest, make_tables
from sapo.features.template import parse_templates

SIZE = 1 << 11  # slots
MOST = hashing.PROBES + 40  # steps: more than 40 leaps in a table that is half full have a chance of 1 in 2**40
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM", np.uint8)


class Counted:
    """An array that counts how often it is read."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.reads = array, 0

    def __getitem__(self, place: int) -> Any:
        self.reads += 1
        return self.array[place]

    def __len__(self) -> int:
        return len(self.array)


@contextmanager
def interpreted() -> Iterator[None]:
    """Let what finds a string or a key be interpreted, so that it takes arrays that count."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("same_string", "near_string", "far_string", "find_string", "near_key", "far_key", "find_key"):
            kernel = getattr(hashing, name)
            patch.setattr(hashing, name, getattr(kernel, "py_func", kernel))
        yield


@pytest.fixture(scope="module")
def words() -> list[str]:
    """Words that all want the same slot."""
    every = np.arange(len(LETTERS) ** 4)[:, None] // len(LETTERS) ** np.arange(4) % len(LETTERS)
    blob = LETTERS[every].reshape(-1)
    offsets = np.arange(0, len(blob) + 1, 4, dtype=np.int64)
    found = np.flatnonzero(hash_strings(blob, offsets) & (SIZE - 1) == 7)[: SIZE // 2 - 1]
    return [blob[4 * at : 4 * at + 4].tobytes().decode() for at in found.tolist()]


@pytest.fixture(scope="module")
def keys() -> np.ndarray:
    """Keys that all want the same slot."""
    some = np.arange(2_500_000)
    return some[hash_keys(some) & (SIZE - 1) == 7][: SIZE // 2 - 1]


def steps(table: StringTable, wanted: list[str]) -> Iterator[int]:
    """Yield how many strings the table compares with each of these."""
    data, starts, ends = fields(wanted)
    for start, end in zip(starts, ends, strict=True):
        offsets = Counted(table._offsets)
        with interpreted():
            hashing.find_string(data, start, end, table._blob, offsets, table._slots)  # type: ignore[arg-type]
        yield offsets.reads // 2


def reads(key: int, keys: np.ndarray, slots: np.ndarray, row: int) -> int:
    """Find a key; return how many it is compared with."""
    counted = Counted(keys)
    with interpreted():
        slot = hashing.find_key(key, counted, slots, 0, SIZE - 1)  # type: ignore[arg-type]
    assert slots[slot] == row + 1
    return counted.reads


def test_words_with_one_hash_are_found_in_a_few_steps(words: list[str]) -> None:
    table = StringTable()
    assert table.add(words[:-9]).tolist() == list(range(len(words) - 9))
    assert len(words) > 700
    assert len(table._slots) == SIZE + 1
    assert max(steps(table, words[::-20])) < MOST  # known or not
    assert table.find(words).tolist() == [*range(len(words) - 9), *[-1] * 9]
    stored = StringTable.from_small_arrays({f"w.{k}": v for k, v in table.small_arrays().items()}, "w")
    assert max(steps(stored, words[::-20])) < MOST
    assert stored.find(words).tolist() == table.find(words).tolist()


def test_a_file_with_words_of_one_hash_is_the_same_each_time(words: list[str]) -> None:
    one, other = StringTable(words).arrays(), StringTable(words).arrays()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_file_that_holds_one_word_a_thousand_times_is_read() -> None:
    arrays = {"w.blob": np.frombuffer(b"ab" * 1000, np.uint8), "w.lengths": np.full((1, 1000), 2, np.uint8)}
    table = StringTable.from_small_arrays(arrays, "w")
    assert np.count_nonzero(table._slots[:-1]) < 20
    assert table[int(table.find(["ab"])[0])] == "ab"


def test_keys_with_one_hash_are_found_in_a_few_steps(keys: np.ndarray) -> None:
    slots = new_slots(SIZE)
    hashing.insert_rows(np.arange(len(keys), dtype=np.int32), keys, slots, 0, SIZE - 1)
    for row, key in list(enumerate(keys.tolist()))[::-20]:
        assert reads(key, keys, slots, row) < MOST
    found, counts = distinct_keys(np.concatenate([keys, keys]), 1)
    assert found.tolist() == keys.tolist()
    assert set(counts.tolist()) == {2}


NO_EDGES = np.empty(0, np.int64), np.empty(0, np.int32)


@pytest.fixture(scope="module")
def layout(as_block: Any, build: Any) -> FeatureLayout:
    """The layout of a table for pairs of 2,000 words."""
    text = [Sentence({"word": tuple(f"w{i}" for i in range(2000))})]
    encoder, _ = build([as_block(text)], parse_templates("word[-1] & word[1]", ("word",)))
    found: FeatureLayout = encoder.layout
    return found


def test_an_open_table_of_such_keys_is_the_same_in_a_file_and_read_from_it(layout: FeatureLayout) -> None:
    bits = layout.key_bits(0) // 2
    pairs = (np.arange(5, 2000)[:, None] << bits | np.arange(5, 2000)).reshape(-1)
    keys = pairs[hash_keys(pairs) & (SIZE - 1) == 7][: SIZE // 2 - 1]
    assert len(keys) == SIZE // 2 - 1
    made = [make_tables(layout, (keys, np.zeros(len(keys), np.int32)), NO_EDGES) for _ in range(2)]
    one, other = (table.arrays() for table in made)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    read = OpenTables.from_arrays(layout, one)
    for row, key in list(enumerate(keys.tolist()))[::-20]:
        assert reads(key, read.keys, read.slots, row) < MOST


@pytest.fixture
def one_bucket(layout: FeatureLayout) -> np.ndarray:
    """Keys that all belong into the first bucket of a frozen table."""
    bucket_bits = best_bucket_bits(layout.key_bits(0), 1500)
    rests = np.arange(1500)
    return (hash_keys(rests) & ((1 << bucket_bits) - 1)) << (layout.key_bits(0) - bucket_bits) | rests


def frozen_from(layout: FeatureLayout, keys: np.ndarray) -> FrozenTables:
    found, order, _ = freeze_tables(layout, (keys, np.zeros(len(keys), np.int32)), NO_EDGES)
    assert np.array_equal(found.keys, keys[order])
    return found


def test_a_frozen_table_with_a_long_bucket_gets_a_seed(layout: FeatureLayout, one_bucket: np.ndarray) -> None:
    one, other = (frozen_from(layout, one_bucket).arrays() for _ in range(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    read = FrozenTables.from_arrays(layout, one)
    assert fullest(read.frozen.buckets) <= 40
    seed, bits = int(read.frozen.seeds[0]), int(read.frozen.rest_bits[0])
    assert seed > 0
    for row, key in enumerate(read.keys.tolist()):
        mask = len(read.frozen.buckets) - 2
        assert row == hashing.find_frozen(key, bits, seed, read.frozen.buckets, 0, mask, read.frozen.rests, 0)


def test_other_tables_have_no_seed(layout: FeatureLayout) -> None:
    assert "feature.seeds" not in frozen_from(layout, np.arange(1500)).arrays()


def test_a_file_with_a_long_bucket_is_refused(
    layout: FeatureLayout, one_bucket: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(frozen_tables, "FULLEST", 10_000)
        arrays = frozen_from(layout, one_bucket).arrays()
    with pytest.raises(ValueError, match="bucket"):
        FrozenTables.from_arrays(layout, arrays)


def test_equal_keys_of_a_damaged_model_end_no_search_for_a_seed(layout: FeatureLayout) -> None:
    with pytest.raises(SapoError, match="changed or damaged"):
        frozen_from(layout, np.zeros(1500, np.int64))
