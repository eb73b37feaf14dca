"""Put a text, a table and the panels of a figure together as a part of the report."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from laboratory.theory.convergence import Study, Trajectory
from laboratory.theory.line_figures import LineFigure, LinePanel


def name_of(trajectory: Trajectory) -> str:
    return f"n = {trajectory.n}" if trajectory.n else "n = all"


def section(
    studies: Sequence[Study],
    *,
    title: str,
    text: str,
    head: list[str],
    rows: Callable[[Study], list[list[str]]],
    panel: Callable[[Study], LinePanel],
    caption: str,
    **more: Any,
) -> dict[str, Any]:
    """Return the part: a table with rows of each study, a figure with a panel of each, `more`, and all numbers."""
    return {
        "title": title,
        "text": text,
        "table": {"head": head, "words": 1, "rows": [row for study in studies for row in rows(study)]},
        "figure": dataclasses.asdict(LineFigure(caption, [panel(study) for study in studies])),
        **more,
        "journeys": [dump(study) for study in studies],
    }


def dump(study: Study) -> dict[str, Any]:
    """Return all numbers of a study but the weights."""
    return {
        "title": study.plan.title,
        "plan": dataclasses.asdict(study.plan),
        "c": study.c,
        "q": study.q,
        "a_0": study.a_0,
        "optimum": {
            "value": study.optimum.value,
            "gradient_norm": study.optimum.gradient_norm,
            "iterations": study.optimum.iterations,
            "accuracy": study.accuracy,
        },
        "ways": [
            {**dataclasses.asdict(trajectory), "tau": study.constants(trajectory).tau}
            for trajectory in study.trajectories
        ],
    }
