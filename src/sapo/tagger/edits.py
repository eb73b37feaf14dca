"""Turn a string into another: lemmas, pronunciations, normalized spellings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class EditItem:
    """A string to be turned into another, such as a word into its lemma.

    >>> EditItem("Houses", ("NOUN", "Number=Plur"), "house").context
    ('NOUN', 'Number=Plur')
    """

    form: str
    context: tuple[str, ...] = ()  # what else is known, such as the part of speech; as many values in every item
    output: str | None = None  # the gold output; only training needs it
    count: int = 1  # how often it occurs


@dataclass(frozen=True, slots=True)
class RankedOutput:
    """One of the n best outputs. Its probability is over the candidates that the model has ranked."""

    text: str
    probability: float


class EditModel:
    """Turns strings into strings. `sapo.training.edits.train_edits` makes it."""

    def predict_many(self, items: Iterable[EditItem]) -> list[str]:
        """Return the best output of each item. Equal items are computed once, and remembered from call to call."""
        raise NotImplementedError

    def nbest(self, item: EditItem, n: int = 5) -> list[RankedOutput]:
        """Return the n best outputs, best first, with probabilities over all candidates of the item."""
        raise NotImplementedError

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """Return the model as arrays and a value of JSON, for a file."""
        raise NotImplementedError

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, object]) -> "EditModel":
        """Return the model that `to_arrays` has stored. Raise ValueError, KeyError or TypeError if it is damaged."""
        raise NotImplementedError
