"""Counts of what gold has, what was found and what of that is correct; precision, recall and F1 of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """How many spans gold has, how many were found, how many of those are correct: same borders, same type.

    Scores are fractions, and 0 where nothing is there to divide by.

    >>> counts = SpanCounts(gold=4, found=2, correct=1)
    >>> counts.precision, counts.recall, round(counts.f1, 3)
    (0.5, 0.25, 0.333)
    """

    gold: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        """The part of the found spans that is correct."""
        return fraction(self.correct, self.found)

    @property
    def recall(self) -> float:
        """The part of the gold spans that was found."""
        return fraction(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return fraction(2 * self.correct, self.gold + self.found)


@dataclass(frozen=True, slots=True)
class FeatureCounts(SpanCounts):
    """The same of the values of one key, such as Case; correct are those with the same value as gold."""

    tokens: int  # that have the key in gold or in what was found


def fraction(part: int, whole: int) -> float:
    """Return a part of a whole, and 0 of nothing."""
    return part / whole if whole else 0.0
