"""Counts of what gold has, what was found and what of that is correct; precision, recall and F1 of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Numbers of spans: in gold, found, and correct (same borders and same type).

    Scores are fractions, and 0 if there is nothing to divide by.

    >>> counts = SpanCounts(gold=4, found=2, correct=1)
    >>> counts.precision, counts.recall, round(counts.f1, 3)
    (0.5, 0.25, 0.333)
    """

    gold: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of the found spans that are correct."""
        return fraction(self.correct, self.found)

    @property
    def recall(self) -> float:
        """The share of the gold spans that were found."""
        return fraction(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return fraction(2 * self.correct, self.gold + self.found)


@dataclass(frozen=True, slots=True)
class FeatureCounts(SpanCounts):
    """The same for the values of one key, such as Case. A value is correct if gold has the same."""

    tokens: int  # that have the key in gold or in what was found


def fraction(part: int, whole: int) -> float:
    """Return a part of a whole, and 0 of nothing."""
    return part / whole if whole else 0.0
