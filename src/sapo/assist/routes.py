"""What a tool may ask: a path, the form of its body, and who answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from sapo.serve.messages import Form


class Foreign(Form, forbid_unknown_fields=False):  # type: ignore[call-arg]
    """A part of a message of another tool, which may have more fields than we need."""


@dataclass(frozen=True, slots=True)
class Route:
    """A request with a body, how it is answered, and the status of the answer."""

    form: type[Foreign]
    answer: Callable[[Any], Any]  # a request in; out comes what is sent as JSON, or None for an empty answer
    status: int = 200


class Tool(Protocol):
    """A tool for annotation."""

    gets: Mapping[str, Callable[[], Any]]  # by path
    posts: Mapping[str, Route]


def as_json(answer: Any) -> bytes:
    """Return the body of an answer."""
    return b"" if answer is None else msgspec.json.encode(answer)
