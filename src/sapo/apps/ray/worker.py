"""Learn from parts of the data in a worker, and follow the weights of the run."""

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo import jit
from sapo.apps.ray.changes import Change, Places, add, by_feature, fixed, mark, moved_lists, moved_rows
from sapo.apps.ray.lanes import LanePart, Lanes
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus, Pairs, Samples
from sapo.jit.arrays import Doubles, Floats, Ints
from sapo.learn import LEARNERS
from sapo.learn.loop import LearnerPass
from sapo.learn.records import RANKS
from sapo.learn.rows import ALL_ROWS, change_features, has_room
from sapo.learn.samples import Chunk, prepare
from sapo.learn.settings import Settings
from sapo.learn.weights import CLOCK, SCALE, SMALLEST_SCALE, STEPS, Weights
from sapo.search.lattice import BY_RANK
from sapo.search.weights import Lists

AT_ONCE = 1 << 18  # weights of whole rows that are looked at
FOLD_BELOW = 8 * SMALLEST_SCALE  # so that no kernel folds within a part
MOST_SHRUNK = 1 / 8


def learn_part(
    weights: Weights, learner: LearnerPass, chunks: Iterable[Chunk], epoch: int, settings: Settings, totals: Doubles
) -> Change:
    """Learn from some chunks; return what changed, and leave the weights as they were.

    What is counted on the way is added to `totals`.
    """
    edges, pairs, state = weights.edges.copy(), weights.pair_weights.copy(), weights.state.copy()
    rows = _ListedRows(weights) if weights.rows.listed else _Matrix(weights)
    rate, settings = settings.rate_of(epoch), replace(settings, threads=1)  # Ray gives a worker one core
    for chunk in chunks:
        part = prepare(chunk, settings, weights.bans, epoch)
        rows.expect(part.corpus)
        for _ in learner(rows.work, part.corpus, part.order, rate, settings, totals):
            pass
    shrunk = rows.work.scale / float(state[SCALE])
    if not MOST_SHRUNK < shrunk <= 1:
        raise SapoError(
            f"the strength {settings.strength} is too large for so few mixings a pass; ask for more of them"
        )
    kind = np.uint32 if size_of(weights) < 1 << 32 else np.int64
    found: list[tuple[Any, Any]] = list(rows.changed(kind))
    shift = weights.rows.size
    for old, new in ((edges, weights.edges), (pairs, weights.pair_weights)):
        moved = (new - old).reshape(-1)
        at = np.flatnonzero(moved)
        found.append(((at + shift).astype(kind), moved[at]))
        shift += new.size
        new[:] = old
    rows.restore()
    weights.state[:] = state
    places, values = (np.concatenate(some) for some in zip(*found, strict=True))
    return Change(places, values, shrunk)


def size_of(weights: Weights) -> int:
    """Return how many places there are."""
    return weights.rows.size + weights.edges.size + weights.pair_weights.size


def bare_arrays(weights: Weights) -> dict[str, NDArray[Any]]:
    """Return the weights alone, for `Weights.load` of a worker; averages are kept by the driver."""
    none = np.empty((0, 0), np.float32)
    rows = replace(weights.rows, sums=none, dense_sums=none)
    return replace(weights, rows=rows, edge_sums=none, pair_sums=none).arrays(None)


def follow(weights: Weights, change: Change, *, fold: bool) -> None:
    """Make a change of all workers, as one step; then make v the true weights if `fold`."""
    state, places, values = weights.state, fixed(change.places), fixed(change.values)
    rows, edges = weights.rows.size, weights.rows.size + weights.edges.size
    ends = np.searchsorted(places, np.array([rows, edges], places.dtype)).tolist()
    if weights.rows.listed:
        _add_to_lists(weights, places[: ends[0]], values[: ends[0]])
    parts = [
        (0, ends[0], 0, weights.rows.dense, weights.rows.dense_sums),
        (*ends, rows, weights.edges, weights.edge_sums),
        (ends[1], len(places), edges, weights.pair_weights, weights.pair_sums),
    ]
    for first, last, shift, v, sums in parts[weights.rows.listed :]:
        v, sums = v.reshape(-1), sums.reshape(-1)
        add(places[first:last], shift, values[first:last], v, sums, state[CLOCK])
    state[SCALE] *= change.shrunk
    state[CLOCK] += state[SCALE]
    state[STEPS] += 1
    if fold:
        weights.fold()


class _Matrix:
    """Rows that are all dense: those that a chunk may change are kept before it does."""

    def __init__(self, weights: Weights) -> None:
        self.work = weights
        self.dense, self.labels = weights.rows.dense, weights.rows.count
        self.seen = np.zeros(weights.rows.features, np.bool_)
        self.kept: list[tuple[Ints, Floats]] = []

    def expect(self, corpus: EncodedCorpus) -> None:
        """Prepare for learning from these samples."""
        before = self.seen.copy()
        mark(corpus.rows, self.seen)
        features = np.flatnonzero(self.seen != before).astype(np.int32)
        self.kept.append((features, self.dense[features]))

    def changed(self, kind: Any) -> Iterator[tuple[Places, Floats]]:
        """Yield places and how far they moved, in order."""
        if len(self.kept) > 1:
            features = np.concatenate([some for some, _ in self.kept])
            order = np.argsort(features, kind="stable")  # which merges what is in order already
            self.kept = [(features[order], np.concatenate([old for _, old in self.kept])[order])]
        rows = _at_once(self.labels)
        places, values = _scratch(rows, self.labels, kind)
        for features, old in self.kept:
            for begin in range(0, len(features), rows):
                some = slice(begin, begin + rows)
                found = moved_rows(features[some], old[some], self.dense, places, values)
                yield places[:found].copy(), values[:found].copy()

    def restore(self) -> None:
        """Put the weights back."""
        for features, old in self.kept:
            self.dense[features] = old


class _ListedRows:
    """Rows that grow: the learner gets a copy, so that those of all workers stay alike, also in how they are held."""

    def __init__(self, weights: Weights) -> None:
        rows = weights.rows
        self.old = rows
        names = ("head", "labels", "v", "dense", "room")
        copied = replace(rows, **{name: getattr(rows, name).copy() for name in names})
        self.work = replace(weights, rows=copied)
        self.seen = np.zeros(rows.features, np.bool_)

    def expect(self, corpus: EncodedCorpus) -> None:
        """Prepare for learning from these samples."""
        mark(corpus.rows, self.seen)

    def changed(self, kind: Any) -> Iterator[tuple[Places, Floats]]:
        """Yield places and how far they moved, in order."""
        old, new, labels = self.old.rows, self.work.rows.rows, self.old.count
        rows, row = _at_once(labels), np.empty(labels, np.float32)
        places, values = _scratch(rows, labels, kind)
        for begin in range(0, len(self.seen), rows):
            end = min(begin + rows, len(self.seen))
            found = moved_lists(begin, end, self.seen, old, new, row, places, values)
            yield places[:found].copy(), values[:found].copy()

    def restore(self) -> None:
        """Nothing to do: only the copy was changed."""


def _at_once(labels: int) -> int:
    return max(1, AT_ONCE // labels)


def _scratch(rows: int, labels: int, kind: Any) -> tuple[Places, Floats]:
    return np.empty(rows * labels, kind), np.empty(rows * labels, np.float32)


def _add_to_lists(weights: Weights, places: Places, values: Floats) -> None:
    """Let a kernel add to short lists: as if each feature were a token of its own, of which some labels change."""
    rows, at_once = weights.rows, _at_once(weights.rows.count)
    features, counts = np.empty((2, at_once), np.int32)
    labels = np.empty((at_once, rows.count), np.int32)
    moved = np.empty((at_once, rows.count), np.float32)
    clock, begin = float(weights.state[CLOCK]), 0
    while begin < len(places):
        found, begin = by_feature(begin, places, values, features, labels, counts, moved)
        if not has_room(found, rows.arrays):
            rows.grow(found)
        change_features(0, found, _one_each(features[:found]), labels, counts, moved, rows.arrays, clock, ALL_ROWS)


def _one_each(features: Ints) -> Samples:
    tokens = len(features)
    return EncodedCorpus(np.array([0, tokens]), np.arange(tokens + 1), features).samples


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


class WorkerPlace(NamedTuple):
    """Where a worker lives."""

    host: str
    process: int


@dataclass(frozen=True, slots=True)
class PartReport:
    """What a worker learned from a part, and how long it took."""

    part: LanePart
    change: Change
    totals: Doubles
    begun_at: int  # how many mixings the weights had seen
    place: WorkerPlace
    seconds: float
    processor_seconds: float


class Worker:
    """Follows the weights of a run. Its methods are called by the driver, one at a time."""

    def __init__(self, setup: Setup) -> None:
        jit.compile_kernels()
        self.setup = setup
        self.weights = setup.zero_weights()

    def place(self) -> WorkerPlace:
        """Return where this worker lives: the first thing that it is asked."""
        return WorkerPlace(socket.gethostname(), os.getpid())

    def learn(
        self,
        part: LanePart,
        settings: Settings,
        version: int,
        whole: Mapping[str, NDArray[Any]] | None,
        *steps: Step,
    ) -> PartReport:
        """Bring the weights up to `version` (from all arrays, or by steps), and learn from a part."""
        if whole is not None:
            self.weights.load(whole, 0)
        for step in steps:
            follow(self.weights, step.change, fold=step.fold)
        wall, processor = perf_counter(), process_time()
        totals = np.zeros(BY_RANK + RANKS)
        chunks = self.setup.lanes.chunks(part, settings)
        run = LEARNERS[self.setup.learner].run
        change = learn_part(self.weights, run, chunks, part.epoch, settings, totals)
        seconds = perf_counter() - wall, process_time() - processor
        return PartReport(part, change, totals, version, self.place(), *seconds)
