"""The weights of a worker: learn from a part of the samples, say what changed, and follow the weights of all."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapo.cluster.changes import Change, fixed
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import changes as kernel
from sapo.kernels import update
from sapo.kernels import weights as rows_kernel
from sapo.kernels.types import Doubles, Floats, Ints, Places, Samples
from sapo.learn.chunks import Chunk
from sapo.learn.loop import LearnerPass, prepared
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

AT_ONCE = 1 << 18  # weights of whole rows that are looked at
FOLD_BELOW = 8 * update.SMALLEST_SCALE  # so that no kernel folds within a part
MOST_SHRUNK = 1 / 8


def learn_part(
    weights: Weights, learner: LearnerPass, chunks: Iterable[Chunk], epoch: int, settings: Settings, totals: Doubles
) -> Change:
    """Learn from some chunks; return what changed, and leave the weights as they were.

    What is counted on the way is added to `totals`.
    """
    edges, pairs, state = weights.edges.copy(), weights.pair_weights.copy(), weights.state.copy()
    rows = _ListedRows(weights) if weights.rows.listed else _Matrix(weights)
    rate = settings.rate_of(epoch)
    for chunk in chunks:
        corpus = prepared(chunk, settings, weights, epoch)
        rows.expect(corpus)
        for _ in learner(rows.work, corpus, chunk.order, rate, settings, totals):
            pass
    shrunk = rows.work.scale / float(state[update.SCALE])
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
        kernel.add(places[first:last], shift, values[first:last], v, sums, state[update.CLOCK])
    state[update.SCALE] *= change.shrunk
    state[update.CLOCK] += state[update.SCALE]
    state[update.STEPS] += 1
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
        kernel.mark(corpus.rows, self.seen)
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
                found = kernel.moved_rows(features[some], old[some], self.dense, places, values)
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
        kernel.mark(corpus.rows, self.seen)

    def changed(self, kind: Any) -> Iterator[tuple[Places, Floats]]:
        """Yield places and how far they moved, in order."""
        old, new, labels = self.old.rows, self.work.rows.rows, self.old.count
        rows, row = _at_once(labels), np.empty(labels, np.float32)
        places, values = _scratch(rows, labels, kind)
        for begin in range(0, len(self.seen), rows):
            end = min(begin + rows, len(self.seen))
            found = kernel.moved_lists(begin, end, self.seen, old, new, row, places, values)
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
    clock, begin = float(weights.state[update.CLOCK]), 0
    while begin < len(places):
        found, begin = kernel.by_feature(begin, places, values, features, labels, counts, moved)
        if not rows_kernel.has_room(found, rows.arrays):
            rows.grow(found)
        rows_kernel.change_features(0, found, _one_each(features[:found]), labels, counts, moved, rows.arrays, clock)


def _one_each(features: Ints) -> Samples:
    tokens = len(features)
    return EncodedCorpus(np.array([0, tokens]), np.arange(tokens + 1), features).samples
