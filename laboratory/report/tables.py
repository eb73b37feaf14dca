"""The tables of the report, and every number in them."""

from typing import Any

from laboratory.report.blocks import Table
from laboratory.report.feature_counts import PAPER_SENTENCES, reason
from laboratory.report.findings import Significances, say_mean, say_points
from laboratory.report.results import Mean, SystemResults, TaskResults
from laboratory.report.run_records import RunRecord, TuningRecord

NONE = "–"  # noqa: RUF001


def score_table(task: TaskResults) -> Table:
    """Return the table of systems with their scores, times and weights."""
    head = ("system", f"best {task.metric}", "in pass", f"last {task.metric}", "s a pass", "w-complexity", "seeds")
    return Table(head, tuple(_score_row(system, group) for system, group in task.groups.items()))


def _score_row(system: str, group: SystemResults) -> tuple[str, ...]:
    seeds, weights = len(group.runs), group.w_complexity()
    return (
        system,
        say_mean(group.best()),
        str(group.best_pass()),
        say_mean(group.last()),
        _significant(group.seconds()),
        NONE if weights is None else _significant(weights),
        str(seeds),
    )


def _significant(value: Mean) -> str:
    """Write three significant digits, and the deviation with as many decimals."""
    shown = f"{value.mean:#.3g}".rstrip(".")
    if value.deviation is None:
        return shown
    if "e" in shown:
        return f"{shown} ± {value.deviation:.1e}"
    places = len(shown.partition(".")[2])
    return f"{shown} ± {value.deviation:.{places}f}"


def significance_table(task: TaskResults, significances: Significances) -> Table:
    head = ("system", f"SAPO's {task.metric} less its", "p, t-test", "p, randomization")
    return Table(
        head,
        tuple(
            (system, say_points(one.difference), _p(one.t_p), _p(one.randomization_p))
            for system, one in significances.items()
        ),
    )


def _p(p: float | None) -> str:
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def data_table(tasks: list[TaskResults]) -> Table:
    head = ("task", "train sentences", "in the paper", "tokens", "test sentences", "tokens", "labels", "passes")
    rows = []
    for task in tasks:
        run = task.any_run
        theirs = PAPER_SENTENCES.get(task.name)
        counts = (run.train_tokens, run.test_sentences, run.test_tokens, run.labels)
        passes = sorted({len(run.passes) for group in task.groups.values() for run in group.runs})
        made = str(passes[0]) if len(passes) == 1 else f"{passes[0]} to {passes[-1]}"
        in_paper = NONE if theirs is None else f"{theirs:,}"
        rows.append((task.title, f"{run.train_sentences:,}", in_paper, *(f"{count:,}" for count in counts), made))
    return Table(head, tuple(rows), wrapped=(0,))


def feature_table(tasks: list[TaskResults]) -> Table:
    """Return our numbers of raw features beside the paper's: one row for each template and count of a task."""
    rows = []
    for task in tasks:
        for run in one_of_each_template(task):
            theirs = NONE if run.paper_features is None else f"{run.paper_features:,}"
            rows.append((task.name, run.template, reason(run), f"{run.features:,}", theirs))
    return Table(("task", "template", "why they differ", "ours", "paper's"), tuple(rows), words=3, wrapped=(2,))


def one_of_each_template(task: TaskResults) -> list[RunRecord]:
    runs = (run for group in task.groups.values() for run in group.runs)
    return list({(run.template, run.features, run.paper_features): run for run in runs}.values())


def tuning_table(tuning: TuningRecord) -> Table:
    rows = tuple(
        (f"{strength:g}" + (" (chosen)" if strength == tuning.strength else ""), f"{score:.2f}")
        for strength, score in tuning.scores.items()
    )
    return Table(("strength", "mean score"), rows)


def task_numbers(task: TaskResults, significances: Significances) -> dict[str, Any]:
    """Return all numbers of a task's tables, unrounded."""
    return {
        "title": task.title,
        "metric": task.metric,
        "features": [
            {"template": run.template, "ours": run.features, "paper": run.paper_features, "why": reason(run)}
            for run in one_of_each_template(task)
        ],
        "systems": {system: _group_numbers(group) for system, group in task.groups.items()},
        "significance": {
            system: {"difference": one.difference, "t_p": one.t_p, "randomization_p": one.randomization_p}
            for system, one in significances.items()
        },
    }


def _group_numbers(group: SystemResults) -> dict[str, Any]:
    return {
        "seeds": [run.seed for run in group.runs],
        "passes": [len(run.passes) for run in group.runs],
        "best": _both(group.best()),
        "best_pass": group.best_pass(),
        "last": _both(group.last()),
        "best_less_last": _both(group.fall()),
        "spread_of_last_passes": _both(group.spread()),
        "seconds_a_pass": _both(group.seconds()),
        "w_complexity": _both(group.w_complexity()),
        "w_growth": _both(group.w_growth()),
    }


def _both(value: Mean | None) -> dict[str, float | None] | None:
    return None if value is None else {"mean": value.mean, "deviation": value.deviation}
