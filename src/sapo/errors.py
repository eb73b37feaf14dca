"""The exception for mistakes of users, with a message of one line, and "did you mean"."""

import difflib
from collections.abc import Iterable


class SapoError(ValueError):
    """A mistake that the user can correct. The message says place, rule, value and what to do. Also a ValueError.

    >>> raise SapoError("train.txt:812: expected 3 columns, found 2 ('London JJ')")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: train.txt:812: expected 3 columns, found 2 ('London JJ')
    """


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
