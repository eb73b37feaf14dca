"""SAPO's ways in, the part of the report on Theorem 1's bound out."""

import math
from collections.abc import Sequence
from typing import Any

from laboratory.theory.convergence import Journey, Way
from laboratory.theory.section import name_of, section
from laboratory.theory.svg import Line, Panel


def promise(journeys: Sequence[Journey]) -> dict[str, Any]:
    return section(
        journeys,
        title="Theorem 1: the bound beside the measured way",
        text=_text(journeys),
        head=["problem", "n", "κ", "bound at the end", "measured", "t of the theorem for half of f(0) - f(w*)"],
        rows=_rows,
        panel=_panel,
        caption="The distance from the optimum and the bound of Theorem 1",
        bounds=[
            {"problem": journey.plan.title, "n": way.n, "t": way.t, "bound": bound_of(journey, way)}
            for journey in journeys
            for way in journey.ways
        ],
    )


def _panel(journey: Journey) -> Panel:
    return Panel(journey.plan.title, "updates t", "f(w_t) - f(w*)", _lines(journey), log_x=True, log_y=True)


def bound_of(journey: Journey, way: Way) -> list[float]:
    """The theorem's bound at each moment of the way."""
    constants = journey.constants(way)
    return [constants.excess(journey.plan.rate, t) for t in way.t]


def _lines(journey: Journey) -> list[Line]:
    """All n measured, and the bound of the smallest n and of all taggings: the others are in between."""
    lines = [Line(name_of(way), way.t, way.excess, at) for at, way in enumerate(journey.ways)]
    for at in (0, len(journey.ways) - 1):
        way = journey.ways[at]
        lines.append(Line(f"bound, {name_of(way)}", way.t, bound_of(journey, way), at, 1))
    return lines


def _rows(journey: Journey) -> list[list[str]]:
    rows = []
    for way in journey.ways:
        constants = journey.constants(way)
        updates = constants.updates(way.excess[0] / 2)
        rows.append(
            [
                journey.plan.title,
                name_of(way)[4:],
                f"{constants.kappa:.3g}",
                f"{bound_of(journey, way)[-1]:.3g}",
                f"{way.excess[-1]:.3g}",
                f"{updates:,.0f}" if math.isfinite(updates) else "none: τ too large",
            ]
        )
    return rows


def _text(journeys: Sequence[Journey]) -> str:
    broken = [
        f"{journey.plan.title}, {name_of(way)}"
        for journey in journeys
        for way in journey.ways
        if any(measured > bound for measured, bound in zip(way.excess, bound_of(journey, way), strict=True))
    ]
    holds = "is nowhere broken" if not broken else f"is broken on {'; '.join(broken)}"
    constants = "; ".join(
        f"{journey.plan.title}: c = {journey.c:g}, q = {journey.q:.3g}, a_0 = {journey.a_0:.3g}, "
        f"{_seeds(journey.plan.seeds)}"
        for journey in journeys
    )
    gradient = "; ".join(
        f"{journey.plan.title}: bound {bound_of(journey, journey.ways[-1])[0]:.3g} at the beginning and "
        f"{bound_of(journey, journey.ways[-1])[-1]:.3g} at the end, measured {journey.ways[-1].excess[-1]:.2g}"
        for journey in journeys
    )
    searched = [(journey, way) for journey in journeys for way in journey.ways if way.n]
    rises = sum(bound_of(journey, way)[-1] > bound_of(journey, way)[0] for journey, way in searched)
    return (
        "The same ways as above, mean over seeds, beside the bound of the proof: "
        "E[f(w_t) - f(w*)] is at most q/2 ((1 - cr)^t (a_0 - a) + a) with a = (2τ + rκ²) / c, where r is the rate. c "
        "is λ / |S|, which is exact: the loss is flat along weights that favour no label. q is the largest eigenvalue "
        "of the Hessian at 0, at w*/2 and at w* (power iteration), κ the largest ‖s_z(w)‖ and τ the largest left side "
        "of (7) that were met: estimates from below, so the bound drawn is the smallest possible. "
        f"{constants}.\n\n"
        f"The bound {holds}. For the stochastic gradient (n = all, τ = 0): {gradient}. "
        f"For {rises} of the {len(searched)} ways with a searched n, τ is so large that the bound rises "
        "with t: it is true, and empty."
    )


def _seeds(count: int) -> str:
    return f"{count} {'seed' if count == 1 else 'seeds'}"
