"""Hold the weights of features as sparse rows, as scoring reads them.

Few labels, and not too many features: all rows are dense, as one matrix. Otherwise a feature has what is there, and no
more; only rows that use a good part of the labels are dense, which is faster to add up.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapo.features.encoded import Samples
from sapo.jit import in_numpy, kernel
from sapo.jit.arrays import Floats, Ints, Longs, Shorts


class Rows(NamedTuple):
    """The weights of features. A feature has a short list of labels with weights, or a dense row of all labels."""

    head: Longs  # [features] where each has its weights (see learn/rows.py); empty: feature f has the dense row f
    labels: Shorts  # [entries] the label of each entry of the short lists
    values: Floats  # [entries, 1] and its weight
    dense: Floats  # [dense rows, width] the first columns are the labels; the others are spare


class Lists(NamedTuple):
    """How to leave few labels a token, where there are many (see search/lattice.py)."""

    most: int | None  # labels that are left, at most; None: all of them
    order: Ints  # [labels] the labels by how often they occur, the most frequent first
    offsets: Longs  # [words + 1] the labels that each frequent word was seen with; no labels where it is not frequent
    labels: Shorts


class TaggingWeights(NamedTuple):
    """The weights as tagging needs them."""

    features: Rows
    edges: Floats  # [labels, labels]
    pairs: Floats  # [entries, 1] of edge features: see pair_offsets
    pair_offsets: Longs  # [edge features + 1] the entries of each edge feature
    pair_codes: Ints  # [entries] the pair p, y of an entry as p * labels + y, in order
    bans: Floats  # [labels + 2, labels] 0 or minus infinity: y after p; then y at the start; then y at the end
    lists: Lists
    bound: bool  # whether the bans say anything


START, COUNT, MOST = 20, 4, 0xFFFF  # bits of a head, and the largest count


def _score_features(first: int, T: int, samples: Samples, rows: Rows, scale: float, node: Floats) -> None:
    if len(rows.head) > 0:
        score_rows(first, T, samples, rows, scale, node)
        return
    offsets, L = samples.row_offsets[first : first + T + 1].tolist(), node.shape[1]
    for t in range(T):
        found = rows.dense[samples.rows[offsets[t] : offsets[t + 1]], :L]
        if len(samples.values):
            found = samples.values[offsets[t] : offsets[t + 1], None] * found
        if fours := len(found) & -4:
            e, f, g, h = (found[i:fours:4] for i in range(4))
            found = np.concatenate([(e + f) + (g + h), found[fours:]])
        node[t] = found.sum(axis=0)
    if scale != 1.0:
        node[:T] *= np.float32(scale)


def _score_rows(first: int, T: int, samples: Samples, rows: Rows, scale: float, node: Floats) -> None:
    offsets, L = samples.row_offsets[first : first + T + 1].tolist(), node.shape[1]
    for t in range(T):
        found = samples.rows[offsets[t] : offsets[t + 1]]
        values = samples.values[offsets[t] : offsets[t + 1]] if len(samples.values) else np.ones(len(found), np.float32)
        node[t] = 0.0
        heads = rows.head[found]
        for at, value in zip(heads.tolist(), values, strict=True):
            if at > 0:
                entries = slice(at >> START, (at >> START) + ((at >> COUNT) & MOST))
                node[t, rows.labels[entries]] += value * rows.values[entries, 0]
        for at, value in zip(heads.tolist(), values, strict=True):
            if at < 0:
                node[t] += value * rows.dense[-1 - at, :L]
    if scale != 1.0:
        node[:T] *= np.float32(scale)


@kernel
@in_numpy(_score_features)
def score_features(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    rows: Rows,
    scale: float,
    node: Floats,  # [T, labels] out
) -> None:
    """Add up the weights of each token's features."""
    # node[t,y] = scale * sum over the features f of token t of value[f] * weights[f,y]
    if len(rows.head) > 0:
        score_rows(first, T, samples, rows, scale, node)
        return
    row_offsets, features, values, weights = samples.row_offsets, samples.rows, samples.values, rows.dense
    factor = np.float32(scale)
    L = node.shape[1]
    weighted = len(values) > 0
    for t in range(T):
        for y in range(L):
            node[t, y] = 0.0
        i = row_offsets[first + t]
        end = row_offsets[first + t + 1]
        if weighted:
            while i + 4 <= end:
                e, f, g, h = features[i], features[i + 1], features[i + 2], features[i + 3]
                u, v, w, x = values[i], values[i + 1], values[i + 2], values[i + 3]
                for y in range(L):
                    node[t, y] += (u * weights[e, y] + v * weights[f, y]) + (w * weights[g, y] + x * weights[h, y])
                i += 4
            while i < end:
                f = features[i]
                for y in range(L):
                    node[t, y] += values[i] * weights[f, y]
                i += 1
        while i + 4 <= end:  # four rows at a time: they come from memory together, and the node is written once
            e, f, g, h = features[i], features[i + 1], features[i + 2], features[i + 3]
            for y in range(L):
                node[t, y] += (weights[e, y] + weights[f, y]) + (weights[g, y] + weights[h, y])
            i += 4
        while i < end:
            f = features[i]
            for y in range(L):
                node[t, y] += weights[f, y]
            i += 1
        if scale != 1.0:
            for y in range(L):
                node[t, y] *= factor


@kernel
@in_numpy(_score_rows)
def score_rows(first: int, T: int, samples: Samples, rows: Rows, scale: float, node: Floats) -> None:
    """Score all labels of a sentence where features have lists: first the short lists, then the dense rows."""
    row_offsets, features, values = samples.row_offsets, samples.rows, samples.values
    head, labels, entries, dense = rows.head, rows.labels, rows.values, rows.dense
    factor = np.float32(scale)
    L = node.shape[1]
    weighted = len(values) > 0
    for t in range(T):
        begin, end = row_offsets[first + t], row_offsets[first + t + 1]
        for y in range(L):
            node[t, y] = 0.0
        for i in range(begin, end):
            at = head[features[i]]
            if at > 0:
                start = at >> START
                value = values[i] if weighted else np.float32(1.0)
                for k in range(start, start + ((at >> COUNT) & MOST)):
                    node[t, labels[k]] += value * entries[k, 0]
        for i in range(begin, end):
            at = head[features[i]]
            if at < 0:
                value = values[i] if weighted else np.float32(1.0)
                for y in range(L):
                    node[t, y] += value * dense[-1 - at, y]
        if scale != 1.0:
            for y in range(L):
                node[t, y] *= factor


@kernel
def score_few(
    first: int,
    T: int,
    samples: Samples,
    rows: Rows,
    scale: float,
    few: Ints,  # [T, K] the labels to score
    counts: Ints,  # [T] how many of them
    begins: Ints,  # [T] from which on
    place: Ints,  # [labels] -1 everywhere
    node: Floats,  # [T, K] out
) -> None:
    """Add up the weights of each token's features, for a few labels."""
    row_offsets, features, values = samples.row_offsets, samples.rows, samples.values
    head, labels, entries, dense = rows.head, rows.labels, rows.values, rows.dense
    factor = np.float32(scale)
    weighted = len(values) > 0
    matrix = len(head) == 0
    for t in range(T):
        low, high = begins[t], counts[t]
        if low >= high:
            continue
        for j in range(low, high):
            place[few[t, j]] = j
            node[t, j] = 0.0
        for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
            f = features[i]
            at = -1 - np.int64(f) if matrix else head[f]
            value = values[i] if weighted else np.float32(1.0)
            if at < 0:
                for j in range(low, high):
                    node[t, j] += value * dense[-1 - at, few[t, j]]
            elif at > 0:
                start = at >> START
                for k in range(start, start + ((at >> COUNT) & MOST)):
                    j = place[labels[k]]
                    if j >= 0:
                        node[t, j] += value * entries[k, 0]
        for j in range(low, high):
            place[few[t, j]] = -1
            node[t, j] *= factor


@kernel
def gather_rows(features: Ints, rows: Rows, out: Floats) -> None:
    """Write the weights of some features to out[features, labels]."""
    L = out.shape[1]
    for i in range(len(features)):
        at = rows.head[features[i]] if len(rows.head) > 0 else -1 - np.int64(features[i])
        for y in range(L):
            out[i, y] = rows.dense[-1 - at, y] if at < 0 else np.float32(0.0)
        if at > 0:
            start = at >> START
            for k in range(start, start + ((at >> COUNT) & MOST)):
                out[i, rows.labels[k]] = rows.values[k, 0]


@kernel
def scale_rows(features: Ints, factors: Floats, rows: Rows) -> None:
    """Multiply the weights of some features, each by its factor."""
    for i in range(len(features)):
        at = rows.head[features[i]] if len(rows.head) > 0 else -1 - np.int64(features[i])
        if at < 0:
            for y in range(rows.dense.shape[1]):
                rows.dense[-1 - at, y] *= factors[i]
        elif at > 0:
            start = at >> START
            for k in range(start, start + ((at >> COUNT) & MOST)):
                rows.values[k, 0] *= factors[i]


@kernel
def put_rows(features: Ints, rows: Rows, wanted: Floats) -> None:
    """Give features back the weights wanted[features, labels]: labels that came since then get 0."""
    for i in range(len(features)):
        at = rows.head[features[i]] if len(rows.head) > 0 else -1 - np.int64(features[i])
        if at < 0:
            for y in range(wanted.shape[1]):
                rows.dense[-1 - at, y] = wanted[i, y]
            for y in range(wanted.shape[1], rows.dense.shape[1]):
                rows.dense[-1 - at, y] = 0.0
        elif at > 0:
            start = at >> START
            for k in range(start, start + ((at >> COUNT) & MOST)):
                y = rows.labels[k]
                rows.values[k, 0] = wanted[i, y] if y < wanted.shape[1] else np.float32(0.0)


FEW_LABELS = 32  # up to these a matrix is as fast as lists, or faster
MATRIX = 1 << 25  # weights that a matrix may have, zero or not: 128 MB
DENSE_PART = 8
IN_CACHE = 1 << 12  # rows whose places are made at once when a matrix is filled: three times as fast as all of them
AT_ONCE = 1 << 16  # rows: a copy of all of them would be the peak of memory


def fits_matrix(features: int, labels: int) -> bool:
    """Whether the weights are held as one matrix; those of no features are."""
    return features == 0 or (labels <= FEW_LABELS and features * labels <= MATRIX)


def dense_from(labels: int) -> int:
    """Return with how many labels a row becomes dense."""
    return max(2, labels // DENSE_PART)


def no_rows(dense: Floats) -> Rows:
    """Return rows that are all dense: feature f has the row f."""
    return Rows(np.empty(0, np.int64), np.empty(0, np.uint16), np.empty((0, 1), np.float32), dense)


def filled_matrix(counts: Ints, labels: "Shorts | Ints", values: Floats, count: int) -> Floats:
    """Return a matrix of `count` labels. Row f has the next counts[f] labels and values, in any order.

    >>> filled_matrix(np.array([1, 2]), np.array([1, 0, 1]), np.array([5.0, 6.0, 7.0]), 2).tolist()
    [[0.0, 5.0], [6.0, 7.0]]
    """
    matrix = np.zeros((len(counts), count), np.float32)
    flat, done = matrix.reshape(-1), 0
    for begin in range(0, len(counts), IN_CACHE):
        sizes = counts[begin : begin + IN_CACHE]
        places = np.repeat(np.arange(begin, begin + len(sizes)) * count, sizes)
        here = slice(done, done + len(places))
        places += labels[here]
        flat[places] = values[here]
        done = here.stop
    return matrix


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """Weights that do not change.

    >>> rows = FeatureRows.of_matrix(np.array([[0, 2], [0, 0]], np.float32))
    >>> rows.features, rows.labels, [array.tolist() for array in rows.entries()]
    (2, 2, [[1, 0], [1], [2.0]])
    """

    arrays: Rows
    labels: int

    @classmethod
    def of_matrix(cls, matrix: Floats) -> "FeatureRows":
        """Return the rows of a matrix [features, labels], which is not copied."""
        return cls(no_rows(matrix), matrix.shape[1])

    @classmethod
    def of_entries(cls, counts: Ints, labels: Shorts, values: Floats, count: int) -> "FeatureRows":
        """Return rows for `count` labels. Feature f has the next counts[f] labels and values, in any order."""
        if fits_matrix(len(counts), count):
            return cls.of_matrix(filled_matrix(counts, labels, values, count))
        sizes: Longs = counts.astype(np.int64)
        starts = np.cumsum(sizes) - sizes
        long = np.flatnonzero(sizes >= dense_from(count))
        dense = _filled(starts[long], sizes[long], labels, values, count)
        head = starts << START | sizes << COUNT
        head[sizes == 0] = 0
        head[long] = -1 - np.arange(len(dense))
        return cls(Rows(head, labels, values.reshape(-1, 1), dense), count)

    @property
    def features(self) -> int:
        """How many features have a row."""
        return len(self.arrays.head) or len(self.arrays.dense)

    def __len__(self) -> int:
        return self.features

    @property
    def nonzero(self) -> int:
        """How many weights are not zero."""
        if not len(self.arrays.head):
            return int(np.count_nonzero(self.arrays.dense))
        return len(self.entries()[1])

    def entries(self) -> tuple[Ints, Shorts, Floats]:
        """Return what is not zero: how many of each feature, their labels in order, and their weights."""
        counts = np.zeros(self.features, np.int32)
        labels, weights = [np.empty(0, np.uint16)], [np.empty(0, np.float32)]
        for begin in range(0, self.features, AT_ONCE):
            owners, found, values = self._entries(begin, begin + AT_ONCE)
            counts[begin : begin + AT_ONCE] = np.bincount(owners, minlength=min(AT_ONCE, self.features - begin))
            labels.append(found.astype(np.uint16))
            weights.append(values)
        return counts, np.concatenate(labels), np.concatenate(weights)

    def _entries(self, begin: int, end: int) -> tuple[Longs, Longs, Floats]:
        """Return what is not zero in some rows, in order: the row, counted from `begin`, the label and the weight."""
        head, labels, values, dense = self.arrays
        if not len(head):
            return _nonzero(dense[begin:end, : self.labels])
        some = head[begin:end]
        owner, places = entry_places(some)
        listed = values[places, 0]
        filled = np.flatnonzero(some < 0)
        rows, columns, weights = _nonzero(dense[-1 - some[filled], : self.labels])
        kept = listed != 0
        owners = np.concatenate([owner[kept], filled[rows]])
        found = np.concatenate([labels[places[kept]], columns])
        order = np.argsort(owners * self.labels + found, kind="stable")
        return owners[order], found[order], np.concatenate([listed[kept], weights])[order]

    def matrix(self) -> Floats:
        """Return all weights as [features, labels]; a copy, unless they are held like that."""
        if not len(self.arrays.head):
            return self.arrays.dense[:, : self.labels]
        return self.gathered(np.arange(self.features, dtype=np.int32))

    def gathered(self, features: Ints) -> Floats:
        """Return the weights of some features as [features, labels], a copy."""
        out = np.empty((len(features), self.labels), np.float32)
        gather_rows(np.asarray(features, np.int32), self.arrays, out)
        return out

    def scale(self, factors: Floats) -> None:
        """Multiply the weights of each feature by its factor, in place."""
        scale_rows(np.arange(self.features, dtype=np.int32), factors, self.arrays)

    def drop(self, below: float) -> None:
        """Make weights zero that are smaller than this, in place."""
        for weights in (self.arrays.values, self.arrays.dense):
            for start in range(0, len(weights), AT_ONCE):
                part = weights[start : start + AT_ONCE]
                part[np.abs(part) < below] = 0

    def column(self, label: int, entries: tuple[Ints, Shorts, Floats] | None = None) -> Floats:
        """Return the weights of one label, [features]; with `entries`, if several labels are wanted, it is quick."""
        if not len(self.arrays.head):
            return np.array(self.arrays.dense[:, label])
        counts, labels, values = entries or self.entries()
        found = np.zeros(self.features, np.float32)
        mine = labels == label
        found[np.repeat(np.arange(self.features), counts)[mine]] = values[mine]
        return found

    def strongest(self) -> tuple[Longs, Floats]:
        """Return for each feature the label of its largest |weight|, and that weight; the first label for none."""
        if not len(self.arrays.head):
            matrix = self.arrays.dense[:, : self.labels]
            best = np.abs(matrix).argmax(axis=1)
            return best, matrix[np.arange(len(matrix)), best]
        counts, labels, values = self.entries()
        owners = np.repeat(np.arange(self.features), counts)
        order = np.lexsort((labels, -np.abs(values), owners))
        first = order[np.cumsum(counts)[counts > 0] - counts[counts > 0]]
        best, weights = np.zeros(self.features, np.int64), np.zeros(self.features, np.float32)
        best[counts > 0], weights[counts > 0] = labels[first], values[first]
        return best, weights

    def largest(self) -> Floats:
        """Return the largest |weight| of each feature."""
        return np.abs(self.strongest()[1])


def entry_places(head: Longs) -> tuple[Longs, Longs]:
    """Return the feature and the place of every entry of the lists."""
    listed = np.flatnonzero(head > 0)
    starts, counts = head[listed] >> START, (head[listed] >> COUNT) & MOST
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(listed, counts), np.repeat(starts, counts) + within


def _nonzero(matrix: Floats) -> tuple[Longs, Longs, Floats]:
    """Return the rows, columns and values of what is not zero."""
    at = np.flatnonzero(matrix != 0)  # much faster than `nonzero` of a matrix of numbers
    rows = at // max(1, matrix.shape[1])
    columns = at - rows * matrix.shape[1]
    return rows, columns, matrix[rows, columns]


def _filled(starts: Longs, sizes: Longs, labels: Shorts, values: Floats, count: int) -> Floats:
    """Return a dense row for each of some features, whose entries begin at `starts`."""
    dense = np.zeros((len(starts), count), np.float32)
    for begin in range(0, len(starts), AT_ONCE):
        some = sizes[begin : begin + AT_ONCE]
        before = np.cumsum(some) - some
        places = np.repeat(starts[begin : begin + AT_ONCE] - before, some) + np.arange(int(some.sum()))
        dense[begin + np.repeat(np.arange(len(some)), some), labels[places]] = values[places]
    return dense
