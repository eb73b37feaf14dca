"""Lattice in, n good taggings out, by beam search: simple, and not exact.

From left to right: extend the partial taggings of the beam by every label, and keep the best `width` of them.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints, Longs


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
    kept = min(L, 1)  # 1, but were it a literal, numba would compile the selection for it apart
    beam = np.zeros(most, np.float64)
    ends = np.zeros(most, np.int32)
    heap_scores = np.empty(most, np.float64)
    heap_numbers = np.empty(most, np.int64)
    gain = np.empty(L, np.float64)
    top_gain = np.empty(L, np.float64)
    made_for = np.full(L, -1, np.int64)

    for t in range(T):
        wanted = width if t < T - 1 else n
        kept = _best_extensions(
            node, edge, t, kept, beam, ends, wanted, heap_scores, heap_numbers, gain, top_gain, made_for
        )
        _sort(kept, heap_scores, heap_numbers)
        for i in range(kept):
            beam[i] = heap_scores[i]
            ends[i] = heap_numbers[i] % L
            labels[used + i] = ends[i]
            parents[used + i] = first + heap_numbers[i] // L
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
    heap_scores: Doubles,  # [wanted] out, a heap with the worst one on top
    heap_numbers: Longs,  # [wanted] out: k * L + y for the partial tagging k and the label y
    gain: Doubles,  # [L] work
    top_gain: Doubles,  # [L] work
    made_for: Longs,  # [L] work, the token that top_gain[p] was made for
) -> int:
    """Select the `wanted` best extensions of the beam by the token t; return how many there are."""
    # gain[p,y] = node[t,y] + edge[t,p,y], and score[k,y] = beam[k] + gain[ends[k],y]
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
                        _push(score, k * L + y, size, heap_scores, heap_numbers)
                        size += 1
                    elif score > heap_scores[0]:
                        _replace(score, k * L + y, size, heap_scores, heap_numbers)
                    if size == wanted:
                        floor = heap_scores[0]
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
def _push(score: float, number: int, size: int, heap_scores: Doubles, heap_numbers: Longs) -> None:
    """Put a newcomer into the heap beside the `size` ones."""
    i = size
    while i > 0 and _worse(score, number, heap_scores[(i - 1) // 2], heap_numbers[(i - 1) // 2]):
        heap_scores[i] = heap_scores[(i - 1) // 2]
        heap_numbers[i] = heap_numbers[(i - 1) // 2]
        i = (i - 1) // 2
    heap_scores[i] = score
    heap_numbers[i] = number


@kernel
def _replace(score: float, number: int, size: int, heap_scores: Doubles, heap_numbers: Longs) -> None:
    """Put a newcomer into the heap instead of the worst one."""
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _worse(
            heap_scores[child + 1], heap_numbers[child + 1], heap_scores[child], heap_numbers[child]
        ):
            child += 1
        if not _worse(heap_scores[child], heap_numbers[child], score, number):
            break
        heap_scores[i] = heap_scores[child]
        heap_numbers[i] = heap_numbers[child]
        i = child
    heap_scores[i] = score
    heap_numbers[i] = number


@kernel
def _sort(size: int, heap_scores: Doubles, heap_numbers: Longs) -> None:
    """Turn the heap into a list, best first: the worst one goes to the end, again and again."""
    for last in range(size - 1, 0, -1):
        score = heap_scores[last]
        number = heap_numbers[last]
        heap_scores[last] = heap_scores[0]
        heap_numbers[last] = heap_numbers[0]
        _replace(score, number, last, heap_scores, heap_numbers)
