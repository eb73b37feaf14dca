"""What a claim of the paper is, what was found of it on a task, and how numbers are said."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from laboratory.report.results import Mean, TaskResults
from laboratory.report.significance import LEVEL, Significance

MINUS = "\u2212"
# What counts as no difference: a part of the errors that are left, so that one rule serves scores of 70 and of 97.
MARGIN = 0.03


class Verdict(StrEnum):
    """Whether our numbers say what the paper says."""

    AGREES = "agrees"
    IN_PART = "agrees in part"
    DISAGREES = "disagrees"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Finding:
    """What our runs say to a claim on one task."""

    task: str
    verdict: Verdict
    text: str
    numbers: dict[str, float]


Significances = dict[str, Significance]
Rule = Callable[[TaskResults, Significances], Finding]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, and the rule that decides whether our runs agree."""

    name: str
    title: str
    paper: str  # what the paper says
    rule: str  # in words, what `decide` computes
    decide: Rule


def missing(task: TaskResults, systems: Sequence[str]) -> Finding | None:
    """Return a finding that says which of the systems were not run; None if all were."""
    absent = [system for system in systems if system not in task.groups]
    return unknown(task, f"No finished run of {listed(absent)}.") if absent else None


def unknown(task: TaskResults, why: str) -> Finding:
    return Finding(task.name, Verdict.UNKNOWN, why, {})


def margin(task: TaskResults, system: str) -> float:
    """Return how many points of score count as no difference from this system."""
    return MARGIN * (100 - task.groups[system].last().mean)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """
    >>> worst([Verdict.AGREES, Verdict.IN_PART])
    <Verdict.IN_PART: 'agrees in part'>
    """
    return max(verdicts, key=list(Verdict).index)


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["CRF", "SAPO", "MIRA-Avg"])
    'CRF, SAPO and MIRA-Avg'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def say_mean(value: Mean, digits: int = 2) -> str:
    """
    >>> say_mean(Mean(93.906, 0.041)), say_mean(Mean(93.906, None))
    ('93.91 ± 0.04', '93.91')
    """
    return f"{value.mean:.{digits}f}" + ("" if value.deviation is None else f" ± {value.deviation:.{digits}f}")


def say_points(value: float) -> str:
    """Write a difference of scores with its sign, and never a negative zero.

    >>> say_points(0.123), say_points(-0.001)
    ('+0.12', '0.00')
    """
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", MINUS)


def say_percent(part: float) -> str:
    """
    >>> say_percent(0.07), say_percent(0.001)
    ('+7 %', '0 %')
    """
    return "0 %" if abs(part) < 0.005 else f"{100 * part:+.0f} %".replace("-", MINUS)


def say_p(p: float | None) -> str:
    """
    >>> say_p(0.00002), say_p(0.0312), say_p(None)
    ('p < 0.001', 'p = 0.031', 'p not known')
    """
    if p is None:
        return "p not known"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def is_significant(p: float | None) -> bool:
    return p is not None and p < LEVEL
