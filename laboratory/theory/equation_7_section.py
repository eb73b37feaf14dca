"""Write the part of the report on equation (7): is n large enough for Theorem 1?"""

from collections.abc import Sequence
from typing import Any

from laboratory.theory.convergence import Study
from laboratory.theory.line_figures import Line, LinePanel
from laboratory.theory.section import name_of, section


def equation_7_section(studies: Sequence[Study]) -> dict[str, Any]:
    return section(
        studies,
        title="Equation (7): is the approximation close enough?",
        text=_text(studies),
        head=["problem", "n", "τ", "smallest ε promised", "f(w_t) - f(w*) at the end", "tags right, %"],
        rows=_rows,
        panel=_panel,
        caption="The left side of equation (7) along SAPO's way",
    )


def _panel(study: Study) -> LinePanel:
    lines = [
        Line(name_of(trajectory), trajectory.t, trajectory.error, at, at)
        for at, trajectory in enumerate(study.trajectories)
    ]
    return LinePanel(study.plan.title, "updates t", "left side of (7)", lines, log_x=True)


def _rows(study: Study) -> list[list[str]]:
    rows = []
    for trajectory in study.trajectories:
        constants = study.constants(trajectory)
        numbers = (constants.tau, constants.smallest_epsilon, trajectory.excess[-1])
        rows.append(
            [
                study.plan.title,
                name_of(trajectory)[4:],
                *(f"{one:.3g}" for one in numbers),
                f"{100 * trajectory.accuracy:.1f}",
            ]
        )
    return [*rows, [study.plan.title, "w*", "", "", "0", f"{100 * study.accuracy:.1f}"]]


def _text(studies: Sequence[Study]) -> str:
    plan, norm = studies[0].plan, max(study.optimum.gradient_norm for study in studies)
    return (
        "Theorem 1 asks that [∇f(w) - s(w)]ᵀ(w - w*) is at most τ at all w on SAPO's way, with τ at most cε / 2q. "
        f"Measured on the first {plan.sentences} sentences of the bundled sample (chunks; parts of speech of three "
        "tokens as features), whole or cut short, with strong and weak regularizers λ; SAPO begins at w = 0 and has a "
        f"fixed rate, seed 0. w* was found by L-BFGS down to a gradient norm of {norm:.0e}. The theorem compares ∇f(w) "
        "with s(w) = E_z[s_z(w)]; since f is a sum over the training set, that fits only f / |S|, the mean, which is "
        "meant by f here.\n\n" + "\n\n".join(map(_verdict, studies))
    )


def _verdict(study: Study) -> str:
    searched, gradient = study.trajectories[:-1], study.trajectories[-1]
    short = [
        trajectory for trajectory in searched if study.constants(trajectory).smallest_epsilon > trajectory.excess[0]
    ]
    reached = ", ".join(f"{trajectory.excess[-1]:.3g} (n = {trajectory.n})" for trajectory in searched)
    promised = (
        f"for {len(short)} of the {len(searched)} n the smallest ε that the theorem can promise is larger than the "
        "distance at which SAPO begins, so nothing is promised"
        if short
        else "for every n the theorem promises something"
    )
    norms = ", ".join(
        f"{trajectory.update[1]:.2g} and {trajectory.gradient[1]:.2g} (n = {trajectory.n})" for trajectory in searched
    )
    tags = ", ".join(f"{100 * trajectory.accuracy:.1f} % (n = {trajectory.n})" for trajectory in searched)
    rests = (
        ": SAPO's own update is small where the gradient is not"
        if all(trajectory.update[1] < trajectory.gradient[1] / 2 for trajectory in searched)
        else ""
    )
    return (
        f"{study.plan.title.capitalize()} (rate {study.plan.rate:g}, {study.plan.updates:,} updates): f(0) is "
        f"{gradient.excess[0]:.3g} above f(w*). SAPO ends {reached} above it, the stochastic gradient "
        f"{gradient.excess[-1]:.2g}; {promised}. At w = 0 ‖∇f(w)‖ is {gradient.gradient[0]:.2g}; at the end ‖s(w)‖ and "
        f"‖∇f(w)‖ are {norms}{rests}. Of the training tokens w* tags {100 * study.accuracy:.1f} % right, SAPO {tags}."
    )
