"""Who does what next, and what a person sees of it."""

from pathlib import Path
from typing import Any

import pytest

from laboratory.display import Estimate, Lines
from laboratory.runfiles import write_lines
from laboratory.schedule import Job, Run, Schedule
from laboratory.setup import Setup
from laboratory.summary import summary_table
from laboratory.tasks import TASKS
from laboratory.tuning import Trial, Tuning


@pytest.fixture
def schedule(setup: Setup) -> Schedule:
    """Two tasks of two systems; one needs a strength, one does not."""
    runs = [Job(task, "t", Run(system, 0)) for task in ("chunking", "pos-wsj") for system in ("SAPO", "Perc-Avg")]
    return Schedule(runs, {name: Tuning(TASKS[name], setup) for name in TASKS}, TASKS)


def take_all(schedule: Schedule, loaded: tuple[str, str] | None) -> list[Job]:
    taken = []
    while (job := schedule.take(loaded)) is not None:
        taken.append(job)
    return taken


def test_a_run_that_needs_a_strength_waits_for_it(schedule: Schedule) -> None:
    taken = take_all(schedule, ("chunking", "t"))
    assert [job.what for job in taken if isinstance(job.what, Run)] == [Run("Perc-Avg", 0)]
    assert len(taken) == 21
    tuning = schedule.tunings["chunking"]
    for job in taken:
        if isinstance(job.what, Trial):
            tuning.add(job.what, job.what.strength)
    job = schedule.take(("chunking", "t"))
    assert job is not None
    assert job.what == Run("SAPO", 0)
    assert schedule.strength_for(job) == 5.0
    assert schedule.strength_for(taken[-1]) == 0.0


def test_a_worker_stays_with_its_task_and_then_takes_another(schedule: Schedule) -> None:
    assert {job.task for job in take_all(schedule, ("pos-wsj", "t"))} == {"pos-wsj"}
    assert any(job.task == "pos-wsj" for job in schedule.waiting), "its run waits for the strength"
    tuning = schedule.tunings["pos-wsj"]
    for trial in tuning.trials():
        tuning.add(trial, 1.0)
    following = take_all(schedule, ("pos-wsj", "t"))
    assert following[0].what == Run("SAPO", 0)
    assert {job.task for job in following[1:]} == {"chunking"}


def test_tuning_is_left_out_where_nobody_needs_it(setup: Setup) -> None:
    runs = [Job("chunking", "t", Run("Perc-Avg", 0))]
    assert Schedule(runs, {"chunking": Tuning(TASKS["chunking"], setup)}, TASKS).waiting == runs


def test_estimates_come_from_the_nearest_kind() -> None:
    estimate = Estimate()
    sapo, crf, tuning = (Job("chunking", "t", what) for what in (Run("SAPO", 0), Run("CRF", 0), Trial(1.0, 0)))
    assert estimate.of(sapo) is None
    estimate.add(tuning, 1.0)
    assert estimate.of(sapo) == 1.0
    estimate.add(crf, 10.0)
    assert estimate.of(sapo) == 10.0
    estimate.add(sapo, 4.0)
    assert estimate.of(Job("chunking", "t", Run("SAPO", 1))) == 4.0
    assert estimate.of(Job("bioner", "t", Run("SAPO", 1))) == 5.0


def test_a_finished_run_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    job = Job("chunking", "t", Run("SAPO", 0))
    display = Lines(done=1, of=3, jobs=1, passes=2, waiting=list)
    display.started(0, job)
    display.passed(0, 2, 93.456)
    assert display.about(display.current[0]) == "chunking SAPO seed 0, pass 2/2: 93.46"
    display.finished(0, job, 93.456)
    assert capsys.readouterr().err == "2/3 runs  chunking SAPO seed 0: 93.46 after the last pass\n"


def test_the_table_has_mean_and_deviation_over_finished_runs(tmp_path: Path) -> None:
    def run(*scores: float, end: bool = True) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = [{"kind": "run"}]
        lines += [{"kind": "pass", "score": score, "seconds": 0.5, "w_complexity": 0.25} for score in scores]
        return [*lines, {"kind": "end"}] if end else lines

    paths = [tmp_path / str(seed) for seed in range(4)]
    write_lines(paths[0], run(90, 94, 93))
    write_lines(paths[1], run(90, 95, 95))
    write_lines(paths[2], run(1, 1, end=False))
    title, head, row, *rest = summary_table("Title", "F1", [("SAPO", paths), ("CRF", paths[2:])]).splitlines()
    assert title == "Title, F1 on the test set"
    assert head.split()[:3] == ["system", "seeds", "best"]
    assert row.split("  ")[0] == "SAPO"
    assert row.split() == ["SAPO", "2", "94.50", "±", "0.71", "(2)", "94.00", "±", "1.41", "0.500", "0.25000"]
    assert rest == []
