"""Choose the next job for a worker.

A task's runs of regularized systems wait for its tuning. A worker stays with a task until nothing of it is left, so
that it encodes every task at most once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from laboratory.systems import SYSTEMS, System
from laboratory.tasks import Task
from laboratory.tuning import Trial, Tuning
from sapo.learn import LEARNERS
from sapo.neural.options import LAYERS


@dataclass(frozen=True, slots=True)
class Run:
    system: str
    seed: int


@dataclass(frozen=True, slots=True)
class Job:
    task: str
    template: str
    what: Run | Trial

    @property
    def title(self) -> str:
        if isinstance(self.what, Run):
            return f"{self.task} {self.what.system} seed {self.what.seed}"
        return f"{self.task} tuning: strength {self.what.strength:g}, fold {self.what.fold}"

    @property
    def needs_strength(self) -> bool:
        if not isinstance(self.what, Run):
            return False
        learner = SYSTEMS[self.what.system].learner
        return learner not in LAYERS and LEARNERS[learner].regularized


def template_of(task: Task, system: System) -> str:
    return task.best_template if system.best_template else task.template


class Schedule:
    """Jobs in the order in which they are wanted."""

    def __init__(self, runs: Iterable[Job], tunings: Mapping[str, Tuning], tasks: Mapping[str, Task]) -> None:
        self.tunings = dict(tunings)
        runs = list(runs)
        self.waiting: list[Job] = []
        for name in dict.fromkeys(job.task for job in runs):
            of_task = [job for job in runs if job.task == name]
            if any(job.needs_strength for job in of_task):
                template = tasks[name].template
                self.waiting += [Job(name, template, trial) for trial in self.tunings[name].trials()]
            self.waiting += of_task

    def take(self, loaded: tuple[str, str] | None) -> Job | None:
        """Return the next job for a worker that has this task and template loaded; None if there is none now."""
        ready = [job for job in self.waiting if self._ready(job)]
        if loaded is not None and any(job.task == loaded[0] for job in self.waiting):
            ready = [job for job in ready if job.task == loaded[0]]
            ready.sort(key=lambda job: job.template != loaded[1])
        if not ready:
            return None
        self.waiting.remove(ready[0])
        return ready[0]

    def strength_for(self, job: Job) -> float:
        return (self.tunings[job.task].strength or 0.0) if job.needs_strength else 0.0

    def _ready(self, job: Job) -> bool:
        return not job.needs_strength or self.tunings[job.task].strength is not None
