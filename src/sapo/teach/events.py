"""What people do to a project, as events: one line of the journal each."""

import json
from dataclasses import dataclass
from typing import Any

from sapo.errors import SapoError

ACCEPT, IMPORT, UNDO, REDO, LABEL = "accept", "import", "undo", "redo", "label"
KINDS = (ACCEPT, IMPORT, UNDO, REDO, LABEL)
LONGEST_NAME = 100  # characters of a label, or of the name of a person


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model said about a sentence before it learned from it, counted in spans, or in tokens.

    `sure` and `likely` are what the model itself expected of `right` and of `gold`.
    """

    right: int
    said: int
    gold: int
    sure: float
    likely: float


@dataclass(frozen=True, slots=True)
class Draft:
    """An event before it is written."""

    kind: str
    author: str
    sentence: int | None = None
    tags: tuple[str, ...] = ()
    name: str = ""  # of a new label
    seen: Seen | None = None

    def value(self) -> str:
        """Return what the journal keeps beside kind, author and sentence, as JSON."""
        value: dict[str, Any] = {}
        if self.tags:
            value["tags"] = self.tags
        if self.name:
            value["name"] = self.name
        if self.seen is not None:
            seen = self.seen
            value["seen"] = [seen.right, seen.said, seen.gold, round(seen.sure, 4), round(seen.likely, 4)]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Event(Draft):
    """An event of the journal; `seq` counts from 1."""

    seq: int = 0
    time: float = 0.0  # seconds since 1970


def read_event(row: tuple[Any, ...]) -> Event:
    """Return an event from a row of the journal. Raise SapoError if it cannot have been written by us."""
    seq, time, author, kind, sentence, text = row
    try:
        value = json.loads(text)
        tags, name, seen = value.get("tags", []), value.get("name", ""), value.get("seen")
        good = isinstance(name, str) and isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        if (
            not good
            or not isinstance(author, str)
            or not isinstance(time, float)
            or kind not in KINDS
            or (kind == LABEL) != (sentence is None)
        ):
            raise ValueError
        counted = None
        if seen is not None:
            right, said, gold, sure, likely = seen
            counted = Seen(int(right), int(said), int(gold), float(sure), float(likely))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise SapoError(f"event {seq} of the journal") from None
    return Event(kind, author, sentence, tuple(tags), name, counted, seq, time)


def check_name(name: str, what: str) -> str:
    """Return the name of a person or a label without blanks around it. Raise SapoError unless it can be one.

    >>> check_name(" anna ", "author")
    'anna'
    """
    name = name.strip()
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise SapoError(f"{what}: expected a name of 1 to {LONGEST_NAME} printable characters, not {name!r:.40}")
    return name
