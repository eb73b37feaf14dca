"""Declare the training options: each once, with its default, its help and the rule that its value must follow.

The checks, the options of `sapo train` and the tables of the documentation are made from these declarations.
"""

import dataclasses
import math
import os
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from sapo.errors import LARGEST_OPTION, MOST_THREADS, OptionError, choice

AUTO: Literal["auto"] = "auto"
MOST = 1000  # taggings to learn from: each step takes as long as searching for this many
RARE = (
    "exact",
    "all_pairs",
    "piece",
    "average",
    "hide",
    "drop",
    "block",
)  # left out of records where they are as usual
# of each regularizer, where none is given: with more, l1 loses accuracy (docs/reference/learners.md)
STRENGTHS = {"l2": 1.0, "l1": 0.1, "none": 1.0}


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of an option: the rule that its value must follow, its default and its help."""

    kind: type = str  # int, float, bool or str
    rule: str = ""  # what a value must be, in words
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()  # the texts that are allowed
    default: Any = None
    help: str = ""
    auto: bool = False  # a run may choose the value from the data; then 'auto' and no value mean the same

    def field(self, default: Any, help: str, auto: bool = False) -> Any:
        """Return a field of a dataclass that follows this rule."""
        option = dataclasses.replace(self, default=default, help=help, auto=auto)
        return dataclasses.field(default=default, metadata={"option": option})

    def check(self, name: str, value: Any) -> Any:
        """Return the value as a plain Python one. Raise SapoError if it breaks the rule.

        >>> Option(float, "a number from 0 to 1", high=1).check("average", 2)
        Traceback (most recent call last):
        ...
        sapo.errors.OptionError: average must be a number from 0 to 1, not 2
        """
        rule, value = self.rule, choice(value, self.choices)
        if (value is None and self.default is None) or (isinstance(value, str) and value in self.choices):
            return value
        if self.kind is bool:
            rule, holds = "true or false", isinstance(value, bool)
        elif self.kind is str:
            rule = rule or f"one of {', '.join(self.choices)}"
            holds = isinstance(value, str | os.PathLike) and not self.choices
        else:
            whole = self.kind is int
            if whole and not isinstance(value, Integral) and "whole" not in rule:
                rule = f"a whole number, {rule}"
            if whole and isinstance(value, Integral) and value > self.high:  # type: ignore[operator]
                rule = f"at most {self.high:,}"
            number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
            # a whole number may be larger than any float, and less than infinity
            held = whole or not isinstance(value, int) or value <= sys.float_info.max
            holds = number and held and self.low <= value <= self.high
        if not holds:
            raise OptionError(f"{name} must be {rule}, not {value}")
        return value if self.kind is str else self.kind(value)

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for. A text that stands for none stays as it is, and fails the check.

        >>> Option(float).parse("0.1"), Option(int).parse("five"), Option(bool).parse("True")
        (0.1, 'five', True)
        """
        if self.kind is bool:
            return {"true": True, "false": False}.get(text.lower(), text)
        for kind in () if self.kind is str else (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text


def options_of(kind: type) -> dict[str, Option]:
    """Return the options that a dataclass declares, by name."""
    return {field.name: field.metadata["option"] for field in dataclasses.fields(kind) if field.metadata}


def settle(values: Any) -> None:
    """Check the options of a new frozen dataclass, and replace each value by a plain Python one."""
    for name, option in options_of(type(values)).items():
        object.__setattr__(values, name, option.check(name, getattr(values, name)))


FINITE = Option(float, "a finite number, 0 or more", high=1e30)
COUNT = Option(int, "at least 1", 1)


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
    sapo.errors.OptionError: n must be at least 1 or 'auto', not 0
    """

    n: int | Literal["auto"] = Option(int, "at least 1 or 'auto'", 1, choices=(AUTO,)).field(
        5, "Taggings to search for at each step; auto measures before each epoch how many are worth it."
    )
    strength: float = FINITE.field(
        None,
        "Strength of the regularizer (lambda); auto: chosen with the rate for sapo, else 1 for l2, 0.1 for l1.",
        auto=True,
    )
    rate: float = Option(float, "a finite number, more than 0", 1e-30, 1e30).field(
        0.1, "Learning rate of the first epoch; auto: the best of short trials, 0.002 for networks.", auto=True
    )
    decay: float = Option(float, "a number more than 0 and at most 1", 1e-30, 1.0).field(
        0.9, "How fast the rate falls; auto: to a tenth in the last epoch for sapo, else 0.9.", auto=True
    )
    stop_ratio: float = Option(float, "a number, at least 1", 1.0).field(
        math.inf, "Leave out taggings this many times less probable than the best; auto: 1000 for sapo.", auto=True
    )
    epochs: int = dataclasses.replace(COUNT, high=1000 * LARGEST_OPTION).field(
        20, "Epochs, at most; auto: 15 to 60 for sapo, by trials; 500 for crf-lbfgs; else 20.", auto=True
    )
    patience: int = COUNT.field(5, "Epochs without a better dev score before stopping; 20 for crf-lbfgs.")
    tolerance: float = Option(float, "a number, 0 or more").field(
        1e-3, "Stop when the relative change of the objective is less than this; 1e-5 for crf-lbfgs."
    )
    seed: int = Option(int, "0 or more", high=2**64 - 1).field(0, "Fixes everything that is random.")
    search: str = Option(choices=("topn", "astar", "beam")).field(
        "topn", "How to search: topn, astar (both exact) or beam."
    )
    width: int = dataclasses.replace(COUNT, high=LARGEST_OPTION).field(50, "Width of the beam.")
    regularizer: str = Option(choices=("l2", "l1", "none")).field("l2", "l2, l1 (for sparse models) or none.")
    schedule: str = Option(choices=("exponential", "fixed", "inverse")).field(
        "exponential",
        "How the rate falls: exponential (by the factor decay after each epoch), inverse (time) or fixed.",
    )
    order: str = Option(choices=("shuffle", "draw")).field(
        "shuffle", "Shuffle the sentences before each epoch, or draw them with replacement."
    )
    threads: int | None = dataclasses.replace(COUNT, high=MOST_THREADS).field(
        None, "Cores to use, at most: all by default for sapo, else 1. sapo learns the same with any number."
    )
    block: int = dataclasses.replace(COUNT, high=MOST).field(
        1,
        "Samples whose candidates are searched with the same weights; auto: 4 for sapo, 1 for little data.",
        auto=True,
    )
    piece: int = Option(int, "0 or more", high=LARGEST_OPTION).field(
        0,
        "Cut sentences into pieces of about this many tokens to learn from; 0: no; auto: 8 for sapo, else 0.",
        auto=True,
    )
    average: float = Option(float, "a number from 0 to 1", high=1.0).field(
        0.0, "Average the weights over this share of the epochs, the last ones; auto: 0.5 for sapo, else 0.", auto=True
    )
    hide: float = FINITE.field(
        0.0,
        "Hide a feature that occurs c times with probability hide / (hide + c); auto: 0.5 for sapo, else 0.",
        auto=True,
    )
    drop: float = FINITE.field(
        0.0, "Leave smaller weights of features out of the model; auto: 0.003 for sapo, else 0.", auto=True
    )
    exact: bool = Option(bool).field(False, "Look at all labels of every token, even if there are more than 300.")
    all_pairs: bool = Option(bool).field(
        False, "crf: weights for all pairs of a feature and a label, even if there are more than 32 labels."
    )

    def __post_init__(self) -> None:
        if self.strength is None:
            regularizer = choice(self.regularizer, STRENGTHS)
            object.__setattr__(self, "strength", STRENGTHS.get(regularizer, 1.0))
        settle(self)
        if self.n != AUTO and self.n > MOST:
            raise OptionError(
                f"n must be at most {MOST}, not {self.n}; use fewer (more than 50 seldom help), or the learner crf, "
                "which sums over all taggings"
            )

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

    @property
    def cores(self) -> int:
        """Return how many threads may learn at the same time.

        >>> Settings(threads=3).cores
        3
        """
        if self.threads is not None:
            return self.threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def block_of(self, shrink: float) -> int:
        """Return the number of samples in a block: one where L2 shrinks the weights a lot at each sample.

        >>> Settings(block=16).block_of(1e-5), Settings(block=16).block_of(0.1)
        (16, 1)
        """
        return self.block if (1.0 - shrink) ** self.block > 0.5 else 1

    def until(self, epoch: int) -> "Settings":
        """Return settings that do the same as these up to this pass, and stop after it.

        >>> Settings(epochs=20, average=0.5).until(12).averaged_from, Settings(epochs=20, average=0.5).until(5).average
        (11, 0.0)
        """
        averaged = max(0, epoch - self.averaged_from + 1)
        return dataclasses.replace(self, epochs=epoch, average=max(0.0, averaged - 0.5) / epoch)  # rounded up again

    def rate_of(self, epoch: int) -> float:
        """Return the rate of a pass; passes count from 1.

        >>> [round(Settings(rate=1.0, schedule=kind).rate_of(3), 3) for kind in ("exponential", "fixed", "inverse")]
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
            raise OptionError(
                f"the strength {self.strength} is too large for {sentences} sentences at the rate {self.rate}; lower "
                f"one of them: their product must be less than {sentences}"
            )
        return shrink

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON needs them: infinity becomes None, and what is rare and not used is left out."""
        options = options_of(Settings)
        values = {name: getattr(self, name) for name in options if name != "threads"}  # which change nothing
        return {
            name: None if value == math.inf else value
            for name, value in values.items()
            if name not in RARE or value != options[name].default
        }


CHOSEN = tuple(name for name, option in options_of(Settings).items() if option.auto)  # may be chosen from the data
