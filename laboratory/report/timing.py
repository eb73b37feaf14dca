"""Runs, and runs that were made to be timed, in; the former with the times of the latter out.

Runs that share a machine slow each other down, and not all alike. So times may come from others, made one at a time.
"""

import dataclasses
import statistics
from collections.abc import Iterable

from laboratory.report.run_records import RunRecord


def with_times_of(runs: Iterable[RunRecord], timed: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
    """Every pass takes the median of those of the timed runs of the same system and task, where there are such."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for run in timed:
        seconds.setdefault((run.task, run.system), []).extend(one.seconds for one in run.passes)
    return tuple(
        dataclasses.replace(
            run,
            passes=tuple(
                dataclasses.replace(one, seconds=statistics.median(seconds.get((run.task, run.system), [one.seconds])))
                for one in run.passes
            ),
        )
        for run in runs
    )
