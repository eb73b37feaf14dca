"""Validate the arguments of a search."""

from numbers import Integral, Real
from typing import Any

from sapo import limits
from sapo.errors import SapoError


def check_n(n: Any) -> None:
    """Validate the number of taggings to search for.

    >>> check_n(0)
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: n must be at least 1, not 0
    """
    _check_positive("n", n)
    limits.check("n", int(n), "n", "taggings")


def check_width(width: Any) -> None:
    """Validate the width of a beam."""
    _check_positive("width", width)
    if width > limits.LARGEST_OPTION:
        raise SapoError(f"width must be at most {limits.LARGEST_OPTION:,}, not {width:,}")


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise SapoError(f"{name} must be at least 1, not {value}")


def check_wanted(n: Any, stop_ratio: Any) -> None:
    """Validate what every search for n taggings takes."""
    check_n(n)
    number = isinstance(stop_ratio, Real) and not isinstance(stop_ratio, bool)
    if not (number and stop_ratio >= 1):
        raise SapoError(f"stop_ratio must be at least 1, not {stop_ratio}")
