"""Compute word functions once per distinct word, and keep their values as integers.

`ViewValues` has the values of the words that training has seen; a model stores them. `NewWords` has those of other
words while a session tags. A growing encoder may learn one of these values later, so they are kept as strings with
numbers of their own, and each has the number that the encoder knows it by, if any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapo import jit
from sapo.features.strings import StringTable, narrow, valid_offsets, widen, within
from sapo.features.template import ColumnView
from sapo.jit.arrays import Bytes, Growable, Ints, Longs, offsets_of, pieces_of

AT_ONCE = 50_000  # words: the Python strings of all of them would determine the peak of memory


@dataclass(frozen=True, slots=True)
class ViewValues:
    """The values of one view for the known words of its column.

    Word i has the values `members[offsets[i]:offsets[i+1]]`, which are numbers of strings in `table`. For a view
    without a function the strings are those of the column itself, and nothing is stored.
    """

    view: ColumnView
    table: StringTable
    offsets: Longs | None
    members: Ints | None

    @classmethod
    def of_words(cls, view: ColumnView, words: StringTable) -> "ViewValues":
        """Compute the values of all words of a column."""
        if not view.functions:
            return cls(view, words, None, None)
        table = StringTable()
        offsets, members = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        for first in range(0, len(words), AT_ONCE):
            ends, some = _numbers(view, words.strings(first, first + AT_ONCE), table, grow=True)
            offsets.append(offsets[-1][-1] + ends[1:])
            members.append(some)
        return cls(view, table, np.concatenate(offsets), np.concatenate(members))

    @classmethod
    def checked(
        cls, view: ColumnView, words: StringTable, table: StringTable, offsets: Longs, members: Ints
    ) -> "ViewValues":
        """Return the values of a file; raise ValueError if they do not fit together."""
        if not (
            valid_offsets(offsets, len(words), len(members))
            and within(members, len(table))
            and (view.many or (np.diff(offsets) <= 1).all())
        ):
            raise ValueError("view")
        return cls(view, table, offsets, members)

    def small_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file; none if nothing is stored."""
        if self.offsets is None or self.members is None:
            return {}
        sizes = np.diff(self.offsets)
        if self.view.many:
            return {"sizes": narrow(sizes), "values": narrow(self.members), **self.table.small_arrays()}
        values = np.zeros(len(sizes), np.int32)
        values[sizes > 0] = self.members + 1
        return {"values": narrow(values), **self.table.small_arrays()}

    @classmethod
    def from_small_arrays(
        cls, view: ColumnView, words: StringTable, arrays: Mapping[str, np.ndarray], name: str
    ) -> "ViewValues":
        """Return the values of a model file; raise ValueError or KeyError if its arrays do not fit together."""
        if not view.functions:
            return cls(view, words, None, None)
        values = widen(arrays, f"{name}.values")
        if view.many:
            sizes, members = widen(arrays, f"{name}.sizes"), values
        else:
            sizes, members = (values > 0).astype(np.int32), values[values > 0] - 1
        return cls.checked(view, words, StringTable.from_small_arrays(arrays, name), offsets_of(sizes), members)

    def of_new_words(self, words: Sequence[str]) -> tuple[Longs, Ints]:
        """Return offsets and members for words that training has not seen, without unknown values."""
        if self.offsets is None:
            return np.zeros(len(words) + 1, np.int64), np.empty(0, np.int32)
        return _numbers(self.view, words, self.table, grow=False)


def _numbers(view: ColumnView, words: Sequence[str], table: StringTable, *, grow: bool) -> tuple[Longs, Ints]:
    sizes, values = view.apply_all(words)
    members = table.add(values) if grow else table.find(values)
    owner = np.repeat(np.arange(len(words)), sizes)[members >= 0]
    return offsets_of(np.bincount(owner, minlength=len(words))), members[members >= 0]


class NewWords:
    """The new words of one column, numbered from 0, and their values for each view.

    Values are kept from the second block on: for a single block, keeping them takes longer than it saves.
    """

    def __init__(self) -> None:
        self.words = StringTable()
        self.kept = False
        self._texts: list[str] = []  # of `words`: each view needs them
        self._views: dict[int, _NewValues] = {}

    def __len__(self) -> int:
        return len(self.words)

    def add_fields(self, data: Bytes, starts: Ints, ends: Ints) -> Ints:
        """Return the numbers of words; add those that are missing."""
        return self.words.add_fields(data, starts, ends)

    def select(self, number: int, view: ViewValues, chosen: Ints) -> tuple[Longs, Ints]:
        """Return offsets and members of the chosen words for a view, which has this number."""
        self._texts += self.words.strings(len(self._texts))
        if not self.kept:
            return view.of_new_words([self._texts[word] for word in chosen.tolist()])
        if number not in self._views:
            self._views[number] = _NewValues()
        return self._views[number].select(view, self._texts, chosen)


class _NewValues:
    """The values of one view for new words."""

    def __init__(self) -> None:
        self._strings = StringTable()
        self._offsets = Growable(np.zeros(1, np.int64))
        self._members = Growable(np.empty(0, np.int32))  # of _strings
        self._known = Growable(np.empty(0, np.int32))  # for each of _strings its number in the view, or -1
        self._seen = -1  # strings of the view that were looked at

    def select(self, view: ViewValues, words: list[str], chosen: Ints) -> tuple[Longs, Ints]:
        self._take_words(view, words)
        self._take_known(view.table)
        offsets, places = pieces_of(self._offsets.used, chosen)
        numbers = self._known.used[self._members.used[places]]
        found = numbers >= 0
        return offsets_of(found)[offsets], numbers[found]

    def _take_words(self, view: ViewValues, words: list[str]) -> None:
        before = self._offsets.count - 1
        if before == len(words):
            return
        with jit.no_garbage(lasting=False):
            sizes, values = view.view.apply_all(words[before:])
        self._members.append(self._strings.add(values))
        self._offsets.append(self._offsets.used[-1] + np.cumsum(sizes))
        self._known.append(view.table.find(self._strings.strings(self._known.count)))

    def _take_known(self, table: StringTable) -> None:
        """Look up the values that the encoder has learned since the last time."""
        if 0 <= self._seen < len(table):
            numbers = self._strings.find(table.strings(self._seen))
            there = np.flatnonzero(numbers >= 0)
            self._known.used[numbers[there]] = (self._seen + there).astype(np.int32)
        self._seen = len(table)
