"""The results of a system on a task: means over seeds, with their deviations."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from laboratory.report.run_records import RunRecord
from laboratory.report.system_names import rank

TASKS = ("pos-wsj", "pos-xpos", "pos-upos", "bioner", "chunking", "chunking-np")
LAST_PASSES = 5


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds and the deviation of one seed (n - 1 in the divisor; None of a single seed)."""

    mean: float
    deviation: float | None

    @staticmethod
    def of(values: Sequence[float]) -> "Mean":
        """
        >>> Mean.of([1.0, 3.0])
        Mean(mean=2.0, deviation=1.4142135623730951)
        >>> Mean.of([1.0])
        Mean(mean=1.0, deviation=None)
        """
        return Mean(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


@dataclass(frozen=True, slots=True)
class Curve:
    """A value by pass: the mean over seeds, and what lies one deviation around it."""

    epochs: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, slots=True)
class SystemResults:
    """The runs of one system on one task, by seed."""

    runs: tuple[RunRecord, ...]

    @property
    def system(self) -> str:
        return self.runs[0].system

    @property
    def passes(self) -> int:
        """The number of passes that all seeds have made."""
        return min(len(run.passes) for run in self.runs)

    def best_pass(self) -> int:
        """Return the first pass with the best mean. One for each seed would flatter systems that jump up and down."""
        means = self.scores().mean
        return 1 + means.index(max(means))

    def best(self) -> Mean:
        """Return the score of the best pass, the same pass for all seeds."""
        best = self.best_pass()
        return self._mean(lambda run: run.passes[best - 1].score)

    def last(self) -> Mean:
        return self._mean(lambda run: run.passes[-1].score)

    def fall(self) -> Mean:
        """Return the score of the best pass minus that of the last."""
        best = self.best_pass()
        return self._mean(lambda run: run.passes[best - 1].score - run.passes[-1].score)

    def spread(self) -> Mean:
        """Return the highest minus the lowest score of the last passes."""
        return self._mean(spread)

    def seconds(self) -> Mean:
        """Return the seconds of one pass."""
        return self._mean(seconds_a_pass)

    def w_complexity(self) -> Mean | None:
        return self._maybe(lambda run: run.passes[-1].w_complexity)

    def w_growth(self) -> Mean | None:
        """Return the growth of the weights from the middle pass to the last: 0.1 is ten per cent."""
        return self._maybe(w_growth)

    def scores(self) -> Curve:
        return self._curve([[one.score for one in run.passes] for run in self.runs])

    def w_complexities(self) -> Curve | None:
        columns = [[one.w_complexity for one in run.passes if one.w_complexity is not None] for run in self.runs]
        whole = all(len(column) == len(run.passes) for column, run in zip(columns, self.runs, strict=True))
        return self._curve(columns) if whole else None

    def _mean(self, value: Callable[[RunRecord], float]) -> Mean:
        return Mean.of([value(run) for run in self.runs])

    def _maybe(self, value: Callable[[RunRecord], float | None]) -> Mean | None:
        known = [found for run in self.runs if (found := value(run)) is not None]
        return Mean.of(known) if len(known) == len(self.runs) else None

    def _curve(self, columns: list[list[float]]) -> Curve:
        means = [Mean.of(values) for values in zip(*(column[: self.passes] for column in columns), strict=True)]
        return Curve(
            epochs=list(range(1, self.passes + 1)),
            mean=[one.mean for one in means],
            low=[one.mean - (one.deviation or 0.0) for one in means],
            high=[one.mean + (one.deviation or 0.0) for one in means],
        )


@dataclass(frozen=True, slots=True)
class TaskResults:
    """All systems that were run on one task."""

    name: str
    groups: dict[str, SystemResults]

    @property
    def any_run(self) -> RunRecord:
        return next(iter(self.groups.values())).runs[0]

    @property
    def title(self) -> str:
        return self.any_run.title

    @property
    def metric(self) -> str:
        return self.any_run.metric


def by_task(runs: Iterable[RunRecord]) -> list[TaskResults]:
    """Group runs: tasks and systems in the paper's order, seeds by number."""
    found: dict[str, dict[str, list[RunRecord]]] = {}
    for run in runs:
        found.setdefault(run.task, {}).setdefault(run.system, []).append(run)
    return [
        TaskResults(
            task,
            {
                system: SystemResults(tuple(sorted(found[task][system], key=lambda run: run.seed)))
                for system in sorted(found[task], key=rank)
            },
        )
        for task in sorted(found, key=lambda name: (TASKS.index(name) if name in TASKS else len(TASKS), name))
    ]


def spread(run: RunRecord) -> float:
    scores = [one.score for one in run.passes[-LAST_PASSES:]]
    return max(scores) - min(scores)


def seconds_a_pass(run: RunRecord) -> float:
    """Return the median, so that a first pass that compiles, or a disturbed one, does not count."""
    return statistics.median(one.seconds for one in run.passes)


def w_growth(run: RunRecord) -> float | None:
    middle, last = run.passes[(len(run.passes) + 1) // 2 - 1].w_complexity, run.passes[-1].w_complexity
    return None if not middle or last is None else last / middle - 1
