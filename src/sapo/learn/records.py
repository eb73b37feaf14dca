"""Counts of a pass and the weights after it in, the record of the pass out."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from sapo.errors import SapoError
from sapo.kernels import update
from sapo.kernels.types import Doubles
from sapo.learn.chunks import Corpus, sample_of
from sapo.learn.settings import Settings

RANKS = 10  # candidates whose mean probability is recorded


@dataclass(frozen=True, slots=True)
class PassRecord:
    """The measurements of one pass. The seconds do not include the evaluation on the dev set."""

    epoch: int
    objective: float  # mean loss of a sample during the pass, including the regulariser
    dev: float | None  # F1 or accuracy
    w_complexity: float  # mean |w|
    rate: float
    n: int  # taggings searched for, if the learner searches
    updates: int  # samples that changed the weights
    updated: float  # share of tokens whose features were updated
    candidates: float  # mean number of taggings found for a sentence, or for a piece of one
    probabilities: list[float]  # mean probability of the first candidate, the second ...
    accuracy: float  # share of training tokens that were tagged correctly before the update
    seconds: float
    tokens_per_second: float
    looked: float | None = None  # where not all labels are looked at: how many of a token
    lost: float | None = None  # and the share of gold labels that would have been left out

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON needs it, without what only short lists of labels have."""
        values = asdict(self)
        return {key: value for key, value in values.items() if value is not None or key not in ("looked", "lost")}


@dataclass(frozen=True, slots=True)
class PassCounts:
    """What the learner itself counted in one pass."""

    epoch: int
    rate: float
    totals: Doubles  # see kernels/update.py
    seconds: float

    @property
    def all_right(self) -> bool:
        """Return whether every token was tagged correctly before the update."""
        return bool(self.totals[update.CORRECT] == self.totals[update.TOKENS])


def make_record(done: PassCounts, corpus: Corpus, settings: Settings, weights: Any) -> PassRecord:
    """Return the record of a pass, with the measurements of the weights (a `Learned`) after it.

    Raises SapoError if the weights are no longer finite.
    """
    totals = done.totals
    objective = float(totals[update.LOSS]) / corpus.sentences + _penalty(weights, settings, corpus.sentences)
    complexity = weights.w_complexity()
    if not (math.isfinite(objective) and math.isfinite(complexity)):
        raise out_of_bounds(done.epoch, settings)
    tokens = max(1.0, totals[update.TOKENS])
    searched = totals[update.SEARCHED] or corpus.sentences  # more, where sentences are cut into pieces
    # where some tags are open, all labels of some sentences are looked at, and the counts say little
    short = totals[update.LOOKED] > 0 and bool((sample_of(corpus).gold >= 0).all())
    return PassRecord(
        epoch=done.epoch,
        objective=objective,
        dev=None,
        w_complexity=complexity,
        rate=done.rate,
        n=settings.number,
        updates=int(totals[update.UPDATED_SAMPLES]),
        updated=float(totals[update.UPDATES] / tokens),
        candidates=float(totals[update.CANDIDATES]) / searched,
        probabilities=[float(total) / searched for total in totals[update.BY_RANK :] if total > 0],
        accuracy=float(totals[update.CORRECT] / tokens),
        seconds=done.seconds,
        tokens_per_second=float(tokens / max(done.seconds, 1e-9)),
        looked=float(totals[update.LOOKED] / tokens) if short else None,
        lost=float(totals[update.LOST] / tokens) if short else None,
    )


def out_of_bounds(epoch: int, settings: Settings) -> SapoError:
    """Return the error to raise when the weights are no longer finite."""
    return SapoError(
        f"epoch {epoch}: the weights grew out of all bounds; lower the rate ({settings.rate}) "
        f"or the strength ({settings.strength})"
    )


def _penalty(weights: Any, settings: Settings, sentences: int) -> float:
    """Return the regulariser's part of the objective, per sample."""
    if weights.own_rules:
        return float(weights.penalty()) / sentences
    if settings.regulariser == "l2":
        return settings.strength / 2 * float(weights.squared_norm()) / sentences
    if settings.regulariser == "l1":
        return settings.strength * float(weights.absolute_norm()) / sentences
    return 0.0
