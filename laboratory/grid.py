"""The grid of tasks, systems and seeds: what is done, what is left, and the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from laboratory.runfiles import run_path
from laboratory.runs import run_done
from laboratory.schedule import Job, Run, Schedule, template_of
from laboratory.setup import Say, Setup
from laboratory.sources import check_sources
from laboratory.summary import summary_table
from laboratory.systems import System
from laboratory.tasks import Task
from laboratory.tuning import Tuning
from sapo.features.template import template_text
from sapo.neural.options import LAYERS, need_torch


@dataclass(frozen=True, slots=True)
class Grid:
    tasks: Sequence[Task]
    systems: Sequence[System]
    seeds: int
    setup: Setup

    def runs(self) -> Iterator[tuple[Task, System, int]]:
        """Yield all runs; the first seed of every system comes first, so that there is soon something to look at."""
        for task in self.tasks:
            for seed in range(self.seeds):
                for system in self.systems:
                    yield task, system, seed

    def check(self, say: Say = lambda message: None) -> None:
        """Raise SapoError if data is missing; `say` hears what takes long."""
        if any(system.learner in LAYERS for system in self.systems):
            need_torch()
        for task in self.tasks:
            for system in self.systems:
                template_text(template_of(task, system))
            check_sources(task, self.setup, say)

    def forget(self) -> None:
        """Delete the files of all runs, to make them anew. What was tuned stays."""
        for task, system, seed in self.runs():
            path = run_path(self.setup.directory(task), system.name, seed)
            path.unlink(missing_ok=True)
            path.with_suffix(".tags").unlink(missing_ok=True)

    def left(self) -> list[Job]:
        """Return the runs that are not finished."""
        return [
            Job(task.name, template_of(task, system), Run(system.name, seed))
            for task, system, seed in self.runs()
            if not run_done(task, system, seed, self.setup)
        ]

    def schedule(self) -> Schedule:
        tunings = {task.name: Tuning(task, self.setup) for task in self.tasks}
        return Schedule(self.left(), tunings, {task.name: task for task in self.tasks})

    def listing(self) -> str:
        """Return a text that says what would run and what is done."""
        left = {(job.task, job.what) for job in self.left()}
        lines = []
        for task in self.tasks:
            tuning = Tuning(task, self.setup)
            state = f"strength {tuning.strength:g}" if tuning.strength else f"{len(tuning.trials())} trials to do"
            lines.append(f"{task.name}: {task.title}; tuning by {tuning.how}: {state}")
            for system in self.systems:
                seeds = {seed: (task.name, Run(system.name, seed)) in left for seed in range(self.seeds)}
                done = " ".join(str(seed) for seed, missing in seeds.items() if not missing) or "-"
                todo = " ".join(str(seed) for seed, missing in seeds.items() if missing) or "-"
                lines.append(f"  {system.name:18}seeds done: {done:8}to do: {todo}")
        return "\n".join(lines)

    def table(self) -> str:
        """Return the results so far as a table for each task."""
        parts = []
        for task in self.tasks:
            files = [
                (
                    system.name,
                    [run_path(self.setup.directory(task), system.name, seed) for seed in range(self.seeds)],
                )
                for system in self.systems
            ]
            parts.append(summary_table(task.title, task.metric, files))
        return "\n\n".join(parts)
