"""SAPO's ways in, the part of the report on equation (7) out: whether n is large enough for Theorem 1."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from sapo.experiments.theory.convergence import Journey, Way
from sapo.experiments.theory.svg import Line, Panel, figure


def name_of(way: Way) -> str:
    return f"n = {way.n}" if way.n else "n = all"


def condition(journeys: Sequence[Journey]) -> dict[str, Any]:
    return {
        "title": "Equation (7): is the approximation close enough?",
        "text": _text(journeys),
        "table": {
            "head": ["problem", "n", "τ", "smallest ε promised", "f(w_t) - f(w*) at the end", "tags right, %"],
            "words": 1,
            "rows": [row for journey in journeys for row in _rows(journey)],
        },
        "figure": figure(
            [
                Panel(
                    journey.plan.title,
                    "updates t",
                    "left side of (7)",
                    [Line(name_of(way), way.t, way.error, at, at) for at, way in enumerate(journey.ways)],
                    log_x=True,
                )
                for journey in journeys
            ],
            "The left side of equation (7) along SAPO's way",
        ),
        "journeys": [dump(journey) for journey in journeys],
    }


def dump(journey: Journey) -> dict[str, Any]:
    """All numbers of a journey but the weights."""
    return {
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
        f"tokens as features; λ = {plan.strength:g}, fixed rate {plan.rate:g}, {plan.updates:,} updates from w = 0, "
        f"seed 0), whole and cut short; w* was found by L-BFGS down to a gradient norm of {norm:.0e}. The theorem "
        "compares ∇f(w) with s(w) = E_z[s_z(w)]; since f is a sum over the training set, that fits only f / |S|, the "
        "mean, which is meant by f here.\n\n" + "\n\n".join([*map(_verdict, journeys), *_tags(journeys)])
    )


def _tags(journeys: Sequence[Journey]) -> list[str]:
    if any(way.accuracy < journey.accuracy for journey in journeys for way in journey.ways if way.n):
        return []
    told = (
        "λ is large here, so that c is: otherwise the theorem would say still less. w* pays for that by tags that are "
        "wrong in training. SAPO pays less: its probabilities are over few taggings, so that small weights are enough "
        "to be sure, and the regulariser has less to hold down."
    )
    return [told]


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
        ": SAPO comes to rest where its own update is small, and not where the gradient is"
        if all(way.update[1] < way.gradient[1] / 2 for way in searched)
        else ""
    )
    return (
        f"{journey.plan.title.capitalize()}: f(0) is {gradient.excess[0]:.3g} above f(w*). SAPO ends {reached} above "
        f"it, the stochastic gradient {gradient.excess[-1]:.2g}; {promised}. At w = 0 ‖∇f(w)‖ is "
        f"{gradient.gradient[0]:.2g}; at the end ‖s(w)‖ and ‖∇f(w)‖ are {norms}{rests}. Of the training tokens w* tags "
        f"{100 * journey.accuracy:.1f} % right, SAPO {tags}."
    )
