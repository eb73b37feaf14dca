"""Show how far the experiments are: a live display in a terminal, plain lines elsewhere."""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from laboratory.schedule import Job, Run

QUIET_SECONDS = 10.0  # between two lines about passes


@dataclass(slots=True)
class Current:
    job: Job
    begun: float
    epoch: int = 0
    score: float | None = None


class Estimate:
    """Estimates how long a job takes: from finished ones of the same kind, else of the same task, else all."""

    def __init__(self) -> None:
        self.seconds: list[tuple[Job, float]] = []

    def add(self, job: Job, seconds: float) -> None:
        self.seconds.append((job, seconds))

    def of(self, job: Job) -> float | None:
        same: Sequence[Callable[[Job], bool]] = (
            lambda other: other.task == job.task and _kind(other) == _kind(job),
            lambda other: other.task == job.task and type(other.what) is type(job.what),
            lambda other: other.task == job.task,
            lambda other: True,
        )
        for alike in same:
            found = [seconds for other, seconds in self.seconds if alike(other)]
            if found:
                return statistics.fmean(found)
        return None


def _kind(job: Job) -> str:
    return job.what.system if isinstance(job.what, Run) else "tuning"


class Lines:
    """Prints a line for each run, and now and then one for those under way. `waiting` returns the jobs not begun."""

    def __init__(self, *, done: int, of: int, jobs: int, passes: int, waiting: Callable[[], Sequence[Job]]) -> None:
        self.done, self.of, self.jobs, self.passes, self.waiting = done, of, jobs, passes, waiting
        self.current: dict[int, Current] = {}
        self.estimate = Estimate()
        self.spoke = time.monotonic()

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def say(self, message: str) -> None:
        self.spoke = time.monotonic()
        print(message, file=sys.stderr, flush=True)

    def started(self, worker: int, job: Job) -> None:
        self.current[worker] = Current(job, time.monotonic())

    def passed(self, worker: int, epoch: int, score: float) -> None:
        current = self.current[worker]
        current.epoch, current.score = epoch, score

    def finished(self, worker: int, job: Job, score: float) -> None:
        self.estimate.add(job, time.monotonic() - self.current.pop(worker).begun)
        if isinstance(job.what, Run):
            self.done += 1
            self.say(f"{self.count()}  {job.title}: {score:.2f} after the last pass{self.left()}")

    def refresh(self) -> None:
        if time.monotonic() - self.spoke > QUIET_SECONDS:
            under_way = "; ".join(self.about(current) for current in self.current.values())
            self.say(f"{self.count()}  now {under_way}{self.left()}")

    def count(self) -> str:
        return f"{self.done}/{self.of} runs"

    def about(self, current: Current) -> str:
        if current.score is None:
            return current.job.title
        return f"{current.job.title}, pass {current.epoch}/{self.passes}: {current.score:.2f}"

    def left(self) -> str:
        """Return the time left, as far as it is known."""
        total = 0.0
        now = time.monotonic()
        for job in self.waiting():
            total += self.estimate.of(job) or 0.0
        for current in self.current.values():
            total += max(0.0, (self.estimate.of(current.job) or 0.0) - (now - current.begun))
        return f", {duration(total / self.jobs)} left" if self.estimate.seconds and total else ""


class Live(Lines):
    """Finished runs as lines, and below them a bar for all and a line for each run under way."""

    def __init__(self, *, done: int, of: int, jobs: int, passes: int, waiting: Callable[[], Sequence[Job]]) -> None:
        super().__init__(done=done, of=of, jobs=jobs, passes=passes, waiting=waiting)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = Console(stderr=True, highlight=False)
        self.bars = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), console=self.console, transient=True
        )
        self.whole = self.bars.add_task(self.count(), total=of, completed=done)
        self.rows = [self.bars.add_task("", total=passes, visible=False) for _ in range(jobs)]

    @contextmanager
    def running(self) -> Iterator[None]:
        with self.bars:
            yield

    def say(self, message: str) -> None:
        self.console.print(message, markup=False, soft_wrap=True)

    def refresh(self) -> None:
        self.bars.update(self.whole, description=f"{self.count()}{self.left()}", completed=self.done)
        for number, row in enumerate(self.rows):
            current = self.current.get(number)
            if current is None:
                self.bars.update(row, visible=False)
            else:
                self.bars.update(row, description=self.about(current), completed=current.epoch, visible=True)


def duration(seconds: float) -> str:
    """
    >>> duration(42), duration(170), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def make_display(
    *, done: int, of: int, jobs: int, passes: int, waiting: Callable[[], Sequence[Job]], live: bool
) -> Lines:
    return (Live if live else Lines)(done=done, of=of, jobs=jobs, passes=passes, waiting=waiting)
