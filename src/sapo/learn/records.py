"""What is recorded of one pass."""

from dataclasses import asdict, dataclass
from typing import Any

from sapo.kernels import update
from sapo.kernels.types import Doubles

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
