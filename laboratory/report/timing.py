"""Give runs the times of other runs, which were made to be timed.

Runs that share a machine slow each other down, and not all alike. So times may come from runs made one at a time.
"""

import dataclasses
import statistics
from collections.abc import Iterable

from laboratory.report.run_records import RunRecord


def with_times_of(runs: Iterable[RunRecord], timed: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
    """Set the time of each pass to the median of the timed runs of the same system and task, if there are any."""
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
