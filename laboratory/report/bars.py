"""Figures of the seconds a pass takes: the paper's figures 4 and 5."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from laboratory.report.results import Mean, TaskResults
from laboratory.report.styles import style_of
from laboratory.report.system_names import CRF, NEURAL, ONE_BY_ONE, SAPO, SHORT
from sapo.cli.plots import Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From top to bottom as in the paper's figure.
FIGURE_4 = (*SHORT, CRF, SAPO)
_TIME = "Means over seeds of the median pass, with one deviation to either side where there are several seeds."


def time_per_pass(tasks: Sequence[TaskResults]) -> Picture | None:
    """Return figure 4."""
    return _bars(
        "fig4-time",
        "Time per pass",
        "The paper's figure 4: seconds a pass takes (MIRA-NA: averaged n-best MIRA, MIRA-NN: naive n-best MIRA, "
        f"MIRA-A: averaged MIRA, MIRA-N: naive MIRA, Perc-A: averaged perceptron, Perc-N: naive perceptron). {_TIME}",
        tasks,
        FIGURE_4,
    )


def time_of_neural(tasks: Sequence[TaskResults]) -> Picture | None:
    """Return figure 5 if neural systems were run."""
    return _bars(
        "fig5-time-neural",
        "Time per pass: SAPO and neural systems",
        "The paper's figure 5: seconds a pass takes. Networks learn from a batch of sentences a step, or from one, as "
        f"in the paper (-b1). {_TIME}",
        tasks,
        (*ONE_BY_ONE, *NEURAL, SAPO),
    )


def _bars(name: str, title: str, caption: str, tasks: Sequence[TaskResults], systems: Sequence[str]) -> Picture | None:
    panels, most = [], 0
    for task in tasks:
        seconds = {system: task.groups[system].seconds() for system in systems if system in task.groups}
        if set(seconds) - {SAPO}:
            panels.append(Panel(task.name, partial(_draw_bars, seconds=seconds)))
            most = max(most, len(seconds))
    if not panels:
        return None
    return Picture(name, title, caption, tuple(panels), columns=3, panel_height=0.95 + 0.24 * most)


def _draw_bars(axes: "Axes", seconds: dict[str, Mean]) -> None:
    names = list(seconds)
    for at, system in enumerate(names):
        one, style = seconds[system], style_of(system)
        axes.barh(
            at,
            one.mean,
            height=0.66,
            color="white" if style.hatch else style.color,
            edgecolor=style.color,
            hatch=style.hatch,
            xerr=one.deviation,
            error_kw={"elinewidth": 1.0, "capsize": 2, "ecolor": "#333333"},
        )
        axes.annotate(
            f"{one.mean:.3g}",
            (one.mean + (one.deviation or 0.0), at),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_xlim(0, 1.28 * max(one.mean + (one.deviation or 0.0) for one in seconds.values()) or 1.0)
    axes.set_yticks(range(len(names)), [SHORT.get(system, system) for system in names])
    axes.locator_params(axis="x", nbins=4)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("seconds a pass")
