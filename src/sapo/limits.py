"""The limits on what sapo reads, all in one place. They keep a wrong or hostile file from filling the memory.

Each limit is far above what real data has. Raise it if you need more: `sapo --limit line=1GB tag ...` on the command
line, and in Python:

>>> with allow(line=1 << 30):
...     current().line
1073741824
>>> current().line
67108864
"""

import dataclasses
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from sapo.errors import SapoError, did_you_mean

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
UNITS["tb"] = 1 << 40
LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest values that are let through. Sizes are in bytes."""

    unzipped: int = 100 << 30  # of a compressed file, unpacked
    ratio: int = 300  # unpacked bytes for each compressed one; looked at after the first 64 MB
    whole: int = 256 << 20  # of a file that is held in memory as a whole, unpacked: sapo check, .spacy
    line: int = 64 << 20  # of a text file
    sentence: int = 64 << 20  # of a file with one token a line
    tokens: int = 1_000_000  # in a sentence
    token: int = 1 << 20  # of a word, a label, or another value of a token
    columns: int = 1_000  # of a column file
    labels: int = 20_000  # of training data: pairs of them take 1.6 GB
    template: int = 1 << 20  # of a template file
    template_line: int = 10_000
    templates: int = 10_000  # in a file
    rules: int = 1 << 20  # of a file of rules
    rule: int = 10_000
    sentences: int = 1_000_000  # of a project of sapo teach: all of them are in memory
    n: int = 1_000  # taggings of a sentence: the search keeps them in a sorted list


MOST_LABELS = 65_535  # of a model: its file has no room for more
MOST_THREADS = 1024
LARGEST_OPTION = 1_000_000  # of numbers that are larger by mistake only
DEFAULT = Limits()
_current: ContextVar[Limits] = ContextVar("limits", default=DEFAULT)


def current() -> Limits:
    """Return the limits that hold now."""
    return _current.get()


@contextmanager
def allow(**more: int) -> Iterator[Limits]:
    """Let larger (or only smaller) values through in this context. Raise SapoError if there is no such limit.

    >>> with allow(lines=3):
    ...     pass
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: unknown limit 'lines'; did you mean 'line'?
    """
    token = _current.set(_changed(more))
    try:
        yield current()
    finally:
        _current.reset(token)


def set_limits(**more: int) -> None:
    """Do as `allow`, for good: for a process that is one command."""
    _current.set(_changed(more))


def _changed(more: dict[str, int]) -> Limits:
    names = [field.name for field in dataclasses.fields(Limits)]
    for name, value in more.items():
        if name not in names:
            raise SapoError(f"unknown limit '{name}'{did_you_mean(name, names)}")
        most = MOST_LABELS if name == "labels" else LARGEST
        if not isinstance(value, int) or not 1 <= value <= most:
            raise SapoError(f"limit {name} must be a whole number from 1 to {most:,}, not {value}")
    return dataclasses.replace(current(), **more)


def parse(text: str) -> tuple[str, int]:
    """Return the name and the value of a limit as the command line has it. Raise SapoError if it cannot be read.

    >>> parse("line=1GB"), parse("tokens=2M")
    (('line', 1073741824), ('tokens', 2000000))
    """
    found = re.fullmatch(r"(\w+)=(\d{1,18})([kmgt]?b?)", text.strip().lower())
    if found is None or found[3] not in UNITS:
        raise SapoError(f"--limit '{text}': expected NAME=VALUE, for example line=1GB or tokens=2000000")
    return found[1], int(found[2]) * UNITS[found[3]]


def check(name: str, value: int, place: Any, what: str) -> None:
    """Raise SapoError if a value is above a limit; `place` and `what` say where it stands, and what is counted.

    >>> check("columns", 2000, "train.txt:1", "columns")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: train.txt:1: 2,000 columns are more than 1,000; if that is right, use --limit columns=2000
    """
    if value > getattr(_current.get(), name):
        raise exceeded(name, value, place, what)


def exceeded(name: str, value: int, place: Any, what: str) -> SapoError:
    """Return the error about a value above its limit."""
    most = getattr(current(), name)
    return SapoError(f"{place}: {value:,} {what} are more than {most:,}; if that is right, use --limit {name}={value}")
