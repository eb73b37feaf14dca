"""Define the functions of words that templates can use. They run once for each distinct word, not for each token."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

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


@dataclass(frozen=True, slots=True)
class WordFunction:
    """How a template may use a function: whether it takes a `number`, and whether it returns a list (`many`)."""

    apply: Callable[..., str | list[str] | None]
    number: bool = False
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
}
