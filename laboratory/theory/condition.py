"""SAPO's ways in, the part of the report on equation (7) out: whether n is large enough for Theorem 1."""

from collections.abc import Sequence
from typing import Any

from laboratory.theory.convergence import Journey
from laboratory.theory.section import name_of, section
from laboratory.theory.svg import Line, Panel


def condition(journeys: Sequence[Journey]) -> dict[str, Any]:
    return section(
        journeys,
        title="Equation (7): is the approximation close enough?",
        text=_text(journeys),
        head=["problem", "n", "τ", "smallest ε promised", "f(w_t) - f(w*) at the end", "tags right, %"],
        rows=_rows,
        panel=_panel,
        caption="The left side of equation (7) along SAPO's way",
    )


def _panel(journey: Journey) -> Panel:
    lines = [Line(name_of(way), way.t, way.error, at, at) for at, way in enumerate(journey.ways)]
    return Panel(journey.plan.title, "updates t", "left side of (7)", lines, log_x=True)


def _rows(journey: Journey) -> list[list[str]]:
    rows = []
    for way in journey.ways:
        constants = journey.constants(way)
        numbers = (constants.tau, constants.smallest_epsilon, way.excess[-1])
        rows.append(
            [journey.plan.title, name_of(way)[4:], *(f"{one:.3g}" for one in numbers), f"{100 * way.accuracy:.1f}"]
        )
    return [*rows, [journey.plan.title, "w*", "", "", "0", f"{100 * journey.accuracy:.1f}"]]


def _text(journeys: Sequence[Journey]) -> str:
    plan, norm = journeys[0].plan, max(journey.optimum.gradient_norm for journey in journeys)
    return (
        "Theorem 1 asks that [∇f(w) - s(w)]ᵀ(w - w*) is at most τ at all w on SAPO's way, with τ at most cε / 2q. "
        f"Measured on the first {plan.sentences} sentences of the bundled sample (chunks; parts of speech of three "
        "tokens as features), whole or cut short, with strong and weak regularisers λ; SAPO begins at w = 0 and has a "
        f"fixed rate, seed 0. w* was found by L-BFGS down to a gradient norm of {norm:.0e}. The theorem compares ∇f(w) "
        "with s(w) = E_z[s_z(w)]; since f is a sum over the training set, that fits only f / |S|, the mean, which is "
        "meant by f here.\n\n" + "\n\n".join(map(_verdict, journeys))
    )


def _verdict(journey: Journey) -> str:
    searched, gradient = journey.ways[:-1], journey.ways[-1]
    short = [way for way in searched if journey.constants(way).smallest_epsilon > way.excess[0]]
    reached = ", ".join(f"{way.excess[-1]:.3g} (n = {way.n})" for way in searched)
    promised = (
        f"for {len(short)} of the {len(searched)} n the smallest ε that the theorem can promise is larger than the "
        "distance at which SAPO begins, so nothing is promised"
        if short
        else "for every n the theorem promises something"
    )
    norms = ", ".join(f"{way.update[1]:.2g} and {way.gradient[1]:.2g} (n = {way.n})" for way in searched)
    tags = ", ".join(f"{100 * way.accuracy:.1f} % (n = {way.n})" for way in searched)
    rests = (
        ": SAPO's own update is small where the gradient is not"
        if all(way.update[1] < way.gradient[1] / 2 for way in searched)
        else ""
    )
    return (
        f"{journey.plan.title.capitalize()} (rate {journey.plan.rate:g}, {journey.plan.updates:,} updates): f(0) is "
        f"{gradient.excess[0]:.3g} above f(w*). SAPO ends {reached} above it, the stochastic gradient "
        f"{gradient.excess[-1]:.2g}; {promised}. At w = 0 ‖∇f(w)‖ is {gradient.gradient[0]:.2g}; at the end ‖s(w)‖ and "
        f"‖∇f(w)‖ are {norms}{rests}. Of the training tokens w* tags {100 * journey.accuracy:.1f} % right, SAPO {tags}."
    )
