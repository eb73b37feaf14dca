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
        self._known: dict[str, tuple[str, float]] = {}

    def read(self, line: str, place: str) -> tuple[str | None, list[str] | dict[str, float]]:
        """Return the label of a line, or None if the line is a comment, and the features of its token.

        The features are names if all have the value 1, and otherwise a dictionary; equal names are added up.
        """
        first, *rest = line.rstrip("\r").split("\t")
        if first.startswith("#"):
            return None, []
        if first.startswith("@"):
            raise SapoError(
                f"{place}: declarations such as {first.partition(':')[0]} are not supported; remove the line, and give "
                "weights of sentences in Python, as sample_weight"
            )
        label, value = _parsed(first, place) if "\\" in first or ":" in first else (first, 1.0)
        if value != 1.0:
            raise SapoError(f"{place}: the label {first!r} has a value; write a colon of a label as \\:")
        pairs = []
        for field in rest:
            if field.startswith("#"):
                break
            if field:  # several TABs separate as one does
                pair = self._known.get(field)
                pairs.append(self._new(field, place) if pair is None else pair)
        if all(number == 1.0 for _, number in pairs):
            return label, [name for name, _ in pairs]
        values: dict[str, float] = {}
        for name, number in pairs:
            values[name] = values.get(name, 0.0) + number
        return label, values

    def _new(self, field: str, place: str) -> tuple[str, float]:
        pair = _parsed(field, place)
        if len(self._known) < REMEMBERED:
            self._known[field] = pair
        return pair

    @staticmethod
    def write(token: Any) -> Iterator[str]:
        """Yield the fields of a token with features as `sapo.train` takes them: names, or a dictionary."""
        for name, value in _flat(token):
            if re.search(r"[\t\r\n]", name) or name.startswith("#") or not name:
                raise SapoError(f"the feature {name!r} cannot stand in a CRFsuite file; use JSONL")
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


def _parsed(field: str, place: str) -> tuple[str, float]:
    if "\\" not in field:
        name, colon, number = field.partition(":")
    else:
        pieces = re.split(r"(\\\\|\\:|:)", field)
        colon = ":" if ":" in pieces else ""
        cut = pieces.index(":") if colon else len(pieces)
        name = "".join({"\\\\": "\\", "\\:": ":"}.get(piece, piece) for piece in pieces[:cut])
        number = "".join(pieces[cut + 1 :])
    if not number:
        return name, 1.0
    value = float(number) if NUMBER.fullmatch(number) else math.nan
    if not math.isfinite(value):
        raise SapoError(
            f"{place}: expected a number behind the colon of {field[:60]!r}, found {number[:20]!r}; "
            "write a colon of a name as \\:"
        )
    return name, value


def escaped(name: str) -> str:
    r"""Return a name with CRFsuite's escapes.

    >>> escaped("a:b")
    'a\\:b'
    """
    return name.replace("\\", "\\\\").replace(":", "\\:")
