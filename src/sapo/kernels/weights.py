"""All that reads or changes the weights of features, and nothing else.

`score_features` adds up the weights of features, `change_features` changes them. What walks over all weights is in
kernels/blocks.py.

The weights are w = scale * v (see learn/weights.py), and all blocks here are of v. For averaging, `sums` remembers
each change times the clock at which it came; it is empty where nothing is averaged. The clock is the sum of all
scales so far, so that the sum of all w so far is clock * v - sums, whatever the order of changes and shrinkings.

Rows. With few labels feature f has the dense row f, and `head` is empty. With many, a feature has what it needs:

    head[f] = 0                                   no weights yet
    head[f] = start << 20 | count << 4 | class    its entries, from start on; the block has room for 2 << class
    head[f] = -1 - d                              the dense row d

A list that is full moves to a block twice as large, and becomes a dense row once it has room[DENSE_FROM] entries. What
it leaves behind is zero and lost, until the lists are packed anew (learn/rows.py). Kernels cannot make arrays larger:
before a sentence is learned from there must be room for all that it may touch (`has_room`).
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.blocks import penalise_row
from sapo.kernels.types import Floats, Ints, LearnedRows, Parts, Rows, Samples, TaggingWeights

# What is in `room`, by index.
USED, DENSE_USED, LIMIT, DENSE_LIMIT, DENSE_FROM, FIXED = 0, 1, 2, 3, 4, 5
ROOM_SIZE = 6

START, COUNT, MOST = 20, 4, 0xFFFF  # bits of a head, and the largest count


@kernel
def tagging_weights(parts: Parts) -> TaggingWeights:
    """Return the weights of a learner as tagging needs them; they are still to be multiplied by the scale."""
    nodes = parts.nodes
    rows = Rows(nodes.head, nodes.labels, nodes.entries.v, nodes.dense.v)
    return TaggingWeights(
        rows,
        parts.edges.v,
        parts.pairs.v,
        parts.pair_offsets,
        parts.pair_codes,
        parts.bans,
        parts.lists,
        parts.bound,
    )


@kernel
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
    L = node.shape[1]
    weighted = len(values) > 0
    for t in range(T):
        for y in range(L):
            node[t, y] = 0.0
        i = row_offsets[first + t]
        end = row_offsets[first + t + 1]
        if weighted:
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
                node[t, y] *= scale


@kernel
def score_rows(first: int, T: int, samples: Samples, rows: Rows, scale: float, node: Floats) -> None:
    """Score all labels of a sentence where features have lists: first the short lists, then the dense rows."""
    row_offsets, features, values = samples.row_offsets, samples.rows, samples.values
    head, labels, entries, dense = rows.head, rows.labels, rows.values, rows.dense
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
                node[t, y] *= scale


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
            node[t, j] *= scale


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
def penalise_feature(f: int, nodes: LearnedRows, clock: float, penalty: float) -> None:
    """L1: bring the weights of one feature up to date."""
    if len(nodes.head) == 0:
        penalise_row(f, nodes.dense, clock, penalty)
        return
    at = nodes.head[f]
    if at < 0:
        penalise_row(-1 - at, nodes.dense, clock, penalty)
    elif at > 0:
        start = at >> START
        for k in range(start, start + ((at >> COUNT) & MOST)):
            penalise_row(k, nodes.entries, clock, penalty)


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
