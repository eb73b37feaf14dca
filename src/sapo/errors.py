"""The mistakes of users: one exception, told in one line, and "did you mean"."""

import difflib
import re
from collections.abc import Iterable

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Return a text that a terminal only shows: control characters become what JSON writes for them.

    A label or a file name may hold an escape sequence that clears the screen, or turns the text around.

    >>> print(harmless("B-\\x1b[2J"))
    B-\\u001b[2J
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class SapoError(ValueError):
    """A mistake that the user can mend: says place, rule, value and the way out. Also a ValueError.

    >>> raise SapoError("train.txt:812: expected 3 columns, found 2 ('London JJ')")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: train.txt:812: expected 3 columns, found 2 ('London JJ')
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or all of them.

    >>> did_you_mean("sufix", ["prefix", "suffix"])
    "; did you mean 'suffix'?"
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean '{close[0]}'?" if close else f"; known: {', '.join(known)}"


class DataWarning(UserWarning):
    """Data was changed or left out in reading, and the user may want to correct it: says place, reason and change."""

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))


class FileWarning(UserWarning):
    """A file beside the result, such as a log, could not be written, and the work goes on without it."""

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))
