"""Tokens with ready-made features in, numbers of entries out: an entry is a feature with its value.

Python strings cost time here, some twenty of them a token. So an entry is looked up by the key and the value as the
token has them, without making its name ('word:the') first: two look-ups in dictionaries, and a name only for what is
new.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from sapo.errors import SapoError
from sapo.kernels.types import Ints

Token = Sequence[str] | Mapping[str, Any]
Place = Callable[[int, int], str]  # from the indices of a sentence and a token in it to the beginning of a message
LARGEST = float(np.finfo(np.float32).max)


class _OtherFormError(Exception):
    """Raised for a form of feature that has no short cut."""


class Entries:
    """All entries so far.

    >>> entries = Entries()
    >>> numbers, per_token, per_sentence = entries.read([[{"word": "the", "upper": False}, ["word:the"]]])
    >>> numbers.tolist(), per_token, per_sentence
    ([0, 1, 0], [2, 1], [2])
    >>> entries.names, entries.values
    (['word:the', 'upper'], [1.0, 0.0])
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[float] = []
        self._plain = _Plain(self)
        self._by_key = _ByKey(self)

    def read(
        self, sentences: Iterable[Sequence[Token]], first: int = 0, place: Place | None = None
    ) -> tuple[Ints, list[int], list[int]]:
        """Return the numbers of all entries, how many each token has, and how many tokens each sentence has.

        `first` is how many sentences came before these, for messages; `place` returns where a token stands.
        """
        place = place or _place
        plain, by_key = self._plain, self._by_key
        numbers: list[int] = []
        per_token: list[int] = []
        per_sentence: list[int] = []
        for number, sentence in enumerate(sentences, first):
            for position, token in enumerate(sentence):
                try:
                    if isinstance(token, dict):
                        found = [by_key[key][value] for key, value in token.items()]
                    elif isinstance(token, list | tuple):
                        found = [plain[name] for name in token]
                    else:
                        raise _OtherFormError
                except (_OtherFormError, TypeError):  # a TypeError is a value that cannot be looked up, such as a list
                    found = self._other(token, place(number, position))
                numbers += found
                per_token.append(len(found))
            per_sentence.append(len(sentence))
        return np.array(numbers, np.int32), per_token, per_sentence

    def new(self, name: str, value: float) -> int:
        """Add an entry and return its number."""
        self.names.append(name)
        self.values.append(value)
        return len(self.names) - 1

    def _other(self, token: Token, place: str) -> list[int]:
        pairs = _pairs(token, place)
        return [self._plain[name] if value == 1 else self.new(name, value) for name, value in pairs]


class _Plain(dict[str, int]):
    """The entries of value 1, by name."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def __missing__(self, name: Any) -> int:
        if not isinstance(name, str):
            raise _OtherFormError
        number = self[name] = self._entries.new("".join([name]), 1.0)
        return number


class _ByKey(dict[str, "_OfKey"]):
    """The entries of each key of dictionaries."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def __missing__(self, key: Any) -> "_OfKey":
        if not isinstance(key, str):
            raise _OtherFormError
        found = self[key] = _OfKey(self._entries, "".join([key]))
        return found


class _OfKey(dict[Any, int]):
    """The entries of one key, by value. True, 1 and 1.0 are equal, and mean the same."""

    def __init__(self, entries: Entries, key: str) -> None:
        self._entries, self._key = entries, key

    def __missing__(self, value: Any) -> int:
        if isinstance(value, str):
            number = self._entries._plain[f"{self._key}:{''.join([value])}"]
        elif isinstance(value, float | int | np.floating | np.integer | np.bool_) and -LARGEST <= value <= LARGEST:
            number = self._entries.new(self._key, float(value))
            if value not in (0, 1):
                return number  # real numbers seldom come twice: remembering them only costs memory
        else:
            raise _OtherFormError
        self[value] = number
        return number


def _place(sentence: int, token: int) -> str:
    return f"sentence {sentence + 1}, token {token + 1}"


def _pairs(token: Token, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(token, Mapping):
        for key, value in token.items():
            yield from _pair(_text(key, place), value, place)
    elif isinstance(token, str) or not isinstance(token, Iterable):
        raise SapoError(f"{place}: expected a list or dictionary of features, found {token!r:.60}")
    else:
        for name in token:
            if not isinstance(name, str | bytes):
                raise SapoError(f"{place}: expected the name of a feature, found {name!r}")
            yield _text(name, place), 1.0


def _pair(key: str, value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, str | bytes):
        yield f"{key}:{_text(value, place)}", 1.0
    elif isinstance(value, Number | np.bool_) and not isinstance(value, complex | np.complexfloating):
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if not abs(number) <= LARGEST:  # NaN too
            raise SapoError(f"{place}: feature {key!r} is {number}; values must be finite and fit single precision")
        yield key, number
    elif isinstance(value, Mapping):
        for inner, deeper in value.items():
            for name, number in _pair(_text(inner, place), deeper, place):
                yield f"{key}:{name}", number
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in sorted(value, key=str) if isinstance(value, (set, frozenset)) else value:
            yield f"{key}:{_text(item, place)}", 1.0
    else:
        raise SapoError(f"{place}: feature {key!r} has the value {value!r}; use a string, a number or true/false")


def _text(value: Any, place: str) -> str:
    """Return a name or value as text; bytes are read as UTF-8, as python-crfsuite does."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise SapoError(f"{place}: feature {value!r:.60} is not UTF-8") from None
