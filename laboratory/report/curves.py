"""Figures of a value by pass: the paper's figures 1, 2 and 3."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from laboratory.report.results import Curve, SystemResults, TaskResults
from laboratory.report.styles import legend_order, line_look, mark_every, style_of, whole_numbers
from laboratory.report.system_names import CRF, N_BEST, NEURAL, ONE_BEST, ONE_BY_ONE, SAPO
from sapo.cli.plots import Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Measure = Callable[[SystemResults], Curve | None]
_BAND = "Lines are means over seeds, bands one deviation to either side."
_CUT = "The first passes may begin below the frame, so that the later ones can be distinguished."


def against_probabilistic(tasks: Sequence[TaskResults]) -> Picture | None:
    """Return figure 1."""
    return _by_pass(
        "fig1-score-sapo-crf",
        "Score by pass: SAPO, CRF and neural systems",
        "The paper's figure 1: score on the test set after each pass. Networks learn from a batch of sentences a step, "
        f"in the panels of their own (-b1) from one sentence, as in the paper. {_BAND} {_CUT}",
        tasks,
        rows=[("", (SAPO, CRF, *NEURAL)), ("one sentence a step", (SAPO, *ONE_BY_ONE))],
        measure=SystemResults.scores,
        ylabel=None,
        columns=3,
    )


def against_search_based(tasks: Sequence[TaskResults]) -> Picture | None:
    """Return figure 2."""
    return _by_pass(
        "fig2-score-search-based",
        "Score by pass: SAPO, perceptrons and MIRAs",
        "The paper's figure 2: score on the test set after each pass; for each task the systems that search one "
        f"tagging, then those that search n. {_BAND} {_CUT}",
        tasks,
        rows=[("1-best", (SAPO, *ONE_BEST)), ("n-best", (SAPO, *N_BEST))],
        measure=SystemResults.scores,
        ylabel=None,
        columns=2,
    )


def weights_by_pass(tasks: Sequence[TaskResults]) -> Picture | None:
    """Return figure 3."""
    return _by_pass(
        "fig3-w-complexity",
        "w-complexity by pass: SAPO, perceptrons and MIRAs",
        "The paper's figure 3: the mean absolute weight after each pass. Averaging does not change the weights that "
        f"are trained, so that an averaged system may lie on its naive one. {_BAND}",
        tasks,
        rows=[("1-best", (SAPO, *ONE_BEST)), ("n-best", (SAPO, *N_BEST))],
        measure=SystemResults.w_complexities,
        ylabel="mean |w|",
        columns=2,
    )


def _by_pass(
    name: str,
    title: str,
    caption: str,
    tasks: Sequence[TaskResults],
    *,
    rows: list[tuple[str, tuple[str, ...]]],
    measure: Measure,
    ylabel: str | None,
    columns: int,
) -> Picture | None:
    """One panel for each task and row of systems; nothing where SAPO would stand alone in all of them."""
    panels, present = [], set()
    for task in tasks:
        for kind, systems in rows:
            curves = {
                system: curve
                for system in systems
                if system in task.groups and (curve := measure(task.groups[system])) is not None
            }
            if set(curves) - {SAPO}:
                present |= set(curves)
                shown = f"{task.name}, {kind}" if kind else task.name
                draw = partial(draw_curves, curves=curves, ylabel=ylabel or task.metric, from_zero=ylabel is not None)
                panels.append(Panel(shown, draw))
    if not panels:
        return None
    order = tuple(dict.fromkeys(system for _, systems in rows for system in systems))
    return Picture(name, title, caption, tuple(panels), columns, legend_order(order, present))


def _frame(curves: dict[str, Curve]) -> tuple[float, float]:
    """Return the limits of the axis: some room around all passes but the first quarter, which climb steeply."""
    low = min(min(curve.low[len(curve.low) // 4 :]) for curve in curves.values())
    high = max(max(curve.high) for curve in curves.values())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def draw_curves(axes: "Axes", curves: dict[str, Curve], ylabel: str, from_zero: bool) -> None:
    """Draw the curve of each system, with a band of one deviation."""
    for system, curve in curves.items():
        first = system == SAPO
        axes.plot(
            curve.epochs,
            curve.mean,
            zorder=4 if first else 3,
            markevery=mark_every(len(curve.epochs)),
            **line_look(system),
        )
        if curve.low != curve.high:
            axes.fill_between(curve.epochs, curve.low, curve.high, color=style_of(system).color, alpha=0.15, lw=0)
    axes.set_xlabel("pass")
    axes.set_ylabel(ylabel)
    axes.ticklabel_format(axis="y", useOffset=False)
    if from_zero:
        axes.set_ylim(bottom=0)
    else:
        axes.set_ylim(*_frame(curves))
    whole_numbers(axes)
