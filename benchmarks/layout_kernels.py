"""Prototypes of layouts of sparse weights: score tokens and change weights, for benchmarks/layouts.py.

A trace is what SAPO changed: for each touched token the labels (the gold label and its rivals) and what each got. Every
layout replays it from where it stopped and returns how far it came: where room runs out Python must make more.

Kernels take the arrays out of their tuples before any loop: numba counts references at each access, and updates took
several times as long.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from sapo import jit as kernels
from sapo.jit.arrays import Floats, Ints, Longs
from sapo.search import lattice

kernels.compile_kernels()
jit = numba.njit(nogil=True, cache=True)
score_nodes = lattice.score_nodes

FEATURES = 256  # of a token, at most


class Corpus(NamedTuple):
    """Sentences in the order of learning."""

    order: Longs
    offsets: Longs  # [sentences + 1]
    row_offsets: Longs  # [tokens + 1]
    rows: Ints


class Trace(NamedTuple):
    tokens: Ints  # [changes] the touched tokens
    offsets: Longs  # [changes + 1] into labels and deltas
    labels: Ints
    deltas: Floats


# a. Dense: a matrix.


@jit
def score_dense(corpus: Corpus, weights: Floats, node: Floats) -> float:
    """Score all sentences; return a sum, so that nothing is optimized away."""
    total = 0.0
    none = np.empty(0, np.float32)
    for s in corpus.order:
        first, last = corpus.offsets[s], corpus.offsets[s + 1]
        score_nodes(first, last, corpus.row_offsets, corpus.rows, none, weights, 1.0, node)
        total += node[0, 0]
    return total


@jit
def replay_dense(corpus: Corpus, trace: Trace, begin: int, weights: Floats, sums: Floats) -> int:
    _, _, row_offsets, rows = corpus
    tokens, offsets, labels, deltas = trace
    averaged = len(sums) > 0
    for u in range(begin, len(tokens)):
        token = tokens[u]
        for i in range(row_offsets[token], row_offsets[token + 1]):
            f = rows[i]
            for j in range(offsets[u], offsets[u + 1]):
                weights[f, labels[j]] += deltas[j]
                if averaged:
                    sums[f, labels[j]] += deltas[j] * np.float32(u)
    return len(tokens)


# b. Blocks: each feature has a block of a pool; a full block is left for one twice as large. Rows that use many labels
# are rows of a dense matrix. head[f] is 0 for an empty row, -1 - d for dense row d, else start, count and size class.


class Blocks(NamedTuple):
    head: Longs  # [features] start << 20 | count << 4 | size class, of which blocks have 2 << class entries
    labels: Any  # [entries] these three may be strided: then the fields of an entry lie side by side
    weights: Any  # [entries]
    sums: Any  # [entries], or [0] where nothing is averaged
    links: Any  # [entries] int32, the memory of the weights: free blocks are chained there
    dense: Floats  # [dense rows, L]
    dense_sums: Floats
    state: Longs  # an arena: USED, END, DENSE_USED, DENSE_END, REUSE, then the first free block of each class


USED, END, DENSE_USED, DENSE_END, REUSE, FREE = 0, 1, 2, 3, 4, 5
STATE_SIZE = FREE + 16


@jit
def score_blocks(corpus: Corpus, b: Blocks, node: Floats) -> float:
    """Sparse rows are scattered; dense rows are kept for later and added four at a time, as in score_nodes."""
    order, offsets, row_offsets, rows = corpus
    heads, entry_labels, weights, dense = b.head, b.labels, b.weights, b.dense
    L = dense.shape[1]
    later = np.empty(FEATURES, np.int64)
    total = 0.0
    for s in order:
        first = offsets[s]
        for token in range(first, offsets[s + 1]):
            out = node[token - first]
            for y in range(L):
                out[y] = 0.0
            n = 0
            for i in range(row_offsets[token], row_offsets[token + 1]):
                head = heads[rows[i]]
                if head < 0:
                    later[n] = -1 - head
                    n += 1
                else:
                    start = head >> 20
                    for k in range(start, start + ((head >> 4) & 0xFFFF)):
                        out[entry_labels[k]] += weights[k]
            add_dense(dense, later, n, out)
        total += node[0, 0]
    return total


@jit
def add_dense(dense: Floats, which: Longs, n: int, out: Floats) -> None:
    L = dense.shape[1]
    i = 0
    while i + 4 <= n:
        e, f, g, h = which[i], which[i + 1], which[i + 2], which[i + 3]
        for y in range(L):
            out[y] += (dense[e, y] + dense[f, y]) + (dense[g, y] + dense[h, y])
        i += 4
    while i < n:
        e = which[i]
        for y in range(L):
            out[y] += dense[e, y]
        i += 1


@jit
def replay_blocks(corpus: Corpus, trace: Trace, begin: int, b: Blocks, limit: int, ordered: bool) -> int:
    """Rows of `limit` entries become dense; entries of a row are in order of labels or of arrival."""
    _, _, row_offsets, rows = corpus
    tokens, offsets, labels, deltas = trace
    heads, entry_labels, weights, sums, _, dense, dense_sums, state = b
    averaged = len(sums) > 0
    for u in range(begin, len(tokens)):
        token = tokens[u]
        first, last = row_offsets[token], row_offsets[token + 1]
        if state[USED] + (last - first) * 4 * limit > state[END]:
            return u
        if state[DENSE_USED] + last - first > state[DENSE_END]:
            return u
        clock = np.float32(u)
        for i in range(first, last):
            f = rows[i]
            before = head = heads[f]
            if head < 0 and not averaged:  # nothing to find: most of what is touched is dense
                for j in range(offsets[u], offsets[u + 1]):
                    dense[-1 - head, labels[j]] += deltas[j]
                continue
            for j in range(offsets[u], offsets[u + 1]):
                y, delta = labels[j], deltas[j]
                start, count = head >> 20, (head >> 4) & 0xFFFF
                at, end = start, start + count
                if head >= 0:
                    if ordered:
                        while at < end and entry_labels[at] < y:
                            at += 1
                    else:
                        while at < end and entry_labels[at] != y:
                            at += 1
                    if at < end and entry_labels[at] == y:
                        weights[at] += delta
                        if averaged:
                            sums[at] += delta * clock
                        continue
                    if count + 1 >= limit:
                        head = make_dense(b, head)
                if head < 0:
                    dense[-1 - head, y] += delta
                    if averaged:
                        dense_sums[-1 - head, y] += delta * clock
                    continue
                if head == 0 or count == 2 << (head & 15):
                    head = move(b, head)
                    at += (head >> 20) - start
                    end += (head >> 20) - start
                for k in range(end, at, -1):  # where rows are in order
                    entry_labels[k], weights[k] = entry_labels[k - 1], weights[k - 1]
                    if averaged:
                        sums[k] = sums[k - 1]
                entry_labels[at], weights[at] = y, delta
                if averaged:
                    sums[at] = delta * clock
                head += 1 << 4
            if head != before:
                heads[f] = head
    return len(tokens)


@jit
def move(b: Blocks, head: int) -> int:
    """Move a row to the next larger block; return its new head."""
    size = 0 if head == 0 else (head & 15) + 1
    at = b.state[FREE + size]
    if at > 0:
        b.state[FREE + size] = b.links[at]
    else:
        at = b.state[USED]
        b.state[USED] += 2 << size
    start, count = head >> 20, (head >> 4) & 0xFFFF
    for k in range(count):
        b.labels[at + k], b.weights[at + k] = b.labels[start + k], b.weights[start + k]
        if len(b.sums) > 0:
            b.sums[at + k] = b.sums[start + k]
    release(b, head)
    return (at << 20) | (count << 4) | size


@jit
def make_dense(b: Blocks, head: int) -> int:
    row = b.state[DENSE_USED]
    b.state[DENSE_USED] += 1
    start = head >> 20
    for k in range(start, start + ((head >> 4) & 0xFFFF)):
        b.dense[row, b.labels[k]] = b.weights[k]
        if len(b.sums) > 0:
            b.dense_sums[row, b.labels[k]] = b.sums[k]
    release(b, head)
    return -1 - row


@jit
def release(b: Blocks, head: int) -> None:
    """Put a block on the list of free blocks, unless other threads may still read it."""
    if head > 0 and b.state[REUSE]:
        b.links[head >> 20] = b.state[FREE + (head & 15)]
        b.state[FREE + (head & 15)] = head >> 20


@jit
def unpack(b: Blocks, weights: Floats) -> None:
    """Write all rows into a matrix."""
    heads, entry_labels, entries, dense = b.head, b.labels, b.weights, b.dense
    for f in range(len(heads)):
        head = heads[f]
        if head < 0:
            weights[f] = dense[-1 - head]
        else:
            for k in range(head >> 20, (head >> 20) + ((head >> 4) & 0xFFFF)):
                weights[f, entry_labels[k]] += entries[k]


# c. Rows with slack: pairs of features and gold labels, and some free places behind each row. What does not fit
# waits in a list until all rows are laid out anew; until then no score sees it.


class Slack(NamedTuple):
    starts: Longs  # [features + 1]
    counts: Ints  # [features]
    labels: Any  # [places] uint16
    weights: Floats
    waiting_rows: Ints
    waiting_labels: Ints
    waiting_deltas: Floats
    waiting: Longs  # [1] how many


@jit
def score_slack(corpus: Corpus, c: Slack, node: Floats) -> float:
    order, offsets, row_offsets, rows = corpus
    starts, counts, entry_labels, weights = c.starts, c.counts, c.labels, c.weights
    L = node.shape[1]
    total = 0.0
    for s in order:
        first = offsets[s]
        for token in range(first, offsets[s + 1]):
            out = node[token - first]
            for y in range(L):
                out[y] = 0.0
            for i in range(row_offsets[token], row_offsets[token + 1]):
                f = rows[i]
                for k in range(starts[f], starts[f] + counts[f]):
                    out[entry_labels[k]] += weights[k]
        total += node[0, 0]
    return total


@jit
def replay_slack(corpus: Corpus, trace: Trace, begin: int, c: Slack) -> int:
    _, _, row_offsets, rows = corpus
    tokens, offsets, labels, deltas = trace
    starts, counts, entry_labels, weights, waiting_rows, waiting_labels, waiting_deltas, waiting = c
    n = waiting[0]
    for u in range(begin, len(tokens)):
        token = tokens[u]
        first, last = row_offsets[token], row_offsets[token + 1]
        if n + (last - first) * (offsets[u + 1] - offsets[u]) > len(waiting_rows):
            waiting[0] = n
            return u
        for i in range(first, last):
            f = rows[i]
            for j in range(offsets[u], offsets[u + 1]):
                at, end = starts[f], starts[f] + counts[f]
                while at < end and entry_labels[at] != labels[j]:
                    at += 1
                if at < end:
                    weights[at] += deltas[j]
                elif end < starts[f + 1]:
                    entry_labels[end], weights[end] = labels[j], deltas[j]
                    counts[f] += 1
                else:
                    waiting_rows[n], waiting_labels[n], waiting_deltas[n] = f, labels[j], deltas[j]
                    n += 1
    waiting[0] = n
    return len(tokens)


@jit
def lay_out(c: Slack, new: Slack) -> None:
    """Copy rows to where new.starts says, then what waits; the new rows have room for it."""
    starts, counts, entry_labels, weights, waiting_rows, waiting_labels, waiting_deltas, waiting = c
    new_starts, new_counts, new_labels, new_weights, _, _, _, _ = new
    for f in range(len(counts)):
        for k in range(counts[f]):
            new_labels[new_starts[f] + k] = entry_labels[starts[f] + k]
            new_weights[new_starts[f] + k] = weights[starts[f] + k]
        new_counts[f] = counts[f]
    for n in range(waiting[0]):
        f = waiting_rows[n]
        at, end = new_starts[f], new_starts[f] + new_counts[f]
        while at < end and new_labels[at] != waiting_labels[n]:
            at += 1
        if at == end:
            new_labels[at] = waiting_labels[n]
            new_counts[f] += 1
        new_weights[at] += waiting_deltas[n]


# d. Hash: one open-addressing table of pairs. A score has to ask for every label of every feature.


class Hash(NamedTuple):
    keys: Longs  # [slots, a power of 2] feature * L + label + 1; 0 is free
    weights: Floats
    used: Longs  # [1]


@jit
def slot_of(key: int, keys: Longs) -> int:
    mask = len(keys) - 1
    slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@jit
def score_hash(corpus: Corpus, d: Hash, node: Floats) -> float:
    order, offsets, row_offsets, rows = corpus
    keys, weights, _ = d
    L = node.shape[1]
    total = 0.0
    for s in order:
        first = offsets[s]
        for token in range(first, offsets[s + 1]):
            out = node[token - first]
            for y in range(L):
                out[y] = 0.0
            for i in range(row_offsets[token], row_offsets[token + 1]):
                f = np.int64(rows[i])
                for y in range(L):
                    slot = slot_of(f * L + y + 1, keys)
                    if keys[slot] != 0:
                        out[y] += weights[slot]
        total += node[0, 0]
    return total


@jit
def replay_hash(corpus: Corpus, trace: Trace, begin: int, d: Hash, L: int) -> int:
    _, _, row_offsets, rows = corpus
    tokens, offsets, labels, deltas = trace
    keys, weights, used = d
    for u in range(begin, len(tokens)):
        if 2 * (used[0] + FEATURES * 8) > len(keys):
            return u
        token = tokens[u]
        for i in range(row_offsets[token], row_offsets[token + 1]):
            for j in range(offsets[u], offsets[u + 1]):
                key = np.int64(rows[i]) * L + labels[j] + 1
                slot = slot_of(key, keys)
                if keys[slot] == 0:
                    keys[slot] = key
                    used[0] += 1
                weights[slot] += deltas[j]
    return len(tokens)


@jit
def rehash(d: Hash, new: Hash) -> None:
    for slot in range(len(d.keys)):
        if d.keys[slot] != 0:
            to = slot_of(d.keys[slot], new.keys)
            new.keys[to], new.weights[to] = d.keys[slot], d.weights[slot]
    new.used[0] = d.used[0]


# e. Chains: entries in order of arrival, each with the place of the next one of its feature. Nothing ever moves.


class Chains(NamedTuple):
    head: Ints  # [features] the last entry, 0 for none
    labels: Any  # [entries] the fields of an entry lie side by side
    weights: Any
    next: Any
    used: Longs  # [1]


@jit
def score_chains(corpus: Corpus, e: Chains, node: Floats) -> float:
    order, offsets, row_offsets, rows = corpus
    heads, entry_labels, weights, following, _ = e
    L = node.shape[1]
    total = 0.0
    for s in order:
        first = offsets[s]
        for token in range(first, offsets[s + 1]):
            out = node[token - first]
            for y in range(L):
                out[y] = 0.0
            for i in range(row_offsets[token], row_offsets[token + 1]):
                k = heads[rows[i]]
                while k > 0:
                    out[entry_labels[k]] += weights[k]
                    k = following[k]
        total += node[0, 0]
    return total


@jit
def replay_chains(corpus: Corpus, trace: Trace, begin: int, e: Chains) -> int:
    _, _, row_offsets, rows = corpus
    tokens, offsets, labels, deltas = trace
    heads, entry_labels, weights, following, used = e
    for u in range(begin, len(tokens)):
        token = tokens[u]
        first, last = row_offsets[token], row_offsets[token + 1]
        if used[0] + (last - first) * (offsets[u + 1] - offsets[u]) > len(entry_labels):
            return u
        for i in range(first, last):
            f = rows[i]
            for j in range(offsets[u], offsets[u + 1]):
                k = heads[f]
                while k > 0 and entry_labels[k] != labels[j]:
                    k = following[k]
                if k == 0:
                    k = used[0]
                    used[0] += 1
                    entry_labels[k], weights[k], following[k] = labels[j], 0.0, heads[f]
                    heads[f] = k
                weights[k] += deltas[j]
    return len(tokens)


# Frozen: features in an order where those with dense rows come first, so that no row has to be looked up.


@jit
def score_frozen(
    corpus: Corpus, dense: Floats, starts: Ints, entry_labels: Any, weights: Floats, node: Floats
) -> float:
    """Features below len(dense) are rows of it; the others have the entries starts[f - len(dense)] and following."""
    order, offsets, row_offsets, rows = corpus
    D, L = dense.shape
    later = np.empty(FEATURES, np.int64)
    total = 0.0
    for s in order:
        first = offsets[s]
        for token in range(first, offsets[s + 1]):
            out = node[token - first]
            for y in range(L):
                out[y] = 0.0
            n = 0
            for i in range(row_offsets[token], row_offsets[token + 1]):
                f = rows[i]
                if f < D:
                    later[n] = f
                    n += 1
                else:
                    for k in range(starts[f - D], starts[f - D + 1]):
                        out[entry_labels[k]] += weights[k]
            add_dense(dense, later, n, out)
        total += node[0, 0]
    return total
