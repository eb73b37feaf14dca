"""Hold the weights of features while they are learned: rows that grow where learning touches a new label.

The weights are w = scale * v (see learn/weights.py), and all blocks here hold v. For averaging, `sums` has each change
times the clock at which it was made, and is empty if nothing is averaged. The clock is the sum of all scales so far, so
the sum of all w so far is clock * v - sums, whatever the order of changes and shrinkings.

With few labels, feature f has the dense row f, and `head` is empty (`fits_matrix` in search/weights.py decides). With
many, a feature has what it needs:

    head[f] = 0                                   no weights yet
    head[f] = start << 20 | count << 4 | class    its entries, from start on; the block has room for 2 << class
    head[f] = -1 - d                              the dense row d

A list that is full moves to a block twice as large, and becomes a dense row once it has room[DENSE_FROM] entries. What
it leaves behind is zero and unused until `LearningRows.grow` packs the lists. Kernels cannot make arrays larger, so
before a sample is learned there must be room for all that it may touch (`has_room`).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo.features.encoded import Samples
from sapo.jit import kernel
from sapo.jit.arrays import Floats, Ints, Longs, Shorts
from sapo.search.weights import (
    COUNT,
    MOST,
    START,
    FeatureRows,
    Rows,
    dense_from,
    entry_places,
    fits_matrix,
    gather_rows,
    no_rows,
)


class Part(NamedTuple):
    """One block of weights with what averaging and L1 need besides; those are empty where they are not wanted."""

    v: Floats  # [rows, columns]
    sums: Floats
    received: Floats


class LearnedRows(NamedTuple):
    """The weights of features while they are learned: as in Rows, with room to grow."""

    head: Longs
    labels: Shorts
    entries: Part  # [entries, 1]
    dense: Part  # [dense rows, width]
    room: Longs  # [6] what is used, and of how much: USED, DENSE_USED ...


@kernel
def fold_scale(part: Part, scale: float, clock: float) -> None:
    """Make v the true weights before it outgrows single precision; the sum of all w so far stays what it is."""
    weights, sums = part.v, part.sums
    averaged = len(sums) > 0
    factor = np.float32(scale)
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            if averaged:
                sums[f, y] -= clock * weights[f, y]  # with a clock of 0 the sum is 0 * v - sums
            weights[f, y] *= factor


@kernel
def penalize_row(f: int, part: Part, clock: float, penalty: float) -> None:
    """L1: move each weight towards 0 by what it still owes of the penalty that it could have got, and not past it."""
    weights, sums, received = part.v, part.sums, part.received
    averaged = len(sums) > 0
    for y in range(weights.shape[1]):
        before = weights[f, y]
        if before > 0.0:
            after = max(0.0, before - (penalty + received[f, y]))
        elif before < 0.0:
            after = min(0.0, before + (penalty - received[f, y]))
        else:
            continue
        weights[f, y] = after
        received[f, y] += after - before
        if averaged:
            sums[f, y] += (after - before) * clock


@kernel
def penalize_all(part: Part, clock: float, penalty: float) -> None:
    """The same for all rows of a block."""
    for f in range(part.v.shape[0]):
        penalize_row(f, part, clock, penalty)


@kernel
def absolute_sum(weights: Floats) -> float:
    """Return the sum of |v|, without a second array of the size of the weights.

    Four sums do not wait for each other, as one would.
    """
    flat = weights.reshape(-1)
    a = b = c = d = 0.0
    for i in range(0, len(flat) - 3, 4):
        a += abs(np.float64(flat[i]))
        b += abs(np.float64(flat[i + 1]))
        c += abs(np.float64(flat[i + 2]))
        d += abs(np.float64(flat[i + 3]))
    for i in range(len(flat) // 4 * 4, len(flat)):
        a += abs(np.float64(flat[i]))
    return a + b + c + d


@kernel
def squared_sum(weights: Floats) -> float:
    """Return the sum of v^2, in four sums as well."""
    flat = weights.reshape(-1)
    a = b = c = d = 0.0
    for i in range(0, len(flat) - 3, 4):
        a += np.float64(flat[i]) * np.float64(flat[i])
        b += np.float64(flat[i + 1]) * np.float64(flat[i + 1])
        c += np.float64(flat[i + 2]) * np.float64(flat[i + 2])
        d += np.float64(flat[i + 3]) * np.float64(flat[i + 3])
    for i in range(len(flat) // 4 * 4, len(flat)):
        a += np.float64(flat[i]) * np.float64(flat[i])
    return a + b + c + d


class Share(NamedTuple):
    """Which rows a thread changes: no two threads change the same, and each row is changed in the order of samples."""

    thread: int
    threads: int


ALL_ROWS = Share(0, 1)
NEIGHBORS = 16  # rows that one thread changes: several are in a line of the processor's cache


# What is in `room`, by index.
USED, DENSE_USED, LIMIT, DENSE_LIMIT, DENSE_FROM, FIXED = 0, 1, 2, 3, 4, 5
ROOM_SIZE = 6


@kernel
def has_room(features: int, nodes: LearnedRows) -> bool:
    """Whether this many features may all get a larger block, and all become dense."""
    if len(nodes.head) == 0 or nodes.room[FIXED] != 0:
        return True
    largest = 4 * nodes.room[DENSE_FROM]
    fits = nodes.room[USED] + features * largest <= nodes.room[LIMIT]
    return bool(fits and nodes.room[DENSE_USED] + features <= nodes.room[DENSE_LIMIT])


@kernel
def change_features(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    labels: Ints,  # [T, labels that change at a token]; [T, 0] where all labels do
    counts: Ints,  # [T] how many change at each token
    changes: Floats,  # [T, ...] by what
    nodes: LearnedRows,  # changed
    clock: float,
    share: Share,
) -> None:
    """Change the weights of the features of a sentence. One call a sentence: bundles of arrays are slow to pass on."""
    if len(nodes.head) > 0:
        change_lists(first, T, samples, labels, counts, changes, nodes, clock)
        return
    row_offsets, rows, values = samples.row_offsets, samples.rows, samples.values
    weights, sums = nodes.dense.v, nodes.dense.sums
    every = labels.shape[1] == 0
    weighted = len(values) > 0
    averaged = len(sums) > 0
    for t in range(T):
        if counts[t] == 0:
            continue
        for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
            f = rows[i]
            if share.threads > 1 and (f // NEIGHBORS) % share.threads != share.thread:
                continue
            value = values[i] if weighted else np.float32(1.0)
            if every:
                for y in range(counts[t]):
                    weights[f, y] += value * changes[t, y]
                if averaged:
                    for y in range(counts[t]):
                        sums[f, y] += value * changes[t, y] * clock
            else:
                for j in range(counts[t]):
                    change = value * changes[t, j]
                    weights[f, labels[t, j]] += change
                    if averaged:
                        sums[f, labels[t, j]] += change * clock


@kernel
def change_lists(
    first: int,
    T: int,
    samples: Samples,
    wanted: Ints,
    counts: Ints,
    changes: Floats,
    nodes: LearnedRows,
    clock: float,
) -> None:
    """The same where features have short lists: a label that is not there yet is added, unless the lists are fixed."""
    row_offsets, rows, values = samples.row_offsets, samples.rows, samples.values
    head, labels, room = nodes.head, nodes.labels, nodes.room
    v, sums, received = nodes.entries.v, nodes.entries.sums, nodes.entries.received
    dense, dense_sums = nodes.dense.v, nodes.dense.sums
    every = wanted.shape[1] == 0
    weighted = len(values) > 0
    averaged = len(sums) > 0
    fixed = room[FIXED] != 0
    most = room[DENSE_FROM]
    for t in range(T):
        if counts[t] == 0:
            continue
        for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
            f = rows[i]
            value = values[i] if weighted else np.float32(1.0)
            at = head[f]
            start = at >> START
            used = (at >> COUNT) & MOST
            size = at & 15
            for j in range(counts[t]):
                y = j if every else wanted[t, j]
                change = value * changes[t, j]
                if at < 0:
                    dense[-1 - at, y] += change
                    if averaged:
                        dense_sums[-1 - at, y] += change * clock
                    continue
                k = start
                last = start + used
                while k < last and labels[k] != y:
                    k += 1
                if k == last:
                    if fixed or change == 0.0:
                        continue
                    if at == 0 or used == (2 << size):
                        if used >= most:
                            d = room[DENSE_USED]
                            room[DENSE_USED] = d + 1
                            to_dense(start, used, d, nodes)
                            at = -1 - d
                            head[f] = at
                            dense[d, y] += change
                            if averaged:
                                dense_sums[d, y] += change * clock
                            continue
                        size = 0 if at == 0 else size + 1
                        k = room[USED]
                        room[USED] = k + (2 << size)
                        for e in range(start, last):
                            labels[k] = labels[e]
                            v[k, 0] = v[e, 0]
                            v[e, 0] = 0.0
                            if averaged:
                                sums[k, 0] = sums[e, 0]
                                sums[e, 0] = 0.0
                            if len(received) > 0:
                                received[k, 0] = received[e, 0]
                                received[e, 0] = 0.0
                            k += 1
                        start = k - used
                    labels[k] = y
                    used += 1
                    at = (start << START) | (used << COUNT) | size
                    head[f] = at
                v[k, 0] += change
                if averaged:
                    sums[k, 0] += change * clock


@kernel
def to_dense(start: int, used: int, d: int, nodes: LearnedRows) -> None:
    """Move a list to the dense row d."""
    entries, dense = nodes.entries, nodes.dense
    for e in range(start, start + used):
        y = nodes.labels[e]
        dense.v[d, y] = entries.v[e, 0]
        entries.v[e, 0] = 0.0
        if len(entries.sums) > 0:
            dense.sums[d, y] = entries.sums[e, 0]
            entries.sums[e, 0] = 0.0
        if len(entries.received) > 0:
            dense.received[d, y] = entries.received[e, 0]
            entries.received[e, 0] = 0.0


@kernel
def penalize_feature(f: int, nodes: LearnedRows, clock: float, penalty: float) -> None:
    """L1: bring the weights of one feature up to date."""
    if len(nodes.head) == 0:
        penalize_row(f, nodes.dense, clock, penalty)
        return
    at = nodes.head[f]
    if at < 0:
        penalize_row(-1 - at, nodes.dense, clock, penalty)
    elif at > 0:
        start = at >> START
        for k in range(start, start + ((at >> COUNT) & MOST)):
            penalize_row(k, nodes.entries, clock, penalty)


ENTRIES = 1 << 17  # that there is room for at first
DENSE = 4096
SPARE_ROWS = 4096  # dense rows that there is room for after growing
SPARE_LABELS = 16  # columns of dense rows that wait for new labels
NAMES = ("head", "labels", "v", "sums", "received", "dense", "dense_sums", "dense_received", "room")


def _none() -> Floats:
    return np.empty((0, 0), np.float32)


@dataclass(slots=True)
class LearningRows:
    """Rows with room to grow; `sums` are for averaging and `received` for L1, and empty where they are not wanted."""

    count: int  # of the labels
    head: Longs  # [features]; empty where all rows are dense
    labels: Shorts  # [entries]
    v: Floats  # [entries, 1]
    sums: Floats
    received: Floats
    dense: Floats  # [dense rows, width]
    dense_sums: Floats
    dense_received: Floats
    room: Longs  # [6] as in LearnedRows

    @classmethod
    def of_matrix(cls, matrix: Floats) -> "LearningRows":
        """Return rows that are all dense, and change this matrix [features, labels] itself."""
        none = np.empty((0, 1), np.float32)
        rows = no_rows(matrix)
        room = np.zeros(ROOM_SIZE, np.int64)
        return cls(matrix.shape[1], rows.head, rows.labels, none, _none(), _none(), matrix, _none(), _none(), room)

    @classmethod
    def of_rows(cls, frozen: FeatureRows) -> "LearningRows":
        """Return a copy of rows with lists, which can be learned with."""
        head, labels, values, dense = frozen.arrays
        rows = cls.zeros(frozen.features, frozen.labels, matrix=False)
        counts = (head >> COUNT) & MOST
        listed = np.flatnonzero(head > 0)
        size = np.ceil(np.log2(np.maximum(2, counts[listed]))).astype(np.int64) - 1
        blocks = np.int64(2) << size
        starts = np.cumsum(blocks) - blocks
        _, source = entry_places(head)
        within = np.arange(len(source)) - np.repeat(np.cumsum(counts[listed]) - counts[listed], counts[listed])
        target = np.repeat(starts, counts[listed]) + within
        total = int(blocks.sum())
        rows.labels = _moved(labels, total + ENTRIES, source, target)
        rows.v = _moved(np.asarray(values), total + ENTRIES, source, target)
        rows.head[:] = np.minimum(head, 0)
        rows.head[listed] = starts << START | counts[listed] << COUNT | size
        rows.dense = np.zeros((len(dense) + DENSE, frozen.labels + SPARE_LABELS), np.float32)
        rows.dense[: len(dense), : frozen.labels] = dense[:, : frozen.labels]
        rows.room[[USED, LIMIT]] = total, len(rows.v)
        rows.room[[DENSE_USED, DENSE_LIMIT]] = len(dense), len(rows.dense)
        return rows

    @classmethod
    def zeros(cls, features: int, labels: int, *, matrix: bool | None = None) -> "LearningRows":
        """Return rows without weights; `matrix` says whether all are dense, which their number decides by default."""
        if features == 0 or (fits_matrix(features, labels) if matrix is None else matrix):
            return cls.of_matrix(np.zeros((features, labels), np.float32))
        room = np.zeros(ROOM_SIZE, np.int64)
        room[DENSE_FROM] = dense_from(labels)
        room[LIMIT], room[DENSE_LIMIT] = ENTRIES, DENSE
        return cls(
            labels,
            np.zeros(features, np.int64),
            np.zeros(ENTRIES, np.uint16),
            np.zeros((ENTRIES, 1), np.float32),
            _none(),
            _none(),
            np.zeros((DENSE, labels), np.float32),
            _none(),
            _none(),
            room,
        )

    @property
    def features(self) -> int:
        return len(self.head) or len(self.dense)

    @property
    def listed(self) -> bool:
        """Whether features have lists."""
        return len(self.head) > 0

    @property
    def size(self) -> int:
        """How many weights there are, zero or not."""
        return self.features * self.count

    def prepare(self, *, averaged: bool, l1: bool) -> None:
        """Make room for what a learner needs besides the weights."""
        if averaged and not len(self.dense_sums):
            self.sums, self.dense_sums = np.zeros_like(self.v), np.zeros_like(self.dense)
        if l1 and not len(self.dense_received):
            self.received, self.dense_received = np.zeros_like(self.v), np.zeros_like(self.dense)

    @property
    def arrays(self) -> LearnedRows:
        """The same arrays as kernels take them."""
        entries = Part(self.v, self.sums, self.received)
        dense = Part(self.dense, self.dense_sums, self.dense_received)
        return LearnedRows(self.head, self.labels, entries, dense, self.room)

    @property
    def rows(self) -> Rows:
        """The weights alone, as kernels take them."""
        return Rows(self.head, self.labels, self.v, self.dense)

    @property
    def parts(self) -> tuple[Part, Part]:
        """All weights in use, as two blocks."""
        used, dense = (int(self.room[USED]), int(self.room[DENSE_USED])) if self.listed else (0, None)
        return (
            Part(self.v[:used], self.sums[:used], self.received[:used]),
            Part(self.dense[:dense], self.dense_sums[:dense], self.dense_received[:dense]),
        )

    def clear(self) -> None:
        """Set all weights to zero."""
        for array in (self.head, self.v, self.sums, self.received, self.dense, self.dense_sums, self.dense_received):
            array[:] = 0
        self.room[:LIMIT] = 0

    def grow(self, features: int) -> None:
        """Make room for a sentence with this many features: pack the lists, and have as many entries again to spare."""
        head = self.head
        listed = np.flatnonzero(head > 0)
        sizes = np.int64(2) << (head[listed] & 15)
        starts = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        counts = (head[listed] >> COUNT) & MOST
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        source = np.repeat(head[listed] >> START, counts) + within
        target = np.repeat(starts, counts) + within
        entries = total + max(ENTRIES, total // 2, 4 * features * int(self.room[DENSE_FROM]))
        self.labels = _moved(self.labels, entries, source, target)
        self.v = _moved(self.v, entries, source, target)
        if len(self.dense_sums):
            self.sums = _moved(self.sums, entries, source, target)
        if len(self.dense_received):
            self.received = _moved(self.received, entries, source, target)
        head[listed] = starts << START | (head[listed] & ((1 << START) - 1))
        self.room[USED] = total
        dense = int(self.room[DENSE_USED])
        if dense + features > len(self.dense):
            self.widen(dense + dense // 2 + features + SPARE_ROWS, self.dense.shape[1])
        self.room[LIMIT], self.room[DENSE_LIMIT] = len(self.v), len(self.dense)

    def widen(self, rows: int, width: int) -> None:
        """Give the dense rows another shape, at least the one they have."""
        if (rows, width) == self.dense.shape:
            return
        for name in ("dense", "dense_sums", "dense_received"):
            old = getattr(self, name)
            if len(old) or name == "dense":
                new = np.zeros((rows, width), np.float32)
                new[: len(old), : old.shape[1]] = old
                setattr(self, name, new)

    def add_labels(self, count: int) -> None:
        """Grow to this many labels."""
        if count > self.dense.shape[1]:
            self.widen(len(self.dense), count + max(SPARE_LABELS, count // 4))
        self.count = count

    def drop_labels(self, count: int) -> None:
        """Keep only the first labels, this many; the weights of the others are gone already."""
        if self.listed:
            owner, places = entry_places(self.head)
            kept = self.labels[places] < count
            counts = np.bincount(owner[kept], minlength=self.features)
            starts = (self.head >> START)[owner[kept]]
            target = starts + np.arange(len(starts)) - (np.cumsum(counts) - counts)[owner[kept]]
            for array in (self.labels, self.v, self.sums, self.received):
                if len(array):
                    values = array[places[kept]]
                    array[places] = 0
                    array[target] = values
            changed = np.unique(owner[~kept])
            mask = np.int64(MOST << COUNT)
            self.head[changed] = self.head[changed] & ~mask | counts[changed] << COUNT
        for array in (self.dense, self.dense_sums, self.dense_received):
            array[:, count:] = 0
        self.count = count

    def fix(self, gold: Ints, row_offsets: Longs, rows: Ints) -> None:
        """Have entries for the pairs of features and gold labels that are there, and let none be added.

        `rows` are the features of the tokens, as in an EncodedCorpus.
        """
        tokens = np.repeat(np.arange(len(gold)), np.diff(row_offsets))
        kept = gold[tokens] >= 0
        pairs = np.unique(rows[kept].astype(np.int64) * self.count + gold[tokens[kept]])
        counts = np.bincount(pairs // self.count, minlength=self.features)
        ones = np.ones(len(pairs), np.float32)  # not zero, so that the lists have them
        made = FeatureRows.of_entries(counts.astype(np.int32), (pairs % self.count).astype(np.uint16), ones, self.count)
        self.head, self.labels = made.arrays.head, made.arrays.labels
        self.v, self.dense = np.zeros_like(made.arrays.values), np.zeros_like(made.arrays.dense)
        averaged, l1 = len(self.dense_sums) > 0, len(self.dense_received) > 0
        self.sums = self.received = self.dense_sums = self.dense_received = _none()
        self.prepare(averaged=averaged, l1=l1)
        self.room[[USED, LIMIT]] = len(self.v)
        self.room[[DENSE_USED, DENSE_LIMIT]] = len(self.dense)
        self.room[FIXED] = 1

    def gathered(self, features: Ints) -> Floats:
        """Return the v of some features as [features, labels], a copy."""
        out = np.empty((len(features), self.count), np.float32)
        gather_rows(features, self.rows, out)
        return out

    def frozen(self, entries: Floats, dense: Floats) -> FeatureRows:
        """Return rows of these values, which stand where the v of mine stand; they are packed where there are lists."""
        if not self.listed:
            return FeatureRows(no_rows(dense), self.count)
        found = FeatureRows(Rows(self.head, self.labels, entries, dense), self.count)
        return FeatureRows.of_entries(*found.entries(), self.count)

    def packed(self) -> FeatureRows:
        """Return rows of my v, and leave none here: together with the new ones they would be the peak of memory."""
        if not self.listed:
            return self.frozen(self.v, self.dense)
        found = FeatureRows(self.rows, self.count).entries()
        empty = LearningRows.zeros(self.features, self.count, matrix=False)
        for name in NAMES:
            setattr(self, name, getattr(empty, name))
        return FeatureRows.of_entries(*found, self.count)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all arrays, for a checkpoint."""
        return {f"rows.{name}": getattr(self, name) for name in NAMES}


def _moved(array: NDArray[Any], size: int, source: Longs, target: Longs) -> NDArray[Any]:
    new = np.zeros((size, *array.shape[1:]), array.dtype)
    new[target] = array[source]
    return new
