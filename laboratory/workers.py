"""A schedule in, files of runs out, made by several processes."""

import dataclasses
import itertools
import multiprocessing
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from laboratory.display import Lines
from laboratory.encoded import TaskData, held_out, load_task
from laboratory.runs import make_run
from laboratory.schedule import Job, Run, Schedule
from laboratory.setup import Setup
from laboratory.systems import SYSTEMS, System
from laboratory.tasks import TASKS, Task
from laboratory.tuning import LEARNER, try_strength
from sapo.corpus import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.neural.options import LAYERS
from sapo.training.plan import make_settings
from sapo.training.run import read_data, train_on, with_start_rate

REFRESH = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Passed:
    epoch: int
    score: float


@dataclass(frozen=True, slots=True)
class Finished:
    score: float


@dataclass(frozen=True, slots=True)
class Failed:
    message: str


Event = Passed | Finished | Failed


class Bench:
    """Does one job after the other, and keeps the data of the last one."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.loaded: tuple[Task, str] | None = None
        self.data: TaskData | None = None

    def do(self, job: Job, strength: float, tell: Callable[[Event], None]) -> None:
        task = TASKS[job.task]
        data = self._load(task, job.template)
        last = 0.0

        def watch(epoch: int, score: float) -> None:
            nonlocal last
            last = score
            tell(Passed(epoch, score))

        if isinstance(job.what, Run):
            system = SYSTEMS[job.what.system]
            make_run(task, system, job.what.seed, self.setup, data, strength=strength, watch=watch)
        else:
            last = try_strength(task, self.setup, data, job.what)
        tell(Finished(last))

    def _load(self, task: Task, template: str) -> TaskData:
        if self.loaded != (task, template) or self.data is None:
            self.data = None  # make room before the next data comes
            self.data = load_task(task, self.setup, template)
            self.loaded = task, template
        return self.data


def serve(connection: Connection, setup: Setup) -> None:
    """The life of a worker process: jobs come in, events go out, None is the end."""
    bench = Bench(setup)
    try:
        while (message := connection.recv()) is not None:
            job, strength = message
            try:
                bench.do(job, strength, connection.send)
            except SapoError as error:
                connection.send(Failed(f"{job.title}: {error}"))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is gone


@dataclass(slots=True)
class Worker:
    number: int
    process: BaseProcess
    connection: Connection
    job: Job | None = None
    loaded: tuple[str, str] | None = None


def work_off(schedule: Schedule, setup: Setup, *, jobs: int, display: Lines) -> None:
    """Do all jobs of the schedule. Whatever happens, no process is left behind."""
    workers: list[Worker] = []
    try:
        for number in range(min(jobs, len(schedule.waiting))):
            workers.append(_start(number, setup))
        _hand_out(schedule, workers, display)
        while busy := [worker for worker in workers if worker.job is not None]:
            heard = wait([worker.connection for worker in busy], REFRESH)
            for worker in busy:
                if worker.connection in heard:
                    _hear(worker, schedule, display)
            _hand_out(schedule, workers, display)
            display.refresh()
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join()
            worker.connection.close()


def compile_first(systems: list[System]) -> None:
    """Compile what the systems need, once, before several processes would do it at the same time."""
    # the same way as the tasks: from a file over sentences to integers
    sample = list(itertools.islice(read(sample_path("train"), columns=COLUMNS, label="chunk"), 100))
    prepared = read_data(sample, template="chunking", keep_texts=True)
    prepared = dataclasses.replace(prepared, dev=held_out(prepared, sample[:10]))
    with_start_rate(prepared, make_settings({}), LEARNER)
    wanted = {(system.learner, str(system.settings.get("search", "topn"))) for system in systems}
    for learner, search in sorted(wanted | {(LEARNER, "topn"), ("sapo", "topn")}):
        # the held-out sentences have no text here, and tagging them compiles the same for all learners
        data = dataclasses.replace(prepared, dev=None) if learner in LAYERS else prepared
        outcome = train_on(data, make_settings({"epochs": 1, "search": search}), learner=learner)
        if outcome.stop.interrupted:
            raise KeyboardInterrupt


def _start(number: int, setup: Setup) -> Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, setup), daemon=True)
    # Ctrl-C reaches every process of a terminal; workers inherit that they do not hear it, and the parent ends them
    main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main_thread else None
    try:
        process.start()
    finally:
        if main_thread:
            signal.signal(signal.SIGINT, before)
    theirs.close()
    return Worker(number, process, ours)


def _hand_out(schedule: Schedule, workers: list[Worker], display: Lines) -> None:
    for worker in workers:
        if worker.job is None:
            job = schedule.take(worker.loaded)
            if job is not None:
                worker.connection.send((job, schedule.strength_for(job)))
                worker.job, worker.loaded = job, (job.task, job.template)
                display.started(worker.number, job)


def _hear(worker: Worker, schedule: Schedule, display: Lines) -> None:
    job = worker.job
    assert job is not None
    try:
        event: Event = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        raise SapoError(
            f"{job.title}: the process ended unexpectedly (exit code {worker.process.exitcode}); "
            "where memory is short, try --jobs 1"
        ) from None
    if isinstance(event, Failed):
        raise SapoError(event.message)
    if isinstance(event, Passed):
        display.passed(worker.number, event.epoch, event.score)
        return
    worker.job = None
    display.finished(worker.number, job, event.score)
    if not isinstance(job.what, Run):
        tuning = schedule.tunings[job.task]
        tuning.add(job.what, event.score)
        if tuning.strength is not None:
            display.say(f"{job.task}: strength {tuning.strength:g} by {tuning.how}")
