"""SAPO's ways with a text, a table and panels in, a part of the report out."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from laboratory.theory.convergence import Journey, Way
from laboratory.theory.svg import Panel, figure


def name_of(way: Way) -> str:
    return f"n = {way.n}" if way.n else "n = all"


def section(
    journeys: Sequence[Journey],
    *,
    title: str,
    text: str,
    head: list[str],
    rows: Callable[[Journey], list[list[str]]],
    panel: Callable[[Journey], Panel],
    caption: str,
    **more: Any,
) -> dict[str, Any]:
    """A table with rows of each journey, a figure with a panel of each, `more` entries, and all numbers."""
    return {
        "title": title,
        "text": text,
        "table": {"head": head, "words": 1, "rows": [row for journey in journeys for row in rows(journey)]},
        "figure": figure([panel(journey) for journey in journeys], caption),
        **more,
        "journeys": [dump(journey) for journey in journeys],
    }


def dump(journey: Journey) -> dict[str, Any]:
    """All numbers of a journey but the weights."""
    return {
        "title": journey.plan.title,
        "plan": dataclasses.asdict(journey.plan),
        "c": journey.c,
        "q": journey.q,
        "a_0": journey.a_0,
        "optimum": {
            "value": journey.optimum.value,
            "gradient_norm": journey.optimum.gradient_norm,
            "iterations": journey.optimum.iterations,
            "accuracy": journey.accuracy,
        },
        "ways": [{**dataclasses.asdict(way), "tau": journey.constants(way).tau} for way in journey.ways],
    }
