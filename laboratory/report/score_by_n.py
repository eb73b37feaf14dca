"""The figure of the score against n."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from laboratory.report.results import Mean, TaskResults
from laboratory.report.styles import line_look
from laboratory.report.system_names import BY_N, SAPO
from sapo.cli.plots import Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def score_by_n(tasks: Sequence[TaskResults]) -> Picture | None:
    """Return the figure, with a panel for each task on which at least two n were run."""
    panels = []
    for task in tasks:
        scores = {n: task.groups[system].last() for n, system in BY_N.items() if system in task.groups}
        if len(scores) > 1:
            panels.append(Panel(task.name, partial(_draw, scores=scores, metric=task.metric)))
    if not panels:
        return None
    return Picture(
        "fig6-score-by-n",
        "Score against n",
        "SAPO's score on the test set after the last pass by the number of taggings it searches; n = 5 is the default. "
        "Means over seeds, with one deviation to either side.",
        tuple(panels),
        columns=3,
    )


def _draw(axes: "Axes", scores: dict[int, Mean], metric: str) -> None:
    axes.errorbar(
        list(scores),
        [one.mean for one in scores.values()],
        yerr=[one.deviation or 0.0 for one in scores.values()],
        capsize=3,
        elinewidth=1.0,
        **line_look(SAPO),
    )
    axes.set_xscale("log")
    axes.set_xticks(list(scores), [str(n) for n in scores])
    axes.minorticks_off()
    axes.set_xlabel("n, taggings searched")
    axes.set_ylabel(metric)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.margins(0.08, 0.15)
