"""How often the model was right before it learned a sentence: counts of sentences in, points of a curve out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapo.teach.events import Seen
from sapo.teach.task import SPANS

WINDOW = 50  # sentences
POINTS = 200  # at most


@dataclass(frozen=True, slots=True)
class Point:
    """The score of the last sentences, and the score that the model itself expected."""

    accepted: int
    score: float
    sure: float


def curve(kind: str, seen: Sequence[Seen], *, window: int = WINDOW, points: int = POINTS) -> list[Point]:
    """Return F1 of spans, or accuracy of tags, over the last sentences before each point.

    >>> curve("tags", [Seen(1, 2, 2, 1.5, 2.0), Seen(2, 2, 2, 1.8, 2.0)])
    [Point(accepted=1, score=0.5, sure=0.75), Point(accepted=2, score=0.75, sure=0.825)]
    """
    if not seen:
        return []
    rows = np.array([[one.right, one.said, one.gold, one.sure, one.likely] for one in seen])
    sums = np.cumsum(np.vstack([np.zeros(5), rows]), axis=0)
    ends = np.unique(np.linspace(len(seen), 1, min(points, len(seen))).round().astype(int))
    found = sums[ends] - sums[np.maximum(ends - window, 0)]
    right, said, gold, sure, likely = found.T
    if kind == SPANS:
        score, expected = _f1(right, said + gold), _f1(sure, said + likely)
    else:
        score, expected = right / np.maximum(gold, 1), sure / np.maximum(likely, 1)
    return [
        Point(int(end), round(float(one), 4), round(float(other), 4))
        for end, one, other in zip(ends, score, expected, strict=True)
    ]


def _f1(right: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Return F1; where there is no span and none was said, all is right."""
    return np.where(both > 0, 2 * right / np.where(both > 0, both, 1), 1.0)
