"""Test whether a system's difference from SAPO could be chance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from laboratory.report.results import TaskResults
from laboratory.report.run_records import RunRecord
from laboratory.report.system_names import SAPO
from laboratory.report.tags import fit_together, read_tags
from sapo.evaluate.comparison import compare_taggings

SEED = 0
LEVEL = 0.05
Taggings = list[list[str]]


@dataclass(frozen=True, slots=True)
class Significance:
    """SAPO against one system on the same sentences, seed 0: SAPO's score less the other's, and two p values."""

    difference: float
    t_p: float | None  # paired t-test on the accuracy of sentences, as in the paper
    randomization_p: float | None  # approximate randomization on F1

    def p(self, metric: str) -> float | None:
        """Return the p value that decides: of the test on the task's own metric, if there is one."""
        return self.t_p if metric != "F1" or self.randomization_p is None else self.randomization_p


Compare = Callable[[Taggings, Taggings, Taggings], Significance]  # gold, ours, theirs


def compare_with_tests(gold: Taggings, ours: Taggings, theirs: Taggings) -> Significance:
    """Return the difference of two systems with both p values."""
    comparison = compare_taggings(gold, ours, theirs)
    return Significance(
        difference=100 * comparison.difference,
        t_p=paired_t_p(gold, ours, theirs),
        randomization_p=comparison.randomization.p,
    )


def paired_t_p(gold: Taggings, ours: Taggings, theirs: Taggings) -> float:
    """Return the two-sided p value of the paired t-test on the accuracy of each sentence.

    >>> round(paired_t_p([["X", "Y"], ["X"]], [["X", "Y"], ["X"]], [["X", "X"], ["Y"]]), 4)
    0.2048
    """
    a, b = (
        np.array([np.mean([x == y for x, y in zip(*pair, strict=True)]) for pair in zip(gold, tags, strict=True)])
        for tags in (ours, theirs)
    )
    if np.ptp(a - b) == 0:  # t is 0 / 0, or infinite
        return 0.0 if (a - b).any() else 1.0
    return float(stats.ttest_rel(a, b).pvalue)


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
            yield system, compare(gold, ours, theirs)


def _run_of(task: TaskResults, system: str) -> RunRecord | None:
    return next((run for run in task.groups[system].runs if run.seed == SEED), None) if system in task.groups else None
