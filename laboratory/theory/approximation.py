"""Measure how far s_z(w) is from ∇f_z(w) for growing n, at w = 0 and after some passes of training."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from laboratory.encoded import TaskData, load_task
from laboratory.setup import Say, Setup
from laboratory.tasks import TASKS
from laboratory.theory.line_figures import Line, LineFigure, LinePanel
from laboratory.theory.sentence_gradients import sentence_gradients
from sapo.jit.arrays import Doubles
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.search.lattice import Parameters
from sapo.training.run import train_on

NAMES = ("chunking", "bioner", "pos-upos")
SIZES = (1, 2, 5, 10, 20, 50, 100, 200)
SMALL_SIZES = (1, 2, 5)
PASSES, SMALL_PASSES = (0, 1, 5, 20), (0, 1, 2)
SENTENCES, SMALL_SENTENCES = 100, 10
N = 5  # of training


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """Means over the sentences, for each n."""

    passes: int
    distance: list[float]  # ‖δ_z(w)‖ / ‖∇f_z(w)‖
    cosine: list[float]
    mass: list[float]  # P(Y_n|x,w), the probability of the top n among all taggings


class _Watch(Observer):
    """Measures after some passes of training."""

    def __init__(self, data: TaskData, sizes: Sequence[int], passes: Sequence[int], sentences: int, say: Say) -> None:
        self.corpus, self.sizes, self.passes, self.say = data.prepared.corpus, sizes, passes, say
        self.transitions = data.prepared.encoder.transitions
        self.chosen = np.random.default_rng(0).permutation(self.corpus.sentences)[:sentences].tolist()
        self.points: list[Point] = []

    def passed(self, record: PassRecord, state: State) -> None:
        if record.epoch in self.passes:
            self.measure(record.epoch, state.weights.true_weights())

    def measure(self, passes: int, parameters: Parameters) -> None:
        terms = [
            sentence_gradients(self.corpus, sentence, parameters, self.sizes, transitions=self.transitions)
            for sentence in self.chosen
        ]
        terms = [one for one in terms if one.length > 0]
        point = Point(
            passes,
            _mean([one.distances / one.length for one in terms]),
            _mean([one.cosines for one in terms]),
            _mean([one.mass for one in terms]),
        )
        self.points.append(point)
        self.say(f"{_when(point)}: distance {point.distance[0]:.2f} (n = 1) to {point.distance[-1]:.2f}")


def _mean(rows: list[Doubles]) -> list[float]:
    return [round(float(value), 5) for value in np.mean(rows, axis=0)]


def measure_task(name: str, setup: Setup, say: Say) -> list[Point]:
    """Train with n = 5 and measure on the way."""
    task = TASKS[name]
    say(f"{name}: reading")
    data = load_task(task, setup, task.template)
    sizes, passes = (SMALL_SIZES, SMALL_PASSES) if setup.small else (SIZES, PASSES)
    sentences = SMALL_SENTENCES if setup.small else SENTENCES
    watch = _Watch(data, sizes, passes, sentences, lambda message: say(f"{name}: {message}"))
    watch.measure(0, data.prepared.zero_weights().current())
    settings = Settings(n=N, epochs=max(passes), tolerance=0.0, rate=data.rate)
    outcome = train_on(dataclasses.replace(data.prepared, dev=None), settings, observers=[watch])
    if outcome.stop.interrupted:
        raise KeyboardInterrupt
    return watch.points


def approximation(setup: Setup, say: Say) -> dict[str, Any]:
    """Return the part of the report on s_z(w) against ∇f_z(w)."""
    found = {name: measure_task(name, setup, say) for name in NAMES}
    sizes = list(SMALL_SIZES if setup.small else SIZES)
    return {
        "title": "How close SAPO's update comes to the gradient",
        "text": _text(found, sizes, SMALL_SENTENCES if setup.small else SENTENCES),
        "table": {
            "head": ["task", "passes", *(f"n = {n}" for n in sizes)],
            "rows": [
                [name, str(point.passes), *(f"{value:.3f}" for value in point.distance)]
                for name, points in found.items()
                for point in points
            ],
        },
        "figure": dataclasses.asdict(_figure(found, sizes)),
        "sizes": sizes,
        "tasks": {name: [dataclasses.asdict(point) for point in points] for name, points in found.items()},
    }


def _figure(found: dict[str, list[Point]], sizes: list[int]) -> LineFigure:
    panels = []
    for name, points in found.items():
        lines = [Line(_when(point), sizes, point.distance, at, at) for at, point in enumerate(points)]
        panels.append(LinePanel(name, "n", "relative distance", lines, log_x=True))
    return LineFigure("Relative distance of SAPO's update from the gradient by n", panels)


def _when(point: Point) -> str:
    if not point.passes:
        return "w = 0"
    return f"after {point.passes} {'pass' if point.passes == 1 else 'passes'}"


def _text(found: dict[str, list[Point]], sizes: list[int], sentences: int) -> str:
    at = sizes.index(N)
    end = {name: points[-1] for name, points in found.items()}
    near = ", ".join(f"{p.distance[at]:.2f} on {name} (cosine {p.cosine[at]:.2f})" for name, p in end.items())
    far = ", ".join(f"{p.distance[-1]:.2f} on {name} (cosine {p.cosine[-1]:.2f})" for name, p in end.items())
    mass = ", ".join(f"{p.mass[at]:.2f} on {name}" for name, p in end.items())
    return (
        f"For {sentences} training sentences z of each task, the update s_z(w) of SAPO and the stochastic gradient "
        "∇f_z(w) were computed exactly at the same weights w, both without the regularizer, which they share. Shown is "
        "the mean of ‖∇f_z(w) - s_z(w)‖ / ‖∇f_z(w)‖: 0 is the gradient itself, 1 is as far from it as doing nothing. "
        f"The weights are those of SAPO with n = {N}, calibrated rate, λ = 1, seed 0.\n\n"
        f"After {next(iter(end.values())).passes} passes the distance is {near} at n = {N}, and {far} at "
        f"n = {sizes[-1]}. The {N} best taggings hold {mass} of the probability of all taggings.\n\n"
        f"The paper says that s_z(w) comes arbitrarily close to the gradient with growing n. {_how_it_falls(found)} "
        f"At n = {N} it is far from 0; the next parts measure whether it is close enough for the theorem."
    )


def _how_it_falls(found: dict[str, list[Point]]) -> str:
    rises = [
        f"{name} ({_when(point)})"
        for name, points in found.items()
        for point in points
        if any(b > a + 1e-5 for a, b in itertools.pairwise(point.distance))
    ]
    if not rises:
        return "The mean distance falls with n without exception."
    return f"The mean distance falls with n, but not at every step: not on {', '.join(rises)}."
