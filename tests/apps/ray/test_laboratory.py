"""The jobs of the laboratory as tasks of Ray."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from laboratory.display import Lines
from laboratory.processes import processes
from laboratory.schedule import Job, Run, Schedule
from laboratory.setup import Setup
from laboratory.tasks import TASKS
from laboratory.workers import work_off
from sapo.errors import SapoError


def test_a_job_on_a_cluster_fails_with_the_words_of_one_here(ray_cluster: Any, tmp_path: Path) -> None:
    setup = Setup(data=tmp_path, runs=tmp_path / "runs", passes=1, tuning_passes=1, small=True)
    schedule = Schedule([Job("chunking", "chunking", Run("Perc-Avg", 0))], {}, TASKS)
    display = Lines(done=0, of=1, jobs=1, passes=2, waiting=lambda: schedule.waiting)
    with pytest.raises(SapoError, match=r"^chunking Perc-Avg seed 0: .*train\.txt\.gz: no such file"):
        work_off(schedule, setup, jobs=1, display=display, ray="local")


def test_a_run_on_a_cluster_writes_its_file(ray_cluster: Any, corpora: Path, tmp_path: Path) -> None:
    setup = Setup(data=corpora, runs=tmp_path / "runs", passes=1, tuning_passes=1, small=True)
    schedule = Schedule([Job("chunking", "chunking", Run("Perc-Avg", 0))], {}, TASKS)
    display = Lines(done=0, of=1, jobs=1, passes=1, waiting=lambda: schedule.waiting)
    work_off(schedule, dataclasses.replace(setup), jobs=1, display=display, ray="local")
    assert display.done == 1
    assert [path.name for path in setup.directory(TASKS["chunking"]).glob("*.jsonl")] == ["perc-avg-seed0.jsonl"]


def test_a_process_of_ray_does_what_it_is_asked(ray_cluster: Any) -> None:
    with processes("local") as start:
        process = start()
        assert process.submit(divmod, 7, 2).result(60) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            process.submit(divmod, 7, 0).result(60)
        process.shutdown()
