"""Measure how well the probabilities of a system agree with how often it is correct.

Of all answers given with confidence 0.8, eight in ten should be right. Answers are put into bins of like confidence;
the expected calibration error (ECE) is the mean difference between confidence and accuracy of the bins, each weighed
by its answers. The Brier score is the mean of (confidence - 1 or 0)^2: it also rewards being sure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo.errors import DataError, OptionError
from sapo.evaluate.scores import text_table

BINS = 15


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers with a confidence above `low` and up to `high`."""

    low: float
    high: float
    count: int
    confidence: float  # the mean
    accuracy: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well confidence and accuracy agree. All numbers are fractions, and 0 if there are no answers."""

    count: int
    confidence: float  # the mean
    accuracy: float
    ece: float
    brier: float
    bins: tuple[Bin, ...]  # those that are not empty


def reliability(confidence: NDArray[np.float64], correct: NDArray[np.bool_], *, bins: int = BINS) -> Reliability:
    """Return how well confidence and accuracy agree, with answers sorted into bins of equal width.

    `confidence[i]` is the probability that the system gave to answer i; `correct[i]` says whether it was right.

    >>> found = reliability(np.array([0.9, 0.9, 0.6, 0.2]), np.array([True, True, False, False]), bins=2)
    >>> found.count, found.accuracy, round(found.ece, 6), round(found.brier, 6)
    (4, 0.5, 0.15, 0.105)
    >>> [(one.low, one.high, one.count, round(one.confidence, 6)) for one in found.bins]
    [(0.0, 0.5, 1, 0.2), (0.5, 1.0, 3, 0.8)]
    """
    if bins < 1:
        raise OptionError(f"calibration: bins must be at least 1, not {bins}")
    if len(confidence) != len(correct):
        raise DataError(f"calibration: {len(confidence)} confidences but {len(correct)} answers; give one for each")
    if not len(confidence):
        return Reliability(0, 0.0, 0.0, 0.0, 0.0, ())
    if not (confidence.min() >= 0.0 and confidence.max() <= 1.0 + 1e-9):
        raise DataError(f"calibration: confidences lie between 0 and 1, found {confidence.min()} to {confidence.max()}")
    right = correct.astype(np.float64)
    place = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    sure = np.bincount(place, confidence, minlength=bins)
    good = np.bincount(place, right, minlength=bins)
    filled = [
        Bin(i / bins, (i + 1) / bins, int(counts[i]), float(sure[i] / counts[i]), float(good[i] / counts[i]))
        for i in np.flatnonzero(counts).tolist()
    ]
    return Reliability(
        count=len(right),
        confidence=float(confidence.mean()),
        accuracy=float(right.mean()),
        ece=float(np.abs(sure - good).sum() / len(right)),
        brier=float(((confidence - right) ** 2).mean()),
        bins=tuple(filled),
    )


def reliability_table(rows: Mapping[str, Reliability]) -> str:
    """Return a table with one line for each kind of answer.

    >>> some = reliability(np.array([0.75, 1.0]), np.array([True, True]))
    >>> print(reliability_table({"tokens, all taggings": some}))
                              answers  accuracy  confidence     ECE   Brier
        tokens, all taggings        2    1.0000      0.8750  0.1250  0.0312
    """
    lines = [[" " * 24, "answers", "accuracy", "confidence", "ECE", "Brier"]]
    for name, row in rows.items():
        lines.append([name, str(row.count), *(f"{x:.4f}" for x in (row.accuracy, row.confidence, row.ece, row.brier))])
    return "\n".join(text_table(lines, left=()))
