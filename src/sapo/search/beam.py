"""Find n good taggings of a lattice by beam search: not exact, unless the beam is wide enough.

From left to right: extend the partial taggings of the beam by every label, and keep the best `width` of them.
"""

import math
from typing import NamedTuple

import numpy as np

from sapo.jit import call_interruptibly, kernel
from sapo.jit.arrays import Doubles, Floats, Ints, Longs
from sapo.search.lattice import Lattice
from sapo.search.topn import Candidates, check_wanted, check_width


class Heap(NamedTuple):
    """The best extensions so far, the worst one on top."""

    scores: Doubles  # [room]
    numbers: Longs  # [room] k * L + y for the partial tagging k of the beam and the label y


class Gains(NamedTuple):
    """What the labels of a token add."""

    row: Doubles  # [L] work: after one label
    top: Doubles  # [L] the most after each label
    made_for: Longs  # [L] the token that top[p] was made for


@kernel
def beam_n(
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    T: int,
    n: int,
    width: int,  # partial taggings to keep at each token but the last, where n are kept
    margin: float,  # leave out taggings that score this much less than the best one
    paths: Ints,  # [n, T] out
    scores: Doubles,  # [n] out, best first
) -> int:
    """Return how many taggings were found: fewer than n if the beam holds fewer, or if `margin` cuts them off."""
    L = node.shape[1]
    kept = 1
    most = 1
    room = 0
    for t in range(T):
        kept = min(kept * L, width if t < T - 1 else n)
        most = max(most, kept)
        room += kept
    # All that were ever in the beam: the last label, and the number of what stands before it.
    labels = np.empty(room, np.int32)
    parents = np.empty(room, np.int32)
    used = 0
    # The beam is the last `kept` of them, best first; at the start the empty tagging, whose number would be -1.
    first = -1
    kept = 1
    beam = np.zeros(most, np.float64)
    ends = np.zeros(most, np.int32)
    heap = Heap(np.empty(most, np.float64), np.empty(most, np.int64))
    gains = Gains(np.empty(L, np.float64), np.empty(L, np.float64), np.full(L, -1, np.int64))

    for t in range(T):
        wanted = width if t < T - 1 else n
        kept = _best_extensions(node, edge, t, kept, beam, ends, wanted, heap, gains)
        _sort(kept, heap)
        for i in range(kept):
            beam[i] = heap.scores[i]
            ends[i] = heap.numbers[i] % L
            labels[used + i] = ends[i]
            parents[used + i] = first + heap.numbers[i] // L
        first = used
        used += kept

    found = 0
    while found < kept and beam[found] >= beam[0] - margin:
        scores[found] = beam[found]
        k = first + found
        for t in range(T - 1, -1, -1):
            paths[found, t] = labels[k]
            k = parents[k]
        found += 1
    return found


@kernel
def _best_extensions(
    node: Floats,
    edge: Floats,
    t: int,
    kept: int,
    beam: Doubles,  # [kept] score of each partial tagging, best first
    ends: Ints,  # [kept] its last label
    wanted: int,
    heap: Heap,  # out, with room for `wanted`
    gains: Gains,  # work
) -> int:
    """Select the `wanted` best extensions of the beam by the token t; return how many there are."""
    # gain[p,y] = node[t,y] + edge[t,p,y], and score[k,y] = beam[k] + gain[ends[k],y]
    gain, top_gain, made_for = gains
    L = node.shape[1]
    for k in range(kept):
        p = ends[k]
        if made_for[p] != t:
            _gains(node, edge, t, p, gain)
            top_gain[p] = gain[0]
            for y in range(1, L):
                top_gain[p] = max(top_gain[p], gain[y])
            made_for[p] = t
    # The best extension of each of the first `wanted` is there to be had: what scores less need not be looked at.
    floor = -np.inf
    if kept >= wanted:
        floor = np.inf
        for k in range(wanted):
            floor = min(floor, beam[k] + top_gain[ends[k]])
    size = 0
    for k in range(kept):
        if beam[k] + top_gain[ends[k]] >= floor:
            _gains(node, edge, t, ends[k], gain)
            for y in range(L):
                score = beam[k] + gain[y]
                if score >= floor and score > -np.inf:
                    if size < wanted:
                        _push(score, k * L + y, size, heap)
                        size += 1
                    elif score > heap.scores[0]:
                        _replace(score, k * L + y, size, heap)
                    if size == wanted:
                        floor = heap.scores[0]
    return size


@kernel
def _gains(node: Floats, edge: Floats, t: int, p: int, gain: Doubles) -> None:
    """What each label adds at t after p; there is nothing before the first token."""
    for y in range(len(gain)):
        gain[y] = float(node[t, y])
    if t > 0:
        for y in range(len(gain)):
            gain[y] += float(edge[t if edge.shape[0] > 1 else 0, p, y])


@kernel
def _worse(score: float, number: int, other_score: float, other_number: int) -> bool:
    """Among equals the later one is worse."""
    if score != other_score:
        return score < other_score
    return number > other_number


@kernel
def _push(score: float, number: int, size: int, heap: Heap) -> None:
    """Put a newcomer into a heap of `size` others."""
    scores, numbers = heap
    i = size
    while i > 0 and _worse(score, number, scores[(i - 1) // 2], numbers[(i - 1) // 2]):
        scores[i] = scores[(i - 1) // 2]
        numbers[i] = numbers[(i - 1) // 2]
        i = (i - 1) // 2
    scores[i] = score
    numbers[i] = number


@kernel
def _replace(score: float, number: int, size: int, heap: Heap) -> None:
    """Put a newcomer into the heap instead of the worst one."""
    scores, numbers = heap
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _worse(scores[child + 1], numbers[child + 1], scores[child], numbers[child]):
            child += 1
        if not _worse(scores[child], numbers[child], score, number):
            break
        scores[i] = scores[child]
        numbers[i] = numbers[child]
        i = child
    scores[i] = score
    numbers[i] = number


@kernel
def _sort(size: int, heap: Heap) -> None:
    """Turn the heap into a list, best first: the worst one goes to the end, again and again."""
    scores, numbers = heap
    for last in range(size - 1, 0, -1):
        score = scores[last]
        number = numbers[last]
        scores[last] = scores[0]
        numbers[last] = numbers[0]
        _replace(score, number, last, heap)


def beam(lattice: Lattice, *, n: int = 5, width: int = 50, stop_ratio: float = np.inf) -> Candidates:
    """Return the n best taggings found by a beam, which keeps the `width` best beginnings at every token.

    Leaves out taggings that are more than `stop_ratio` times less probable than the best one found.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.array([[0, 0], [3, 0]], np.float32))
    >>> beam(lattice, n=1).paths.tolist()
    [[1, 0]]
    >>> beam(lattice, n=1, width=1).paths.tolist()
    [[0, 1]]
    """
    check_wanted(n, stop_ratio)
    check_width(width)
    T = lattice.tokens
    n = min(n, width * lattice.labels)  # more are not there
    if T == 0:
        return Candidates(np.empty((1, 0), np.int32), np.zeros(1))
    paths, scores = np.empty((n, T), np.int32), np.empty(n, np.float64)
    margin = math.log(stop_ratio)
    steps = (width + n) * lattice.node.size
    found = call_interruptibly(beam_n, lattice.node, lattice.steps, T, n, width, margin, paths, scores, steps=steps)
    return Candidates(lattice.to_labels(paths[:found]), scores[:found])
