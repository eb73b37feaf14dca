"""What a caller asks a search for in; an error where it cannot be, nothing else, out."""

from numbers import Integral, Real
from typing import Any

from sapo import limits
from sapo.errors import SapoError


def check_number(name: str, value: Any) -> None:
    """A number of taggings.

    >>> check_number("n", 0)
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: n must be at least 1, not 0
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise SapoError(f"{name} must be at least 1, not {value}")
    limits.check("n", int(value), name, "taggings")


def check_wanted(n: Any, stop_ratio: Any) -> None:
    """What every search for n taggings is asked for."""
    check_number("n", n)
    number = isinstance(stop_ratio, Real) and not isinstance(stop_ratio, bool)
    if not (number and stop_ratio >= 1):
        raise SapoError(f"stop_ratio must be at least 1, not {stop_ratio}")
