"""Words that training has not seen in, the values of views that it has seen out.

The functions of a view are applied to each new word once. An encoder that grows may learn one of their values later, so
they are kept as strings with numbers of their own, and beside each the number that the encoder has for it.
"""

import numpy as np

from sapo import kernels
from sapo.encode.growable import Growable
from sapo.encode.strings import StringTable
from sapo.encode.view_values import ViewValues
from sapo.kernels.types import Bytes, Ints, Longs


class NewWords:
    """The new words of one column, numbered from 0, and their values for each view.

    Values are kept from the second block on: for a single one that takes longer than it saves.
    """

    def __init__(self) -> None:
        self.words = StringTable()
        self.kept = False
        self._texts: list[str] = []  # of `words`: each view needs them
        self._views: dict[int, _NewValues] = {}

    def __len__(self) -> int:
        return len(self.words)

    def add_fields(self, data: Bytes, starts: Ints, ends: Ints) -> Ints:
        """Return the numbers of words; add those that are not there yet."""
        return self.words.add_fields(data, starts, ends)

    def select(self, number: int, view: ViewValues, chosen: Ints) -> tuple[Longs, Ints]:
        """Return offsets and members of some words for a view, which is the one of this number."""
        self._texts += self.words.strings(len(self._texts))
        if not self.kept:
            return view.of_new_words([self._texts[word] for word in chosen.tolist()])
        if number not in self._views:
            self._views[number] = _NewValues()
        return self._views[number].select(view, self._texts, chosen)


class _NewValues:
    """The values of one view."""

    def __init__(self) -> None:
        self._strings = StringTable()
        self._offsets = Growable(np.zeros(1, np.int64))
        self._members = Growable(np.empty(0, np.int32))  # of _strings
        self._known = Growable(np.empty(0, np.int32))  # for each of _strings its number in the view, or -1
        self._seen = -1  # strings of the view that were looked at

    def select(self, view: ViewValues, words: list[str], chosen: Ints) -> tuple[Longs, Ints]:
        self._take_words(view, words)
        self._take_known(view.table)
        starts, ends = self._offsets.used[chosen], self._offsets.used[chosen + 1]
        sizes = ends - starts
        whole = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.arange(whole[-1]) + np.repeat(starts - whole[:-1], sizes)
        numbers = self._known.used[self._members.used[places]]
        found = numbers >= 0
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])[whole], numbers[found]

    def _take_words(self, view: ViewValues, words: list[str]) -> None:
        before = self._offsets.count - 1
        if before == len(words):
            return
        with kernels.no_garbage(lasting=False):
            sizes, values = view.view.apply_all(words[before:])
        self._members.append(self._strings.add(values))
        self._offsets.append(self._offsets.used[-1] + np.cumsum(sizes))
        new = self._strings.strings(self._known.count)
        self._known.append(view.table.find(new))

    def _take_known(self, table: StringTable) -> None:
        """Look at what the encoder has learned since the last time."""
        if 0 <= self._seen < len(table):
            numbers = self._strings.find(table.strings(self._seen))
            there = np.flatnonzero(numbers >= 0)
            self._known.used[numbers[there]] = (self._seen + there).astype(np.int32)
        self._seen = len(table)
