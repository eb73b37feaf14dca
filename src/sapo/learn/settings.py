"""How to train: every option once, with its default and its rule."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from sapo.errors import SapoError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The parameters of Algorithm 1, and when to stop.

    >>> Settings(n=0)
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: n must be at least 1, not 0
    """

    n: int = 5  # taggings to search for
    strength: float = 1.0  # lambda of the regulariser
    rate: float = 0.1  # gamma of the first pass
    decay: float = 0.9  # the rate is multiplied by this after each pass; 1 keeps it fixed
    stop_ratio: float = math.inf  # leave out candidates this many times less probable than the best
    epochs: int = 20  # passes over the training set, at most
    patience: int = 5  # passes without a better dev score before stopping
    tolerance: float = 1e-3  # stop when the objective changes less than this, relatively
    seed: int = 0

    def __post_init__(self) -> None:
        for rule, name, holds in (
            ("at least 1", "n", self.n >= 1),
            ("0 or more, and finite", "strength", 0 <= self.strength < math.inf),
            ("more than 0, and finite", "rate", 0 < self.rate < math.inf),
            ("more than 0 and at most 1", "decay", 0 < self.decay <= 1),
            ("at least 1", "stop_ratio", self.stop_ratio >= 1),
            ("at least 1", "epochs", self.epochs >= 1),
            ("at least 1", "patience", self.patience >= 1),
            ("0 or more", "tolerance", self.tolerance >= 0),
            ("0 or more", "seed", self.seed >= 0),
        ):
            if not holds:
                raise SapoError(f"{name} must be {rule}, not {getattr(self, name)}")

    def as_json(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        return {key: None if value == math.inf else value for key, value in values.items()}
