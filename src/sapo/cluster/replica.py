"""The weights of a worker: learn from a part of the samples, say what changed, and follow the weights of all."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapo.cluster.changes import Change, Places
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import update
from sapo.kernels import weights as kernel
from sapo.kernels.types import Bools, Doubles, Floats, Ints, Longs, Samples
from sapo.learn.chunks import Chunk
from sapo.learn.loop import LearnerPass, prepared
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

AT_ONCE = 1 << 14  # rows of all labels in memory
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
    found = list(rows.changed())
    shift = weights.rows.size
    for old, new in ((edges, weights.edges), (pairs, weights.pair_weights)):
        moved = (new - old).reshape(-1)
        at = np.flatnonzero(moved)
        found.append((at + shift, moved[at]))
        shift += new.size
        new[:] = old
    rows.restore()
    weights.state[:] = state
    places: Places = np.concatenate([one for one, _ in found])
    if shift < 1 << 32:
        places = places.astype(np.uint32)
    return Change(places, np.concatenate([values for _, values in found]), shrunk)


def bare_arrays(weights: Weights) -> dict[str, NDArray[Any]]:
    """Return the weights alone, for `Weights.load` of a worker; averages are kept by the driver."""
    none = np.empty((0, 0), np.float32)
    rows = replace(weights.rows, sums=none, dense_sums=none)
    return replace(weights, rows=rows, edge_sums=none, pair_sums=none).arrays(None)


def follow(weights: Weights, change: Change, *, fold: bool) -> None:
    """Make a change of all workers, as one step; then make v the true weights if `fold`."""
    places, values, state = change.places, change.values, weights.state
    rows, edges = weights.rows.size, weights.rows.size + weights.edges.size
    first, second = np.searchsorted(places, np.array([rows, edges], places.dtype))
    clock = np.float32(state[update.CLOCK])
    if weights.rows.listed:
        _add_to_lists(weights, places[:first], values[:first])
    else:
        _add(places[:first], values[:first], weights.rows.dense, weights.rows.dense_sums, clock)
    at, moved = places[first:second].astype(np.int64) - rows, values[first:second]
    _add(at, moved, weights.edges, weights.edge_sums, clock)
    at, moved = places[second:].astype(np.int64) - edges, values[second:]
    _add(at, moved, weights.pair_weights, weights.pair_sums, clock)
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
        new = _features(corpus, len(self.seen)) & ~self.seen
        self.seen |= new
        features = np.flatnonzero(new).astype(np.int32)
        self.kept.append((features, self.dense[features]))

    def changed(self) -> Iterator[tuple[Longs, Floats]]:
        """Yield places and how far they moved, in order."""
        if len(self.kept) > 1:
            features = np.concatenate([some for some, _ in self.kept])
            order = np.argsort(features, kind="stable")  # which merges what is in order already
            self.kept = [(features[order], np.concatenate([old for _, old in self.kept])[order])]
        for features, old in self.kept:
            for begin in range(0, len(features), AT_ONCE):
                some = features[begin : begin + AT_ONCE]
                yield _places(some, self.dense[some] - old[begin : begin + AT_ONCE], self.labels)

    def restore(self) -> None:
        """Put the weights back."""
        for features, old in self.kept:
            self.dense[features] = old


class _ListedRows:
    """Rows that grow: the learner gets a copy, so that those of all workers stay alike, also in how they are held."""

    def __init__(self, weights: Weights) -> None:
        rows = weights.rows
        self.weights = weights
        names = ("head", "labels", "v", "dense", "room")
        copied = replace(rows, **{name: getattr(rows, name).copy() for name in names})
        self.work = replace(weights, rows=copied)
        self.seen = np.zeros(rows.features, np.bool_)

    def expect(self, corpus: EncodedCorpus) -> None:
        """Prepare for learning from these samples."""
        self.seen |= _features(corpus, len(self.seen))

    def changed(self) -> Iterator[tuple[Longs, Floats]]:
        """Yield places and how far they moved, in order."""
        features, old = np.flatnonzero(self.seen).astype(np.int32), self.weights.rows
        for begin in range(0, len(features), AT_ONCE):
            some = features[begin : begin + AT_ONCE]
            yield _places(some, self.work.rows.gathered(some) - old.gathered(some), old.count)

    def restore(self) -> None:
        """Nothing to do: only the copy was changed."""


def _features(corpus: EncodedCorpus, count: int) -> Bools:
    """Return which features a corpus has."""
    seen = np.zeros(count, np.bool_)
    seen[corpus.rows] = True
    return seen


def _places(features: Ints, moved: Floats, labels: int) -> tuple[Longs, Floats]:
    flat = moved.reshape(-1)
    at = np.flatnonzero(flat != 0)  # much faster than `nonzero` of a matrix of numbers
    row = at // labels
    return features[row].astype(np.int64) * labels + (at - row * labels), flat[at]


def _add(at: Places, moved: Floats, v: Floats, sums: Floats, clock: np.float32) -> None:
    v.reshape(-1)[at] += moved
    if len(sums):
        sums.reshape(-1)[at] += moved * clock


def _add_to_lists(weights: Weights, places: Places, values: Floats) -> None:
    """Let a kernel add to short lists: as if each feature were a token of its own, all of whose labels change."""
    rows, labels = weights.rows, weights.rows.count
    features, label = np.divmod(places.astype(np.int64), labels)
    distinct, row = np.unique(features, return_inverse=True)
    clock = float(weights.state[update.CLOCK])
    for begin in range(0, len(distinct), AT_ONCE):
        some = distinct[begin : begin + AT_ONCE].astype(np.int32)
        mine = slice(*np.searchsorted(row, [begin, begin + len(some)]))
        changes = np.zeros((len(some), labels), np.float32)
        changes[row[mine] - begin, label[mine]] = values[mine]
        if not kernel.has_room(len(some), rows.arrays):
            rows.grow(len(some))
        counts, every = np.full(len(some), labels, np.int32), np.empty((0, 0), np.int32)
        kernel.change_features(0, len(some), _one_each(some), every, counts, changes, rows.arrays, clock)


def _one_each(features: Ints) -> Samples:
    tokens = len(features)
    return EncodedCorpus(np.array([0, tokens]), np.arange(tokens + 1), features).samples
