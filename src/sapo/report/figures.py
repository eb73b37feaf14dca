"""Tasks in, all figures out that their runs allow."""

from collections.abc import Sequence

from sapo.report.bars import time_of_neural, time_per_pass
from sapo.report.by_n import score_by_n
from sapo.report.curves import against_probabilistic, against_search_based, weights_by_pass
from sapo.report.means import Task
from sapo.report.plotting import Picture

MAKERS = (
    against_probabilistic,
    against_search_based,
    weights_by_pass,
    time_per_pass,
    time_of_neural,
    score_by_n,
)


def pictures(tasks: Sequence[Task]) -> list[Picture]:
    """In the paper's order."""
    return [picture for make in MAKERS if (picture := make(tasks)) is not None]
