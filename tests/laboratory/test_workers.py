"""What happens where a job fails."""

import dataclasses
import multiprocessing
from pathlib import Path

import pytest

from laboratory.display import Lines
from laboratory.schedule import Job, Run, Schedule
from laboratory.setup import Setup
from laboratory.tasks import TASKS
from laboratory.workers import work_off
from sapo.errors import SapoError


def test_a_job_that_fails_is_named_with_the_reason_and_leaves_no_process(setup: Setup, tmp_path: Path) -> None:
    setup = dataclasses.replace(setup, data=tmp_path)  # without corpora
    schedule = Schedule([Job("chunking", "chunking", Run("Perc-Avg", 0))], {}, TASKS)
    display = Lines(done=0, of=1, jobs=1, passes=2, waiting=lambda: schedule.waiting)
    with pytest.raises(SapoError, match=r"^chunking Perc-Avg seed 0: .*train\.txt\.gz: no such file"):
        work_off(schedule, setup, jobs=1, display=display)
    assert multiprocessing.active_children() == []
