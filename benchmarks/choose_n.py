"""What `n="auto"` picks, and what it costs and gains beside fixed n, on the paper's tasks.

    SAPO_DATA=DIRECTORY python benchmarks/choose_n.py [RUNS]

Chunking, POS tagging (UPOS) and Bio-NER with the templates of the laboratory; each n trained for PASSES passes from
seeds 0, 1 and 2, calibrated rate, strength 1. Prints the score on the test set after the last pass (mean, all seeds),
seconds of processor time a pass (a busy machine makes those of the clock useless), and the n of each pass. RUNS is the
directory of `python -m laboratory experiment`, where the columns of Bio-NER are kept (default: runs).
"""

import dataclasses
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from laboratory.encoded import TaskData, evaluate, load_task, main_score
from laboratory.setup import Setup, data_directory
from laboratory.tasks import TASKS, Task
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.training.run import train_on

PASSES, SEEDS = 12, 3
SIZES: tuple[Any, ...] = (1, 2, 5, "auto", 10, 20)
HEAD = "| n | score | seeds 0 / 1 / 2 | processor s a pass | n by pass, seed 0 |\n|--:|--:|--:|--:|:--|"
NAMES = ("chunking", "pos-upos", "bioner")


class Last(Observer):
    """The score after the last pass."""

    def __init__(self, task: Task, data: TaskData) -> None:
        self.task, self.data, self.score = task, data, 0.0

    def passed(self, record: PassRecord, state: State) -> None:
        if record.epoch == PASSES:
            self.score = main_score(self.task, evaluate(self.data.test, state)[1])


def measure(task: Task, data: TaskData, n: Any, seed: int) -> tuple[float, float, list[int]]:
    settings = Settings(n=n, epochs=PASSES, tolerance=0.0, rate=data.rate, seed=seed)
    last = Last(task, data)
    started = time.process_time()
    outcome = train_on(dataclasses.replace(data.prepared, dev=None), settings, observers=[last])
    seconds = (time.process_time() - started) / PASSES
    return last.score, seconds, [record.n for record in outcome.history]


def main() -> None:
    setup = Setup(data=data_directory(), runs=Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
    for name in NAMES:
        task = TASKS[name]
        data = load_task(task, setup, task.template)
        found: dict[Any, list[tuple[float, float, list[int]]]] = {n: [] for n in SIZES}
        for seed in range(SEEDS):
            for n in SIZES:
                found[n].append(measure(task, data, n, seed))
        print(f"\n{task.title}, {task.metric}\n\n{HEAD}")
        for n, runs in found.items():
            scores = [score for score, _, _ in runs]
            picked = ", ".join(map(str, runs[0][2])) if n == "auto" else ""
            seconds = statistics.fmean(one for _, one, _ in runs)
            each = " / ".join(f"{score:.2f}" for score in scores)
            print(f"| {n} | {statistics.fmean(scores):.2f} | {each} | {seconds:.2f} | {picked} |", flush=True)


if __name__ == "__main__":
    main()
