"""Print the results of runs as a table: mean and deviation over seeds."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from laboratory.runfiles import Line, is_finished, read_lines
from sapo.evaluate.scores import text_table

HEAD = ("system", "seeds", "best (pass)", "last", "s a pass", "w-complexity")


def summary_table(title: str, metric: str, systems: Iterable[tuple[str, Sequence[Path]]]) -> str:
    """Return the table of one task. `systems` are names with the files of their runs; unfinished runs are left out."""
    rows: list[tuple[str, ...]] = [HEAD]
    for name, paths in systems:
        runs = [lines for lines in map(read_lines, paths) if is_finished(lines)]
        if runs:
            rows.append(_row(name, [[line for line in lines if line["kind"] == "pass"] for lines in runs]))
    return "\n".join([f"{title}, {metric} on the test set", *text_table(rows)])


def _row(name: str, runs: Sequence[Sequence[Line]]) -> tuple[str, ...]:
    passes = min(len(run) for run in runs)
    # one pass for all seeds: a best pass for each seed would flatter systems that jump up and down
    best = max(range(passes), key=lambda i: statistics.fmean(run[i]["score"] for run in runs))
    seconds = [statistics.median(line["seconds"] for line in run[1:] or run) for run in runs]
    return (
        name,
        str(len(runs)),
        f"{spread([run[best]['score'] for run in runs])} ({best + 1})",
        spread([run[-1]["score"] for run in runs]),
        f"{statistics.fmean(seconds):.3f}",
        f"{statistics.fmean(run[-1]['w_complexity'] for run in runs):.5f}",
    )


def spread(values: Sequence[float]) -> str:
    """
    >>> spread([93.0, 94.0]), spread([93.0])
    ('93.50 ± 0.71', '93.00')
    """
    mean = f"{statistics.fmean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean
