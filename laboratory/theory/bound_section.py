"""Write the part of the report on the bound of Theorem 1."""

import math
from collections.abc import Sequence
from typing import Any

from laboratory.theory.convergence import Study, Trajectory
from laboratory.theory.line_figures import Line, LinePanel
from laboratory.theory.section import name_of, section


def bound_section(studies: Sequence[Study]) -> dict[str, Any]:
    return section(
        studies,
        title="Theorem 1: the bound beside the measured way",
        text=_text(studies),
        head=["problem", "n", "κ", "bound at the end", "measured", "t of the theorem for half of f(0) - f(w*)"],
        rows=_rows,
        panel=_panel,
        caption="The distance from the optimum and the bound of Theorem 1",
        bounds=[
            {"problem": study.plan.title, "n": trajectory.n, "t": trajectory.t, "bound": bound_of(study, trajectory)}
            for study in studies
            for trajectory in study.trajectories
        ],
    )


def _panel(study: Study) -> LinePanel:
    return LinePanel(study.plan.title, "updates t", "f(w_t) - f(w*)", _lines(study), log_x=True, log_y=True)


def bound_of(study: Study, trajectory: Trajectory) -> list[float]:
    """Return the theorem's bound at each moment of a trajectory."""
    constants = study.constants(trajectory)
    return [constants.excess(study.plan.rate, t) for t in trajectory.t]


def _lines(study: Study) -> list[Line]:
    """Return a line for each n, and the bounds of the smallest n and of all taggings: the others are in between."""
    lines = [
        Line(name_of(trajectory), trajectory.t, trajectory.excess, at)
        for at, trajectory in enumerate(study.trajectories)
    ]
    for at in (0, len(study.trajectories) - 1):
        trajectory = study.trajectories[at]
        lines.append(Line(f"bound, {name_of(trajectory)}", trajectory.t, bound_of(study, trajectory), at, 1))
    return lines


def _rows(study: Study) -> list[list[str]]:
    rows = []
    for trajectory in study.trajectories:
        constants = study.constants(trajectory)
        updates = constants.updates(trajectory.excess[0] / 2)
        rows.append(
            [
                study.plan.title,
                name_of(trajectory)[4:],
                f"{constants.kappa:.3g}",
                f"{bound_of(study, trajectory)[-1]:.3g}",
                f"{trajectory.excess[-1]:.3g}",
                f"{updates:,.0f}" if math.isfinite(updates) else "none: τ too large",
            ]
        )
    return rows


def _text(studies: Sequence[Study]) -> str:
    broken = [
        f"{study.plan.title}, {name_of(trajectory)}"
        for study in studies
        for trajectory in study.trajectories
        if any(measured > bound for measured, bound in zip(trajectory.excess, bound_of(study, trajectory), strict=True))
    ]
    holds = "is nowhere broken" if not broken else f"is broken on {'; '.join(broken)}"
    constants = "; ".join(
        f"{study.plan.title}: c = {study.c:g}, q = {study.q:.3g}, a_0 = {study.a_0:.3g}, {_seeds(study.plan.seeds)}"
        for study in studies
    )
    gradient = "; ".join(
        f"{study.plan.title}: bound {bound[0]:.3g} at the beginning and {bound[-1]:.3g} at the end, "
        f"measured {last.excess[-1]:.2g}"
        for study in studies
        for last in study.trajectories[-1:]
        for bound in [bound_of(study, last)]
    )
    searched = [(study, trajectory) for study in studies for trajectory in study.trajectories if trajectory.n]
    rises = sum(bound_of(study, trajectory)[-1] > bound_of(study, trajectory)[0] for study, trajectory in searched)
    return (
        "The same ways as above, mean over seeds, beside the bound of the proof: "
        "E[f(w_t) - f(w*)] is at most q/2 ((1 - cr)^t (a_0 - a) + a) with a = (2τ + rκ²) / c, where r is the rate. c "
        "is λ / |S|, which is exact: the loss is flat along weights that favor no label. q is the largest eigenvalue "
        "of the Hessian at 0, at w*/2 and at w* (Lanczos iteration), κ the largest ‖s_z(w)‖ and τ the largest left "
        "side of (7) that were met: estimates from below, so the bound drawn is the smallest possible. "
        f"{constants}.\n\n"
        f"The bound {holds}. For the stochastic gradient (n = all, τ = 0): {gradient}. "
        f"For {rises} of the {len(searched)} ways with a searched n, τ is so large that the bound rises "
        "with t: it holds, but is too loose to be useful."
    )


def _seeds(count: int) -> str:
    return f"{count} {'seed' if count == 1 else 'seeds'}"
