"""A worker: it follows the weights of the run, learns from parts, and says what changed."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo import kernels
from sapo.cluster.changes import Change
from sapo.cluster.lanes import Lanes, Part
from sapo.cluster.replica import follow, learn_part
from sapo.encode.pairs import Pairs
from sapo.kernels import update
from sapo.kernels.types import Doubles, Floats, Lists
from sapo.learn import LEARNERS, Settings
from sapo.learn.records import RANKS
from sapo.learn.weights import Weights


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker gets before its first part."""

    learner: str
    features: int
    labels: int
    transitions: bool
    pairs: Pairs
    bans: Floats
    lists: Lists
    lanes: Lanes

    @classmethod
    def of(cls, learner: str, weights: Weights, lanes: Lanes) -> "Setup":
        """Return the setup of workers that follow these weights."""
        rows = weights.rows
        return cls(
            learner, rows.features, rows.count, weights.transitions, weights.pairs, weights.bans, weights.lists, lanes
        )

    def zero_weights(self) -> Weights:
        """Return the weights before the first step. Averages are kept by the driver alone."""
        pairs = Pairs(np.array(self.pairs.offsets), np.array(self.pairs.codes))
        weights = Weights.zeros(
            self.features, self.labels, transitions=self.transitions, pairs=pairs, bans=np.array(self.bans)
        )
        most, *arrays = self.lists
        weights.lists = Lists(most, *map(np.array, arrays))
        return weights


class Step(NamedTuple):
    """One mixing: what all workers do to their weights."""

    change: Change
    fold: bool  # afterwards v becomes the true weights


class Place(NamedTuple):
    """Where a worker lives."""

    host: str
    process: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker learned from a part, and how long it took."""

    part: Part
    change: Change
    totals: Doubles
    begun_at: int  # how many mixings the weights had seen
    place: Place
    seconds: float
    processor_seconds: float


class Worker:
    """Follows the weights of a run. Its methods are called by the driver, one at a time."""

    def __init__(self, setup: Setup) -> None:
        kernels.compile_kernels()
        self.setup = setup
        self.weights = setup.zero_weights()

    def place(self) -> Place:
        """Return where this worker lives: the first thing that it is asked."""
        return Place(socket.gethostname(), os.getpid())

    def learn(
        self,
        part: Part,
        settings: Settings,
        version: int,
        whole: Mapping[str, NDArray[Any]] | None,
        *steps: Step,
    ) -> Report:
        """Bring the weights up to `version` (from all arrays, or by steps), and learn from a part."""
        if whole is not None:
            self.weights.load(whole, 0)
        for step in steps:
            follow(self.weights, step.change, fold=step.fold)
        wall, processor = perf_counter(), process_time()
        totals = np.zeros(update.BY_RANK + RANKS)
        chunks = self.setup.lanes.chunks(part, settings)
        run = LEARNERS[self.setup.learner].run
        change = learn_part(self.weights, run, chunks, part.epoch, settings, totals)
        seconds = perf_counter() - wall, process_time() - processor
        return Report(part, change, totals, version, self.place(), *seconds)
