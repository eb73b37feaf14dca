"""Find what a worker changed in its weights, and join the changes of several.

All weights have a place in one long vector: feature f and label y at f * labels + y, then the pairs of labels, then the
entries of edge features. A change lists the places that moved, each once and in order, and by how much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo.jit import kernel
from sapo.jit.arrays import Bools, Floats, Ints, Shorts
from sapo.search.weights import COUNT, MOST, START, Rows

Places = NDArray[np.uint32] | NDArray[np.int64]  # of weights


@kernel
def mark(rows: Ints, seen: Bools) -> None:
    """Mark the features of some tokens as seen."""
    for i in range(len(rows)):
        seen[rows[i]] = True


@kernel
def moved_rows(features: Ints, old: Floats, dense: Floats, places: Places, values: Floats) -> int:
    """Write which weights of some dense rows moved, and by how much; return how many. old[features, labels]."""
    L = old.shape[1]
    found = 0
    for i in range(len(features)):
        f = np.int64(features[i])
        for y in range(L):
            moved = dense[f, y] - old[i, y]
            if moved != 0.0:
                places[found] = f * L + y
                values[found] = moved
                found += 1
    return found


@kernel
def moved_lists(
    first: int, last: int, seen: Bools, old: Rows, new: Rows, row: Floats, places: Places, values: Floats
) -> int:
    """The same of those features that were seen, where they have lists. row[labels] is scratch."""
    L = len(row)
    found = 0
    for f in range(first, last):
        if not seen[f]:
            continue
        at = new.head[f]
        if at < 0:
            for y in range(L):
                row[y] = new.dense[-1 - at, y]
        else:
            row[:] = 0.0
            start = at >> START
            for k in range(start, start + ((at >> COUNT) & MOST)):
                row[new.labels[k]] = new.values[k, 0]
        at = old.head[f]
        if at < 0:
            for y in range(L):
                row[y] -= old.dense[-1 - at, y]
        else:
            start = at >> START
            for k in range(start, start + ((at >> COUNT) & MOST)):
                row[old.labels[k]] -= old.values[k, 0]
        for y in range(L):
            if row[y] != 0.0:
                places[found] = f * L + y
                values[found] = row[y]
                found += 1
    return found


@kernel
def merge(
    places_a: Places,
    values_a: Floats,
    counts_a: Shorts,
    places_b: Places,
    values_b: Floats,
    counts_b: Shorts,
    places: Places,
    values: Floats,
    counts: Shorts,
) -> int:
    """Add up two changes, each with how many learners moved a weight (no counts: one); return how many places."""
    i, j, found = 0, 0, 0
    A, B = len(places_a), len(places_b)
    alone_a, alone_b = len(counts_a) == 0, len(counts_b) == 0
    while i < A or j < B:
        take_a = i < A and (j >= B or places_a[i] <= places_b[j])
        take_b = j < B and (i >= A or places_b[j] <= places_a[i])
        places[found] = places_a[i] if take_a else places_b[j]
        value, count = np.float32(0.0), 0
        if take_a:
            value += values_a[i]
            count += 1 if alone_a else counts_a[i]
            i += 1
        if take_b:
            value += values_b[j]
            count += 1 if alone_b else counts_b[j]
            j += 1
        values[found] = value
        counts[found] = count
        found += 1
    return found


@kernel
def add(places: Places, shift: int, values: Floats, v: Floats, sums: Floats, clock: float) -> None:
    """Add to weights that lie one after the other, from the place `shift` on; `sums` as in learn/rows.py."""
    averaged = len(sums) > 0
    at_clock = np.float32(clock)
    for i in range(len(places)):
        at = np.int64(places[i]) - shift
        v[at] += values[i]
        if averaged:
            sums[at] += values[i] * at_clock


@kernel
def by_feature(
    begin: int,
    places: Places,
    values: Floats,
    features: Ints,  # [N] out
    labels: Ints,  # [N, labels] out: which of a feature move
    counts: Ints,  # [N] out: how many
    moved: Floats,  # [N, labels] out
) -> tuple[int, int]:
    """Group changes from `begin` on by feature, at most N; return how many, and where the next begin."""
    N, L = labels.shape
    found = 0
    i = begin
    while i < len(places):
        f = np.int64(places[i]) // L
        if found == 0 or f != features[found - 1]:
            if found == N:
                break
            features[found] = f
            counts[found] = 0
            found += 1
        t = found - 1
        j = counts[t]
        labels[t, j] = np.int64(places[i]) - f * L
        moved[t, j] = values[i]
        counts[t] = j + 1
        i += 1
    return found, i


NO_COUNTS: Shorts = np.empty(0, np.uint16)


@dataclass(frozen=True, slots=True)
class Change:
    """Places of v (w = scale * v, see learn/weights.py), what is added to each, and how far all weights shrank."""

    places: Places
    values: Floats
    shrunk: float  # the scale after the change, as a share of the one before

    @property
    def nbytes(self) -> int:
        """Return how many bytes travel."""
        return self.places.nbytes + self.values.nbytes

    def rescaled(self, factor: float) -> "Change":
        """Return the same change where v was multiplied by `factor` since."""
        return self if factor == 1.0 else Change(self.places, self.values * np.float32(factor), self.shrunk)


def mix(changes: Sequence[Change]) -> Change:
    """Return one change for several that began with the same weights.

    A weight moves by the mean over those that moved it, not over all: what only one worker has seen is learned in full.

    >>> one = Change(np.array([1, 4], np.uint32), np.array([1, 1], np.float32), 1.0)
    >>> two = Change(np.array([4, 9], np.uint32), np.array([3, 5], np.float32), 0.5)
    >>> mixed = mix([one, two])
    >>> mixed.places.tolist(), mixed.values.tolist(), mixed.shrunk
    ([1, 4, 9], [1.0, 2.0, 5.0], 0.75)
    """
    shrunk = float(np.mean([change.shrunk for change in changes]))
    sums = [_Sum(*map(fixed, (change.places, change.values, NO_COUNTS))) for change in changes]
    while len(sums) > 1:  # neighbors together, so that each weight is added up in few steps
        pairs = [sums[at : at + 2] for at in range(0, len(sums), 2)]
        sums = [_merged(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    places, values, counts = sums[0]
    return Change(places, np.divide(values, counts, dtype=np.float32) if len(counts) else values, shrunk)


class _Sum(NamedTuple):
    """Changes of several workers, added up, and how many of them moved each weight; no counts if it is one worker."""

    places: Places
    values: Floats
    counts: Shorts


def _merged(one: _Sum, two: _Sum) -> _Sum:
    size = len(one.places) + len(two.places)
    places = np.empty(size, one.places.dtype)
    values, counts = np.empty(size, np.float32), np.empty(size, np.uint16)
    found = merge(*one, *two, places, values, counts)
    return _Sum(*(fixed(array[:found]) for array in (places, values, counts)))


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to, as arrays of the object store are: kernels are compiled only for these.

    >>> fixed(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view
