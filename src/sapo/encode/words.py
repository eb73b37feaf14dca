"""The functions of words that templates can use: one string in; one string, several or none out.

They run once for each distinct word, not once for each token.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

_DIGITS = re.compile(r"\d")


def lower(word: str) -> str:
    """Return the word in lower case.

    >>> lower("Paris")
    'paris'
    """
    return word.lower()


def normalised(word: str) -> str:
    """Return the word in lower case, with '#' for each digit.

    >>> normalised("IL-2")
    'il-#'
    """
    return _DIGITS.sub("#", word.lower())


def shape(word: str) -> str:
    """Return the word with 'A' for capitals, 'a' for other letters and '#' for digits.

    >>> shape("IL-2")
    'AA-#'
    """
    return "".join(_class(c) for c in word)


def short_shape(word: str) -> str:
    """Return the shape with each run of a character cut to one.

    >>> short_shape("McDonald's")
    "AaAa'a"
    """
    full = shape(word)
    return "".join(c for i, c in enumerate(full) if i == 0 or c != full[i - 1])


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
    return list(
        dict.fromkeys(
            marked[i : i + size]
            for i in range(len(marked))
            for size in range(1, longest + 1)
            if i + size <= len(marked)
        )
    )


def classes(word: str) -> list[str]:
    """Return what kinds of character the word has.

    >>> classes("IL-2")
    ['capital', 'first-capital', 'digit', 'hyphen']
    >>> classes("2,000")
    ['digit', 'number', 'mark']
    """
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
    return [name for name, holds in tests.items() if holds]


def _class(c: str) -> str:
    if c.isupper():
        return "A"
    if c.isdigit():
        return "#"
    return "a" if c.isalpha() else c


@dataclass(frozen=True, slots=True)
class WordFunction:
    """How a template may use a function: whether it takes a `number`, and whether it returns a list (`many`)."""

    apply: Callable[..., str | list[str] | None]
    number: bool = False
    many: bool = False


WORD_FUNCTIONS = {
    "lower": WordFunction(lower),
    "normalised": WordFunction(normalised),
    "shape": WordFunction(shape),
    "short_shape": WordFunction(short_shape),
    "prefix": WordFunction(prefix, number=True),
    "suffix": WordFunction(suffix, number=True),
    "substrings": WordFunction(substrings, number=True, many=True),
    "classes": WordFunction(classes, many=True),
}
