"""All figures that the runs allow."""

from collections.abc import Sequence

from laboratory.report.bars import time_of_neural, time_per_pass
from laboratory.report.curves import against_probabilistic, against_search_based, weights_by_pass
from laboratory.report.results import TaskResults
from laboratory.report.score_by_n import score_by_n
from sapo.cli.plots import Picture

NAMES = (
    "fig1-score-sapo-crf",
    "fig2-score-search-based",
    "fig3-w-complexity",
    "fig4-time",
    "fig5-time-neural",
    "fig6-score-by-n",
)
FILE_NAMES = tuple(f"{name}.{ending}" for name in NAMES for ending in ("svg", "png"))
MAKERS = (
    against_probabilistic,
    against_search_based,
    weights_by_pass,
    time_per_pass,
    time_of_neural,
    score_by_n,
)


def pictures(tasks: Sequence[TaskResults]) -> list[Picture]:
    """Return the figures in the paper's order."""
    return [picture for make in MAKERS if (picture := make(tasks)) is not None]
