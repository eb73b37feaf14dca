"""Define the functions of words that templates can use, and compute them once per distinct word, not for each token.

`ViewValues` has the values of the words that training has seen; a model stores them. `NewWords` has those of other
words while a session tags. A growing encoder may learn one of these values later, so they are kept as strings with
numbers of their own, and each has the number that the encoder knows it by, if any.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from sapo import jit
from sapo.features.regex import compiled_regex
from sapo.features.strings import StringTable, narrow, valid_offsets, widen, within
from sapo.jit.arrays import Bytes, Growable, Ints, Longs, offsets_of, pieces_of

AT_ONCE = 50_000  # words: the Python strings of all of them would determine the peak of memory
_DIGITS = re.compile(r"\d")
_REMEMBERED = 1 << 14  # shapes and kinds of words: most words share theirs with others
_SHORT = 64  # characters of a word that is remembered: long ones would fill the memory


class _Translation(dict[int, str]):
    """The replacement of each character, by its code, for `str.translate`: ten times as fast as a loop over a word."""

    def __init__(self, stand_in: Callable[[str], str]) -> None:
        super().__init__()
        self.stand_in = stand_in

    def __missing__(self, code: int) -> str:
        found = self[code] = self.stand_in(chr(code))
        return found


def lower(word: str) -> str:
    """Return the word in lower case.

    >>> lower("Paris")
    'paris'
    """
    return word.lower()


def normalized(word: str) -> str:
    """Return the word in lower case, with '#' for each digit.

    >>> normalized("IL-2")
    'il-#'
    """
    lowered = word.lower()
    return lowered if lowered.isalpha() else _DIGITS.sub("#", lowered)


def shape(word: str) -> str:
    """Return the word with 'A' for capitals, 'a' for other letters and '#' for digits.

    >>> shape("IL-2")
    'AA-#'
    """
    return word.translate(_SHAPES)


def short_shape(word: str) -> str:
    """Return the shape with each run of equal characters reduced to one.

    >>> short_shape("McDonald's")
    "AaAa'a"
    """
    text = word.translate(_SHAPES)
    return _without_runs(text) if len(text) <= _SHORT else _without_runs.__wrapped__(text)


@lru_cache(_REMEMBERED)
def _without_runs(text: str) -> str:
    return "".join(c for c, _ in groupby(text))


def prefix(word: str, length: int) -> str | None:
    """Return the first characters, or None if the word is shorter.

    >>> prefix("walking", 3)
    'wal'
    """
    return word[:length] if len(word) >= length else None


def suffix(word: str, length: int) -> str | None:
    """Return the last characters, or None if the word is shorter.

    >>> suffix("walking", 3)
    'ing'
    """
    return word[-length:] if len(word) >= length else None


def substrings(word: str, longest: int) -> list[str]:
    """Return every distinct substring of at most this length, with the word's borders marked.

    >>> substrings("at", 2)
    ['<', '<a', 'a', 'at', 't', 't>', '>']
    """
    marked = f"<{word}>"
    end = len(marked)
    found = (marked[i:j] for i in range(end) for j in range(i + 1, min(i + longest, end) + 1))
    return list(dict.fromkeys(found))


def classes(word: str) -> list[str]:
    """Return which kinds of characters the word has.

    >>> classes("IL-2")
    ['capital', 'first-capital', 'digit', 'hyphen']
    >>> classes("2,000")
    ['digit', 'number', 'mark']
    """
    text = word.translate(_KINDS)
    return list(_classes(text) if len(text) <= _SHORT else _classes.__wrapped__(text))


@lru_cache(_REMEMBERED)
def _classes(word: str) -> tuple[str, ...]:
    marks = [c for c in word if not c.isalnum() and c != "-"]
    tests = {
        "capital": any(c.isupper() for c in word),
        "first-capital": word[:1].isupper(),
        "all-capital": word.isalpha() and word.isupper(),
        "inner-capital": any(c.isupper() for c in word[1:]) and any(c.islower() for c in word),
        "digit": any(c.isdigit() for c in word),
        "number": word[:1].isdigit() and all(c.isdigit() or c in ".,:/" for c in word),
        "hyphen": "-" in word,
        "mark": bool(marks),
        "only-marks": bool(word) and len(marks) == len(word),
    }
    return tuple(name for name, holds in tests.items() if holds)


def ascii_lower(word: str) -> str:
    """Return the word with a to z instead of A to Z, and everything else as it is: %X of Wapiti.

    >>> ascii_lower("ÉCOLE")
    'École'
    """
    return word.translate(_ASCII_LOWER)


def match(word: str, regex: str) -> str:
    """Return the first part of the word that matches a regular expression, empty if there is none: %m of Wapiti.

    >>> match("IL-2", "\\\\d"), match("interleukin", "\\\\d")
    ('2', '')
    """
    return compiled_regex(regex).find(word) or ""


def test(word: str, regex: str) -> str:
    """Return whether a regular expression matches a part of the word: %t of Wapiti.

    >>> test("IL-2", "\\\\d"), test("interleukin", "\\\\d")
    ('true', 'false')
    """
    return "false" if compiled_regex(regex).find(word) is None else "true"


def _class(c: str) -> str:
    if c.isupper():
        return "A"
    if c.isdigit():
        return "#"
    return "a" if c.isalpha() else c


def _first_of_its_kind(c: str) -> str:
    """Return a character that no method or comparison in `_classes` distinguishes from this one."""
    same = (c.isupper(), c.islower(), c.istitle(), c.isalpha(), c.isalnum(), c.isdigit(), c == "-", c in ".,:/")
    return _kinds.setdefault(same, c)


_kinds: dict[tuple[bool, ...], str] = {}
_SHAPES, _KINDS = _Translation(_class), _Translation(_first_of_its_kind)
_ASCII_LOWER = str.maketrans({letter: letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})


@dataclass(frozen=True, slots=True)
class WordFunction:
    """How a template may use a function: whether it takes a `number` or a `regex`, and returns a list (`many`)."""

    apply: Callable[..., str | list[str] | None]
    number: bool = False
    regex: bool = False
    many: bool = False


WORD_FUNCTIONS = {
    "lower": WordFunction(lower),
    "normalized": WordFunction(normalized),
    "shape": WordFunction(shape),
    "short_shape": WordFunction(short_shape),
    "prefix": WordFunction(prefix, number=True),
    "suffix": WordFunction(suffix, number=True),
    "substrings": WordFunction(substrings, number=True, many=True),
    "classes": WordFunction(classes, many=True),
    "ascii_lower": WordFunction(ascii_lower),
    "match": WordFunction(match, regex=True),
    "test": WordFunction(test, regex=True),
}


@dataclass(frozen=True, slots=True)
class ColumnView:
    """One function of one column: `suffix(lower(word), 3)` is ('word', (('lower', None), ('suffix', 3)))."""

    column: str
    functions: tuple[tuple[str, int | str | None], ...] = ()

    @property
    def many(self) -> bool:
        """Whether it may have several values for a word."""
        return bool(self.functions) and WORD_FUNCTIONS[self.functions[-1][0]].many

    def apply(self, value: str) -> list[str]:
        """Return all values of the view for one value of the column.

        >>> ColumnView("word", (("lower", None), ("suffix", 2))).apply("Paris")
        ['is']
        """
        return self.apply_all([value])[1]

    def apply_all(self, values: Iterable[str]) -> tuple[list[int], list[str]]:
        """Return the number of values of the view for each value of the column, and all of them, one after the other.

        >>> ColumnView("word", (("lower", None), ("suffix", 2))).apply_all(["Paris", "I", "am"])
        ([1, 0, 1], ['is', 'am'])
        """
        results: list[Any] = list(values)
        for name, argument in self.functions:  # only the outermost one may return lists; None stays None
            function = WORD_FUNCTIONS[name].apply
            if argument is None:
                results = [None if result is None else function(result) for result in results]
            else:
                results = [None if result is None else function(result, argument) for result in results]
        if self.many:
            lists = [result or [] for result in results]
            return [len(result) for result in lists], [value for result in lists for value in result]
        return [int(result is not None) for result in results], [result for result in results if result is not None]

    def show(self, offset: int) -> str:
        """Return the view at this offset, as a template writes it."""
        text = f"{self.column}[{offset}]"
        for name, argument in self.functions:
            shown = f'"{argument}"' if isinstance(argument, str) else argument
            text = f"{name}({text})" if argument is None else f"{name}({text}, {shown})"
        return text


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
