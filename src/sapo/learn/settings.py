"""Define the training options, each with its default and the rule that its value must follow."""

import dataclasses
import math
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, cast

from sapo.errors import LARGEST_OPTION, MOST_THREADS, SapoError, choice

AUTO: Literal["auto"] = "auto"
MOST = 1000  # taggings to learn from: each step takes as long as searching for this many
RARE = ("exact", "all_pairs", "piece", "average", "hide", "drop")  # left out of records where they are as usual
CHOICES = {
    "search": ("topn", "astar", "beam"),
    "regularizer": ("l2", "l1", "none"),
    "schedule": ("exponential", "fixed", "inverse"),
    "order": ("shuffle", "draw"),
}
# of each regularizer, where none is given: with more, l1 loses accuracy (docs/reference/learners.md)
STRENGTHS = {"l2": 1.0, "l1": 0.1, "none": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The parameters of Algorithm 1, and when to stop.

    Raises SapoError if a value breaks its rule.

    >>> Settings(epochs=3).rate
    0.1
    >>> Settings().strength, Settings(regularizer="l1").strength
    (1.0, 0.1)
    >>> Settings(n=0)
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: n must be at least 1 or 'auto', not 0
    """

    n: int | Literal["auto"] = 5  # taggings to search for; 'auto' measures before each pass how many are worth it
    strength: float = cast(float, None)  # lambda of the regularizer; None stands for its default in STRENGTHS
    rate: float = 0.1  # gamma in the first pass
    decay: float = 0.9  # how fast the rate falls; see `schedule`
    stop_ratio: float = math.inf  # leave out candidates this many times less probable than the best
    epochs: int = 20  # maximum number of passes over the training set
    patience: int = 5  # passes without a better dev score before stopping
    tolerance: float = 1e-3  # stop when the objective changes less than this, relatively
    seed: int = 0
    search: str = "topn"  # topn and astar are exact, beam is not
    width: int = 50  # width of the beam
    regularizer: str = "l2"
    schedule: str = (
        "exponential"  # the rate is multiplied by `decay` after each pass, falls with inverse time, or is fixed
    )
    order: str = "shuffle"  # shuffle the samples before each pass, or draw them with replacement
    threads: int = 1  # with more than one, training is faster, but runs differ
    piece: int = 0  # cut sentences into pieces of this many tokens on average to learn from; 0: not at all
    average: float = 0.0  # the model is the average of the weights over this share of the passes, the last ones
    hide: float = 0.0  # while learning, a feature that occurs c times is hidden with probability hide / (hide + c)
    drop: float = 0.0  # at the end, weights of features that are smaller than this are left out of the model
    exact: bool = False  # look at all labels of every token, also where there are many
    all_pairs: bool = False  # a CRF has weights for all pairs of a feature and a label, also where there are many

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            object.__setattr__(self, name, choice(getattr(self, name), choices))
        if self.strength is None:
            object.__setattr__(self, "strength", STRENGTHS.get(self.regularizer, 1.0))
        for name, rule, low, high in (
            ("n", "at least 1 or 'auto'", 1, math.inf),
            ("epochs", "at least 1", 1, 1000 * LARGEST_OPTION),
            ("patience", "at least 1", 1, math.inf),
            ("width", "at least 1", 1, LARGEST_OPTION),
            ("threads", "at least 1", 1, MOST_THREADS),
            ("seed", "0 or more", 0, 2**64 - 1),
            ("piece", "0 or more", 0, LARGEST_OPTION),
            ("average", "a number from 0 to 1", 0.0, 1.0),
            ("hide", "a finite number, 0 or more", 0.0, 1e30),
            ("drop", "a finite number, 0 or more", 0.0, 1e30),
            ("strength", "a finite number, 0 or more", 0.0, 1e30),
            ("rate", "a finite number, more than 0", 1e-30, 1e30),
            ("decay", "a number more than 0 and at most 1", 1e-30, 1.0),
            ("stop_ratio", "a number, at least 1", 1.0, math.inf),
            ("tolerance", "a number, 0 or more", 0.0, math.inf),
        ):
            value = getattr(self, name)
            if name == "n" and isinstance(value, str) and value == AUTO:
                continue
            whole = isinstance(low, int)
            if whole and not isinstance(value, Integral):
                rule = f"a whole number, {rule}"
            if whole and isinstance(value, int) and value > high:
                rule = f"at most {high:,}"
            number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
            # a whole number may be larger than any float, and less than infinity
            held = whole or not isinstance(value, int) or value <= sys.float_info.max
            self._check(name, rule, number and held and low <= value <= high)
        if self.n != AUTO and self.n > MOST:
            raise SapoError(
                f"n must be at most {MOST}, not {self.n}; use fewer (more than 50 seldom help), or the learner crf, "
                "which sums over all taggings"
            )
        for name in ("exact", "all_pairs"):
            self._check(name, "true or false", isinstance(getattr(self, name), bool))
        for name, choices in CHOICES.items():
            self._check(name, f"one of {', '.join(choices)}", getattr(self, name) in choices)

    def _check(self, name: str, rule: str, holds: bool) -> None:
        if not holds:
            raise SapoError(f"{name} must be {rule}, not {getattr(self, name)}")

    @property
    def number(self) -> int:
        """Return n as a number. The training loop replaces 'auto' by a number before each pass."""
        assert self.n != AUTO
        return self.n

    @property
    def averaged_from(self) -> int:
        """Return the first pass over which the weights are averaged.

        >>> Settings(epochs=20, average=0.5).averaged_from
        11
        """
        return self.epochs - math.ceil(self.average * self.epochs) + 1

    def rate_of(self, epoch: int) -> float:
        """Return the rate of a pass; passes count from 1.

        >>> [round(Settings(rate=1.0, schedule=kind).rate_of(3), 3) for kind in CHOICES["schedule"]]
        [0.81, 1.0, 0.818]
        """
        if self.schedule == "fixed":
            return self.rate
        if self.schedule == "inverse":
            return self.rate / (1 + (1 / self.decay - 1) * (epoch - 1))
        return self.rate * self.decay ** (epoch - 1)

    def shrink_of(self, sentences: int) -> float:
        """Return the fraction by which L2 shrinks the weights at each sample of the first pass.

        Raises SapoError if this is 1 or more, since nothing would be left.

        >>> Settings(rate=0.1, strength=4.0).shrink_of(2)
        0.2
        """
        shrink = self.rate * self.strength / sentences if self.regularizer == "l2" else 0.0
        if shrink >= 1.0:
            raise SapoError(
                f"the strength {self.strength} is too large for {sentences} sentences at the rate {self.rate}; lower "
                f"one of them: their product must be less than {sentences}"
            )
        return shrink

    def as_json(self) -> dict[str, Any]:
        """Return the settings with plain Python values, as JSON needs them; infinity becomes None."""
        kinds = {field.name: field.type for field in dataclasses.fields(self)}
        kinds["n"] = str if self.n == AUTO else int
        values = {name: _plain(kind, getattr(self, name)) for name, kind in kinds.items()}
        plain = {key: None if value == math.inf else value for key, value in values.items()}
        return {key: value for key, value in plain.items() if key not in RARE or value}


def _plain(kind: Any, value: Any) -> Any:
    return kind(value)
