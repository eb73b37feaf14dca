"""The values of word functions, computed once for each distinct word and kept as integers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapo.encode.narrow import narrow, widen
from sapo.encode.strings import StringTable, valid_offsets, within
from sapo.encode.template import View
from sapo.kernels.types import Ints, Longs

AT_ONCE = 50_000  # words: the Python strings of all of them would be the peak of memory


@dataclass(frozen=True, slots=True)
class ViewValues:
    """The values of one view for the known words of its column.

    Word i has the values `members[offsets[i]:offsets[i+1]]`, which are numbers of strings in `table`. For a view
    without a function the strings are those of the column itself, and nothing is stored.
    """

    view: View
    table: StringTable
    offsets: Longs | None
    members: Ints | None

    @classmethod
    def of_words(cls, view: View, words: StringTable) -> "ViewValues":
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
    def checked(cls, view: View, words: StringTable, table: StringTable, offsets: Longs, members: Ints) -> "ViewValues":
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
        cls, view: View, words: StringTable, arrays: Mapping[str, np.ndarray], name: str
    ) -> "ViewValues":
        """Return the values of a model file; raise ValueError or KeyError if its arrays do not fit together."""
        if not view.functions:
            return cls(view, words, None, None)
        values = widen(arrays, f"{name}.values")
        if view.many:
            sizes, members = widen(arrays, f"{name}.sizes"), values
        else:
            sizes, members = (values > 0).astype(np.int32), values[values > 0] - 1
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return cls.checked(view, words, StringTable.from_small_arrays(arrays, name), offsets, members)

    def of_new_words(self, words: Sequence[str]) -> tuple[Longs, Ints]:
        """Return offsets and members for words that training has not seen, without unknown values."""
        if self.offsets is None:
            return np.zeros(len(words) + 1, np.int64), np.empty(0, np.int32)
        return _numbers(self.view, words, self.table, grow=False)


def _numbers(view: View, words: Sequence[str], table: StringTable, *, grow: bool) -> tuple[Longs, Ints]:
    sizes, values = view.apply_all(words)
    members = table.add(values) if grow else table.find(values)
    owner = np.repeat(np.arange(len(words)), sizes)[members >= 0]
    offsets = np.zeros(len(words) + 1, np.int64)
    offsets[1:] = np.cumsum(np.bincount(owner, minlength=len(words)))
    return offsets, members[members >= 0]
