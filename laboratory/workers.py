"""Do the jobs of a schedule in several processes, each with the data of one task in its memory.

Not by joblib, which would lose three things. With one job at a time it starts no process: Ctrl-C would reach the
training itself, which then ends early and in order, and a run that was cut short would pass for a finished one. It does
not let us choose the process that has a task's data already. And its jobs must be known beforehand, while ours wait for
the strength that others find.
"""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from laboratory.display import Lines
from laboratory.encoded import TaskData, load_task
from laboratory.processes import Process, kill_all, processes
from laboratory.runfiles import Line, read_lines, run_path
from laboratory.runs import make_run
from laboratory.schedule import Job, Run, Schedule
from laboratory.setup import Setup
from laboratory.systems import SYSTEMS
from laboratory.tasks import TASKS, Task
from laboratory.tuning import try_strength
from sapo.errors import SapoError

REFRESH = 0.5  # seconds
_loaded: dict[tuple[Task, str], TaskData] = {}  # of a worker process: at most one


@dataclass(slots=True)
class Worker:
    """A process, and what it is doing."""

    number: int
    process: Process
    job: Job | None = None
    score: "Future[float] | None" = None  # of the job
    loaded: tuple[str, str] | None = None  # the task and the template of the data in its memory


def work_off(schedule: Schedule, setup: Setup, *, jobs: int, display: Lines, ray: str | None = None) -> None:
    """Do all jobs of the schedule, here or on a Ray cluster. Whatever happens, no process is left behind."""
    with ExitStack() as stack:
        start = stack.enter_context(processes(ray))
        workers = [Worker(number, start()) for number in range(min(jobs, len(schedule.waiting)))]
        for worker in workers:
            stack.callback(worker.process.shutdown)
        stack.callback(kill_all)
        _hand_out(schedule, setup, workers, display)
        while busy := [worker.score for worker in workers if worker.score is not None]:
            wait(busy, REFRESH, FIRST_COMPLETED)
            for worker in workers:
                _look_at(worker, schedule, setup, display)
            _hand_out(schedule, setup, workers, display)
            display.refresh()


def do_job(job: Job, setup: Setup, strength: float) -> float:
    """Make a run or try a strength, and return the score of the last pass. A worker process calls it."""
    task = TASKS[job.task]
    data = _load(task, job.template, setup)
    if not isinstance(job.what, Run):
        return try_strength(task, setup, data, job.what)
    path = make_run(task, SYSTEMS[job.what.system], job.what.seed, setup, data, strength=strength)
    return float(_passes(path)[-1]["score"])


def _load(task: Task, template: str, setup: Setup) -> TaskData:
    if (task, template) not in _loaded:
        _loaded.clear()  # make room before the next data comes
        _loaded[task, template] = load_task(task, setup, template)
    return _loaded[task, template]


def _hand_out(schedule: Schedule, setup: Setup, workers: list[Worker], display: Lines) -> None:
    for worker in workers:
        if worker.job is None and (job := schedule.take(worker.loaded)) is not None:
            if (path := _file_of(job, setup)) is not None:
                path.unlink(missing_ok=True)  # passes of an earlier run that was cut off are not those of this one
            with _deaf_to_ctrl_c():
                worker.score = worker.process.submit(do_job, job, setup, schedule.strength_for(job))
            worker.job, worker.loaded = job, (job.task, job.template)
            display.started(worker.number, job)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which reaches all processes of a terminal: it is ours to end them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _look_at(worker: Worker, schedule: Schedule, setup: Setup, display: Lines) -> None:
    """Show how far a worker is; if its job is done, write down what it found, and free the worker."""
    job, score = worker.job, worker.score
    if job is None or score is None:
        return
    path = _file_of(job, setup)
    if path is not None and (passes := _passes(path)):
        display.passed(worker.number, passes[-1]["epoch"], passes[-1]["score"])
    if not score.done():
        return
    try:
        found = score.result()
    except BrokenProcessPool:
        raise SapoError(f"{job.title}: the process ended unexpectedly; where memory is short, try --jobs 1") from None
    except SapoError as error:
        raise SapoError(f"{job.title}: {error}") from None
    worker.job = worker.score = None
    display.finished(worker.number, job, found)
    if not isinstance(job.what, Run):
        tuning = schedule.tunings[job.task]
        tuning.add(job.what, found)
        if tuning.strength is not None:
            display.say(f"{job.task}: strength {tuning.strength:g} by {tuning.how}")


def _file_of(job: Job, setup: Setup) -> Path | None:
    """Return the file of a run, which grows by a line a pass; a trial of tuning has none."""
    if not isinstance(job.what, Run):
        return None
    return run_path(setup.directory(TASKS[job.task]), job.what.system, job.what.seed)


def _passes(path: Path) -> list[Line]:
    return [line for line in read_lines(path) if line["kind"] == "pass"]
