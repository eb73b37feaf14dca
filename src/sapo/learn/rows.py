"""The weights of features while they are learned: rows that grow where learning touches a new pair.

See search/rows.py for when all rows are dense, and kernels/weights.py for how a row is held.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapo.kernels import weights as kernel
from sapo.kernels.types import Floats, Ints, LearnedRows, Longs, Part, Rows, Shorts
from sapo.search.rows import FeatureRows, dense_from, entry_places, fits_matrix, no_rows

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
    room: Longs  # see kernels/weights.py
    shared: bool = False  # whether other threads change the same arrays: then they stay as large as they are

    @classmethod
    def of_matrix(cls, matrix: Floats) -> "LearningRows":
        """Return rows that are all dense, and change this matrix [features, labels] itself."""
        none = np.empty((0, 1), np.float32)
        rows = no_rows(matrix)
        room = np.zeros(kernel.ROOM_SIZE, np.int64)
        return cls(matrix.shape[1], rows.head, rows.labels, none, _none(), _none(), matrix, _none(), _none(), room)

    @classmethod
    def of_rows(cls, frozen: FeatureRows) -> "LearningRows":
        """Return a copy of rows with lists, which can be learned with."""
        head, labels, values, dense = frozen.arrays
        rows = cls.zeros(frozen.features, frozen.labels, matrix=False)
        counts = (head >> kernel.COUNT) & kernel.MOST
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
        rows.head[listed] = starts << kernel.START | counts[listed] << kernel.COUNT | size
        rows.dense = np.zeros((len(dense) + DENSE, frozen.labels + SPARE_LABELS), np.float32)
        rows.dense[: len(dense), : frozen.labels] = dense[:, : frozen.labels]
        rows.room[[kernel.USED, kernel.LIMIT]] = total, len(rows.v)
        rows.room[[kernel.DENSE_USED, kernel.DENSE_LIMIT]] = len(dense), len(rows.dense)
        return rows

    @classmethod
    def zeros(cls, features: int, labels: int, *, matrix: bool | None = None) -> "LearningRows":
        """Return rows without weights; `matrix` says whether all are dense, which their number decides by default."""
        if features == 0 or (fits_matrix(features, labels) if matrix is None else matrix):
            return cls.of_matrix(np.zeros((features, labels), np.float32))
        room = np.zeros(kernel.ROOM_SIZE, np.int64)
        room[kernel.DENSE_FROM] = dense_from(labels)
        room[kernel.LIMIT], room[kernel.DENSE_LIMIT] = ENTRIES, DENSE
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
        """Make room for what a learner needs beside the weights."""
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
        used, dense = (int(self.room[kernel.USED]), int(self.room[kernel.DENSE_USED])) if self.listed else (0, None)
        return (
            Part(self.v[:used], self.sums[:used], self.received[:used]),
            Part(self.dense[:dense], self.dense_sums[:dense], self.dense_received[:dense]),
        )

    def clear(self) -> None:
        """Set all weights to zero."""
        for array in (self.head, self.v, self.sums, self.received, self.dense, self.dense_sums, self.dense_received):
            array[:] = 0
        self.room[: kernel.LIMIT] = 0

    def grow(self, features: int) -> None:
        """Make room for a sentence with this many features: pack the lists, and have as many entries again to spare."""
        head = self.head
        listed = np.flatnonzero(head > 0)
        sizes = np.int64(2) << (head[listed] & 15)
        starts = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        counts = (head[listed] >> kernel.COUNT) & kernel.MOST
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        source = np.repeat(head[listed] >> kernel.START, counts) + within
        target = np.repeat(starts, counts) + within
        entries = total + max(ENTRIES, total // 2, 4 * features * int(self.room[kernel.DENSE_FROM]))
        self.labels = _moved(self.labels, entries, source, target)
        self.v = _moved(self.v, entries, source, target)
        if len(self.dense_sums):
            self.sums = _moved(self.sums, entries, source, target)
        if len(self.dense_received):
            self.received = _moved(self.received, entries, source, target)
        head[listed] = starts << kernel.START | (head[listed] & ((1 << kernel.START) - 1))
        self.room[kernel.USED] = total
        dense = int(self.room[kernel.DENSE_USED])
        if dense + features > len(self.dense):
            self.widen(dense + dense // 2 + features + SPARE_ROWS, self.dense.shape[1])
        self.room[kernel.LIMIT], self.room[kernel.DENSE_LIMIT] = len(self.v), len(self.dense)

    def arenas(self, threads: int) -> "list[LearningRows]":
        """Return the same arrays for each of several threads, which have a part of the room each."""
        used = np.linspace(self.room[kernel.USED], len(self.v), threads + 1).astype(np.int64)
        dense = np.linspace(self.room[kernel.DENSE_USED], len(self.dense), threads + 1).astype(np.int64)
        rooms = [self.room.copy() for _ in range(threads)]
        for thread, room in enumerate(rooms):
            room[[kernel.USED, kernel.LIMIT]] = used[thread : thread + 2]
            room[[kernel.DENSE_USED, kernel.DENSE_LIMIT]] = dense[thread : thread + 2]
        return [replace(self, room=room, shared=True) for room in rooms]

    def join(self, arenas: "list[LearningRows]") -> None:
        """Take over what threads have used; what lies between is empty."""
        for at in (kernel.USED, kernel.DENSE_USED):
            self.room[at] = max([int(self.room[at]), *(int(arena.room[at]) for arena in arenas)])

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
            starts = (self.head >> kernel.START)[owner[kept]]
            target = starts + np.arange(len(starts)) - (np.cumsum(counts) - counts)[owner[kept]]
            for array in (self.labels, self.v, self.sums, self.received):
                if len(array):
                    values = array[places[kept]]
                    array[places] = 0
                    array[target] = values
            changed = np.unique(owner[~kept])
            mask = np.int64(kernel.MOST << kernel.COUNT)
            self.head[changed] = self.head[changed] & ~mask | counts[changed] << kernel.COUNT
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
        self.room[[kernel.USED, kernel.LIMIT]] = len(self.v)
        self.room[[kernel.DENSE_USED, kernel.DENSE_LIMIT]] = len(self.dense)
        self.room[kernel.FIXED] = 1

    def gathered(self, features: Ints) -> Floats:
        """Return the v of some features as [features, labels], a copy."""
        out = np.empty((len(features), self.count), np.float32)
        kernel.gather_rows(features, self.rows, out)
        return out

    def frozen(self, entries: Floats, dense: Floats) -> FeatureRows:
        """Return rows of these values, which stand where the v of mine stand; they are packed where there are lists."""
        if not self.listed:
            return FeatureRows(no_rows(dense), self.count)
        found = FeatureRows(Rows(self.head, self.labels, entries, dense), self.count)
        return FeatureRows.of_entries(*found.entries(), self.count)

    def packed(self) -> FeatureRows:
        """Return rows of my v, and leave none here: beside the new ones they would be the peak of memory."""
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
