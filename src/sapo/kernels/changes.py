"""What learning moved, the moves of several learners as one, and the weights that follow.

Feature f and label y have the place f * labels + y, and places are in order, each at most once.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Bools, Floats, Ints, Places, Rows, Shorts
from sapo.kernels.weights import COUNT, MOST, START


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
    """Add to weights that lie one after the other, from the place `shift` on; `sums` as in kernels/weights.py."""
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
    """Put changes from `begin` on beside their features, at most N; return how many, and where the next begin."""
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
