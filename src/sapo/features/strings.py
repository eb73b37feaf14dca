"""Number byte strings densely, store numbers in few bytes, and check arrays that come from files.

A `StringTable` has the bytes of all strings, one after the other, their offsets, and slots that lead from a string to
its number (see features/hashing.py). A file keeps bytes and lengths; slots of a file would have to be checked, so they
are made when they are first needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.errors import DataError
from sapo.features.hashing import (
    intern_strings,
    look_up_strings,
    new_slots,
    rehash_strings,
    seed_from,
    slots_of_strings,
)
from sapo.jit.arrays import Bytes, Ints, Longs, offsets_of

WIDEST = 4  # bytes of a number in a file
MOST_BYTES = 2**31 - 1  # of strings that are looked up at once: places in them are 32-bit numbers


def narrow(numbers: Ints) -> Bytes:
    """Return the bytes of numbers that are not negative: [bytes, numbers], the lowest byte first.

    >>> narrow(np.array([1, 258], np.int32)).tolist()
    [[1, 2], [0, 1]]
    """
    width = max(1, (int(numbers.max(initial=0)).bit_length() + 7) // 8)
    return np.stack([(numbers >> (8 * byte)).astype(np.uint8) for byte in range(width)])


def widen(arrays: Mapping[str, np.ndarray], name: str) -> Ints:
    """Return the numbers of an array of a file; raise ValueError or KeyError if `narrow` did not make it.

    >>> widen({"sizes": np.array([[1, 2], [0, 1]], np.uint8)}, "sizes").tolist()
    [1, 258]
    """
    planes = arrays[name]
    if planes.dtype != np.uint8 or planes.ndim != 2 or not 1 <= len(planes) <= WIDEST:
        raise ValueError(name)
    numbers: Ints = planes[0].astype(np.int32)
    for byte in range(1, len(planes)):
        numbers |= planes[byte].astype(np.int32) << (8 * byte)
    if len(planes) == WIDEST and (numbers < 0).any():
        raise ValueError(name)
    return numbers


class StringTable:
    """Distinct strings, numbered in the order in which they were added.

    >>> table = StringTable(["the", "cat"])
    >>> table.find(["cat", "dog"]).tolist()
    [1, -1]
    >>> table[0], len(table)
    ('the', 2)
    """

    _slots_if_made: Ints | None  # those of a table from a file are made when they are needed

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._blob: Bytes = np.empty(64, np.uint8)
        self._offsets: Longs = np.zeros(9, np.int64)
        self._slots = new_slots(16)
        self._count = 0
        self.add(list(strings))

    @property
    def _slots(self) -> Ints:
        if self._slots_if_made is None:
            self._slots_if_made = slots_of_strings(self._blob, self._offsets, power_of_two(2 * self._count))
        return self._slots_if_made

    @_slots.setter
    def _slots(self, slots: Ints) -> None:
        self._slots_if_made = slots

    def __len__(self) -> int:
        return self._count

    def copy(self, *, room: int = 0) -> "StringTable":
        """Return a copy that can grow, even if this table is read-only, with `room` for more strings."""
        table = StringTable.__new__(StringTable)
        table._blob, table._offsets, table._slots = self._blob.copy(), self._offsets.copy(), self._slots.copy()
        table._count = self._count
        table._make_room(room, room)
        return table

    def __getitem__(self, index: int) -> str:
        start, end = self._offsets[index], self._offsets[index + 1]
        return self._blob[start:end].tobytes().decode("utf-8", "surrogatepass")

    def strings(self, first: int = 0, end: int | None = None) -> list[str]:
        """Return all strings from number `first` on, up to `end` if it is given."""
        last = self._count if end is None else min(end, self._count)
        if last <= first:
            return []
        offsets = self._offsets[first : last + 1]
        whole = self._blob[offsets[0] : offsets[-1]].tobytes()
        places = (offsets - offsets[0]).tolist()
        return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(places)]

    def fields(self) -> tuple[Bytes, Ints, Ints]:
        """Return all strings as one run of bytes, with the start and end of each."""
        offsets = self._offsets[: self._count + 1].astype(np.int32)
        return self._blob[: offsets[-1]], offsets[:-1], offsets[1:]

    def find(self, strings: Sequence[str]) -> Ints:
        """Return the number of each string, -1 if it is unknown."""
        return self.find_fields(*fields(strings))

    def add(self, strings: Sequence[str]) -> Ints:
        """Return the number of each string; add new ones."""
        return self.add_fields(*fields(strings))

    def find_fields(self, data: Bytes, starts: Ints, ends: Ints) -> Ints:
        """Do what `find` does, for strings that are pieces of bytes."""
        ids = np.empty(len(starts), np.int32)
        look_up_strings(data, starts, ends, self._blob, self._offsets, self._slots, ids)
        return ids

    def add_fields(self, data: Bytes, starts: Ints, ends: Ints, ids: Ints | None = None) -> Ints:
        """Do what `add` does, for strings that are pieces of bytes. With `ids`, look up only those below 0 in it."""
        if ids is None:
            ids = np.full(len(starts), -1, np.int32)
        wanted = ids < 0
        self._make_room(int(wanted.sum()), int((ends - starts)[wanted].sum()))
        self._count = intern_strings(data, starts, ends, self._blob, self._offsets, self._slots, self._count, ids)
        return ids

    def _make_room(self, strings: int, size: int) -> None:
        count = self._count
        used = int(self._offsets[count])
        if used + size > len(self._blob):
            self._blob = np.concatenate([self._blob[:used], np.empty(used + size, np.uint8)])
        if count + strings >= len(self._offsets):
            room = np.zeros(count + strings + 1, np.int64)
            self._offsets = np.concatenate([self._offsets[: count + 1], room])
        if 2 * (count + strings) > len(self._slots) - 1:
            self._slots = new_slots(power_of_two(2 * (count + strings)))
            rehash_strings(self._blob, self._offsets, count, self._slots)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return arrays with offsets and slots, as networks and shards keep them."""
        blob = self._blob[: self._offsets[self._count]]
        slots = new_slots(power_of_two(2 * self._count), seed_from(blob.data))
        rehash_strings(self._blob, self._offsets, self._count, slots)
        return {"blob": blob, "offsets": self._offsets[: self._count + 1], "slots": slots[:-1]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> "StringTable":
        """Return the table of `arrays`; raise ValueError or KeyError if these do not fit together."""
        offsets: Longs = array_of(arrays, f"{name}.offsets", np.int64)
        array_of(arrays, f"{name}.slots", np.int32)  # not used, since they cannot be trusted
        return cls._checked(array_of(arrays, f"{name}.blob", np.uint8), offsets.copy())

    def small_arrays(self, first: int = 0) -> dict[str, np.ndarray]:
        """Return arrays without slots, as models keep them, of the strings from number `first` on."""
        offsets = self._offsets[first : self._count + 1]
        return {"blob": self._blob[offsets[0] : offsets[-1]], "lengths": narrow(np.diff(offsets))}

    def add_small_arrays(self, arrays: Mapping[str, np.ndarray], name: str) -> None:
        """Add the strings of `small_arrays`; raise ValueError or KeyError if these do not fit together."""
        more = StringTable.from_small_arrays(arrays, name)
        ends = more._offsets[1:].astype(np.int32)
        self.add_fields(more._blob.copy(), more._offsets[:-1].astype(np.int32), ends)

    @classmethod
    def from_small_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> "StringTable":
        """Return the table of `small_arrays`; raise ValueError or KeyError if these do not fit together."""
        return cls._checked(array_of(arrays, f"{name}.blob", np.uint8), offsets_of(widen(arrays, f"{name}.lengths")))

    @classmethod
    def _checked(cls, blob: Bytes, offsets: Longs) -> "StringTable":
        if not (
            valid_offsets(offsets, len(offsets) - 1, len(blob))
            and not (blob[offsets[:-1][offsets[:-1] < len(blob)]] & 0xC0 == 0x80).any()  # inside a character
        ):
            raise ValueError("string table")
        blob.tobytes().decode("utf-8", "surrogatepass")
        table = cls.__new__(cls)
        table._blob, table._offsets, table._slots_if_made = blob, offsets, None
        table._count = len(offsets) - 1
        return table


def label_ids(block: Block, labels: list[str]) -> Ints:
    """Return the numbers of a block's labels; add new labels to the list."""
    table = StringTable(labels)
    ids = table.add_fields(*block.column(LABEL))
    labels.extend(table.strings(len(labels)))
    return ids


def fields(strings: Sequence[str]) -> tuple[Bytes, Ints, Ints]:
    """Return strings as one run of bytes, with the start and end of each."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = offsets_of(np.array([len(piece) for piece in encoded], np.int64))
    if offsets[-1] > MOST_BYTES:
        raise DataError(f"{offsets[-1]:,} bytes of strings at once are more than {MOST_BYTES:,}; give fewer sentences")
    return np.frombuffer(b"".join(encoded), np.uint8), offsets[:-1].astype(np.int32), offsets[1:].astype(np.int32)


def power_of_two(at_least: int) -> int:
    """Return the smallest power of two that is at least this number, and at least 2.

    >>> power_of_two(17)
    32
    """
    return 1 << max(1, at_least - 1).bit_length()


def array_of(arrays: Mapping[str, np.ndarray], name: str, kind: type[np.generic]) -> Any:
    """Return an array of a file; raise ValueError or KeyError unless it has this type and one dimension."""
    array = arrays[name]
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(name)
    return array


def valid_offsets(offsets: Ints | Longs, count: int, end: int, start: int = 0) -> bool:
    """Return whether offsets go from the start to the end in `count` steps and never decrease."""
    return bool(
        len(offsets) == count + 1 >= 1
        and offsets[0] == start
        and offsets[-1] == end
        and (offsets[1:] >= offsets[:-1]).all()  # a difference might overflow
    )


def within(numbers: Ints | Longs, count: int) -> bool:
    """Return whether all numbers are at least 0 and below `count`."""
    return len(numbers) == 0 or bool(numbers.min() >= 0 and numbers.max() < count)


def bounded(numbers: np.ndarray, largest: float) -> bool:
    """Return whether all numbers lie between -`largest` and `largest`; NaN does not."""
    return numbers.size == 0 or (-largest <= float(numbers.min()) and float(numbers.max()) <= largest)
