r"""Fields of CRFsuite's attribute files in, a label and features out, and back."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sapo.errors import SapoError

REMEMBERED = 1_000_000  # fields: most come many times
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class Attributes:
    r"""Reads the lines of attribute files, and remembers what it has read.

    >>> Attributes().read("B-NP\tw=the\tlength:3\tcolon\\:", "a.crfsuite:1")
    ('B-NP', {'w=the': 1.0, 'length': 3.0, 'colon:': 1.0})
    >>> Attributes().read("B-NP\tw=the\tpos=DT", "a.crfsuite:1")
    ('B-NP', ['w=the', 'pos=DT'])
    """

    def __init__(self) -> None:
        self._known = _Known()

    def read(self, line: str, place: str) -> tuple[str | None, list[str] | dict[str, float]]:
        """Return the label of a line, or None if the line is a comment, and the features of its token.

        The features are names if all have the value 1, and otherwise a dictionary; equal names are added up.
        """
        line = line.rstrip("\r")
        first, *rest = line.split("\t")
        if first.startswith("#"):
            return None, []
        if first.startswith("@"):
            raise SapoError(
                f"{place}: declarations such as {first.partition(':')[0]} are not supported; remove the line, and give "
                "weights of sentences in Python, as sample_weight"
            )
        label = first
        if "\\" in first or ":" in first:
            label, _, value = _unescaped(first)
            if value:
                raise SapoError(f"{place}: the label {first!r} has a value; write a colon of a label as \\:")
        if "\t#" in line or "\t\t" in line or line.endswith("\t"):
            rest = list(_fields(rest))
        if "\\" not in line and ":" not in line:
            return label, rest
        try:
            pairs = [self._known[field] for field in rest]
        except ValueError as error:
            raise SapoError(f"{place}: {error}") from None
        if all(number == 1.0 for _, number in pairs):
            return label, [name for name, _ in pairs]
        values = dict(pairs)
        if len(values) < len(pairs):
            values = dict.fromkeys(values, 0.0)
            for name, number in pairs:
                values[name] += number
        return label, values

    @staticmethod
    def write(token: Any) -> Iterator[str]:
        """Yield the fields of a token with features as `sapo.train` takes them: names, or a dictionary."""
        for name, value in _flat(token):
            if re.search(r"[\t\r\n]", name) or name.startswith("#") or not name:
                raise SapoError(f"the feature {name!r} cannot be written to a CRFsuite file; use JSONL")
            yield escaped(name) if value == 1 else f"{escaped(name)}:{value!r}".removesuffix(".0")


def _flat(token: Any, before: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(token, Mapping):
        for key, value in token.items():
            if isinstance(value, bool | int | float):
                yield f"{before}{key}", float(value)
            elif isinstance(value, str):
                yield f"{before}{key}:{value}", 1.0
            else:
                yield from _flat(value, f"{before}{key}:")
    else:
        for name in token:
            yield f"{before}{name}", 1.0


def _fields(fields: list[str]) -> Iterator[str]:
    """Yield fields up to a comment; several TABs separate as one does."""
    for field in fields:
        if field.startswith("#"):
            return
        if field:
            yield field


class _Known(dict[str, tuple[str, float]]):
    """Names and values by field. A field that is new is parsed; ValueError says what is wrong with it."""

    def __missing__(self, field: str) -> tuple[str, float]:
        name, _, number = _unescaped(field)
        value = 1.0
        if number:
            value = float(number) if NUMBER.fullmatch(number) else math.nan
            if not math.isfinite(value):
                raise ValueError(
                    f"expected a number behind the colon of {field[:60]!r}, found {number[:20]!r}; "
                    "write a colon of a name as \\:"
                )
        if len(self) < REMEMBERED:
            self[field] = name, value
        return name, value


def _unescaped(field: str) -> tuple[str, str, str]:
    """Return the name, the colon and the number of a field."""
    if "\\" not in field:
        return field.partition(":")
    pieces = re.split(r"(\\\\|\\:|:)", field)
    colon = ":" if ":" in pieces else ""
    cut = pieces.index(":") if colon else len(pieces)
    name = "".join({"\\\\": "\\", "\\:": ":"}.get(piece, piece) for piece in pieces[:cut])
    return name, colon, "".join(pieces[cut + 1 :])


def escaped(name: str) -> str:
    r"""Return a name with CRFsuite's escapes.

    >>> escaped("a:b")
    'a\\:b'
    """
    return name.replace("\\", "\\\\").replace(":", "\\:")
