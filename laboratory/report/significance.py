"""Test whether a system's difference from SAPO could be chance."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from laboratory.report.results import TaskResults
from laboratory.report.run_records import RunRecord
from laboratory.report.system_names import SAPO
from laboratory.report.tags import fit_together, read_tags
from sapo.evaluate import Comparison

SEED = 0
LEVEL = 0.05
Compare = Callable[[list[list[str]], list[list[str]], list[list[str]]], Comparison]  # gold, ours, theirs


@dataclass(frozen=True, slots=True)
class Significance:
    """SAPO against one system on the same sentences, seed 0: SAPO's score less the other's, and two p values."""

    difference: float
    t_p: float | None  # paired t-test on the accuracy of sentences, as in the paper
    randomisation_p: float | None  # approximate randomisation on F1

    def p(self, metric: str) -> float | None:
        """Return the p value that decides: of the test on the task's own metric, if there is one."""
        return self.t_p if metric != "F1" or self.randomisation_p is None else self.randomisation_p


def from_comparison(comparison: Comparison) -> Significance:
    return Significance(
        difference=100 * comparison.difference,
        t_p=_known(comparison.t_test.p),
        randomisation_p=_known(comparison.randomisation.p),
    )


def against_sapo(task: TaskResults, compare: Compare) -> Iterator[tuple[str, Significance]]:
    """Compare each system with SAPO, one after the other; leave out systems without readable tags of seed 0."""
    sapo = _run_of(task, SAPO)
    gold = None if sapo is None else read_tags(sapo.path.with_name("gold.tags"))
    ours = None if sapo is None else read_tags(sapo.tags_path)
    if gold is None or ours is None or not fit_together(gold, ours):
        return
    for system in task.groups:
        run = _run_of(task, system)
        if system == SAPO or run is None:
            continue
        theirs = read_tags(run.tags_path)
        if theirs is not None and fit_together(gold, theirs):
            yield system, from_comparison(compare(gold, ours, theirs))


def _run_of(task: TaskResults, system: str) -> RunRecord | None:
    return next((run for run in task.groups[system].runs if run.seed == SEED), None) if system in task.groups else None


def _known(p: float | None) -> float | None:
    return None if p is None or math.isnan(p) else float(p)
