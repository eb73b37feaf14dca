"""The helpers of `sklearn_crfsuite.utils`."""

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

T = TypeVar("T")


def flatten(sequences: Iterable[Iterable[T]]) -> list[T]:
    """Return the items of all sequences in one list.

    >>> flatten([["B", "I"], ["O"]])
    ['B', 'I', 'O']
    """
    return list(chain.from_iterable(sequences))
