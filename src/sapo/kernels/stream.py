"""Lattice in, the best taggings out a few at a time, as many as are asked for.

The taggings, and their order, are those of `kernels/topn.py`: a tagging leaves its parent at a position with a label,
and takes the best choices before it. That kernel keeps the n best sidetracks in a sorted list, which is fast for a few.
Here each tagging has one sidetrack that waits, the best one not yet taken, and a heap says whose turn it is. When it is
taken, its tagging looks for the next one. So n taggings cost at most n * (T * L + log n), and some 50 bytes each,
whatever the length of the sentence.
"""

from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints, Longs

# Columns of `links` and `waiting`. The first row is no tagging, but what all end labels leave: the end of the sentence.
PARENT, POSITION, LABEL = 0, 1, 2
FOUND, WAITING = 0, 1  # how many rows are filled, and how many taggings are in the heap


class Choices(NamedTuple):
    """What stands before each label, at best, in the n best taggings."""

    best: Floats  # [T, L] from best_scores
    edge_to: Floats  # [stages, L, L] edge_to[t, y, p] = edge[t, p, y]
    choice: Ints  # [T, L] choice[t, y] is the best label at t where y follows
    gap: Floats  # [T, L] how much the second best loses


class Stream(NamedTuple):
    """The taggings that are found, each with its best sidetrack that was not taken."""

    scores: Doubles  # [room]
    links: Ints  # [room, 3] PARENT, POSITION, LABEL
    next_scores: Doubles  # [room]
    nexts: Ints  # [room, 3] the same of the sidetrack
    heap: Ints  # [room] the taggings with a sidetrack, the best one first
    counts: Longs  # [2] FOUND, WAITING


@kernel
def fill_choices(choices: Choices, T: int) -> None:
    """Find the best label before each label, where `best` and `edge_to` are given."""
    best, edge_to, choice, gap = choices
    L = best.shape[1]
    for t in range(T - 1):
        step = edge_to[t + 1 if edge_to.shape[0] > 1 else 0]
        for after in range(L):
            top = best[t, 0] + step[after, 0]
            chosen = 0
            second = -np.float32(np.inf)
            for p in range(1, L):
                value = best[t, p] + step[after, p]
                second = max(second, min(value, top))
                if value > top:
                    top = value
                    chosen = p
            choice[t, after] = chosen
            gap[t, after] = top - second if second > -np.inf else np.float32(np.inf)


@kernel
def start_stream(choices: Choices, T: int, stream: Stream, path: Ints) -> None:
    """Prepare a stream, with room for one row at least, of which no tagging is found yet."""
    stream.scores[0] = np.inf
    stream.links[0, PARENT] = -1
    stream.links[0, POSITION] = T
    stream.links[0, LABEL] = -1
    stream.next_scores[0] = np.inf
    stream.nexts[0, POSITION] = T
    stream.counts[FOUND] = 1
    stream.counts[WAITING] = _wait(0, choices, T, stream, 0, path)


@kernel
def find_more(
    choices: Choices,
    T: int,
    margin: float,  # leave out taggings that score this much less than the best one
    until: int,  # rows, for which there is room
    stream: Stream,  # changed
    path: Ints,  # [T] work
) -> None:
    """Go on until this many rows are filled, or no more taggings are left."""
    scores, links, next_scores, nexts, heap, counts = stream
    found = counts[FOUND]
    waiting = counts[WAITING]
    while found < until and waiting > 0:
        k = int(heap[0])
        if found > 1 and next_scores[k] < scores[1] - margin:
            waiting = 0
            break
        scores[found] = next_scores[k]
        links[found, PARENT] = k
        links[found, POSITION] = nexts[k, POSITION]
        links[found, LABEL] = nexts[k, LABEL]
        waiting -= 1
        heap[0] = heap[waiting]
        _sift_down(waiting, heap, next_scores)
        # behind the sidetrack nothing of it was taken yet: any score may come
        next_scores[found] = np.inf
        nexts[found, POSITION] = T
        waiting = _wait(k, choices, T, stream, waiting, path)
        waiting = _wait(found, choices, T, stream, waiting, path)
        found += 1
    counts[FOUND] = found
    counts[WAITING] = waiting


@kernel
def write_path(k: int, choices: Choices, T: int, stream: Stream, path: Ints) -> None:
    """Write the labels of the tagging k."""
    # from k up to its ancestors positions grow: note who decides at each, then fill from the end
    for t in range(T):
        path[t] = -1
    at = k
    while at > 0:
        path[stream.links[at, POSITION]] = stream.links[at, LABEL]
        at = stream.links[at, PARENT]
    for t in range(T - 2, -1, -1):
        if path[t] < 0:
            path[t] = choices.choice[t, path[t + 1]]


@kernel
def write_paths(begin: int, choices: Choices, T: int, stream: Stream, paths: Ints) -> None:
    """Write the labels of the taggings from `begin` on, of which the first is 1, to paths[:, T]."""
    for i in range(len(paths)):
        write_path(begin + i, choices, T, stream, paths[i])


@kernel
def _wait(k: int, choices: Choices, T: int, stream: Stream, waiting: int, path: Ints) -> int:
    """Find the sidetrack of k that comes after the last one, and put k into the heap; return how many wait there.

    The better one comes first; among equals that of the later position, then that of the smaller label.
    """
    best, edge_to, gap = choices.best, choices.edge_to, choices.gap
    scores, nexts = stream.scores, stream.nexts
    L = best.shape[1]
    last = stream.next_scores[k]
    last_position = nexts[k, POSITION]
    last_label = nexts[k, LABEL]
    top_rival = -np.inf
    if k == 0:
        for y in range(L):
            rival = np.float64(best[T - 1, y])
            if rival > top_rival and (rival < last or (rival == last and y > last_label)):
                top_rival = rival
                nexts[k, POSITION] = T - 1
                nexts[k, LABEL] = y
    else:
        score = scores[k]
        write_path(k, choices, T, stream, path)
        for t in range(stream.links[k, POSITION] - 1, -1, -1):
            after = path[t + 1]
            if score - gap[t, after] <= top_rival:
                continue
            step = edge_to[t + 1 if edge_to.shape[0] > 1 else 0]
            chosen = path[t]
            top = best[t, chosen] + step[after, chosen]
            for p in range(L):
                rival = score - (top - (best[t, p] + step[after, p]))
                if rival > top_rival and p != chosen and rival <= last:
                    if rival < last or t < last_position or (t == last_position and p > last_label):
                        top_rival = rival
                        nexts[k, POSITION] = t
                        nexts[k, LABEL] = p
    if top_rival == -np.inf:
        return waiting
    stream.next_scores[k] = top_rival
    _push(k, waiting, stream.heap, stream.next_scores)
    return waiting + 1


@kernel
def _comes_before(j: int, k: int, scores: Doubles) -> bool:
    """The better sidetrack first; among equals that of the older tagging."""
    if scores[j] != scores[k]:
        return bool(scores[j] > scores[k])
    return j < k


@kernel
def _push(k: int, waiting: int, heap: Ints, scores: Doubles) -> None:
    """Put k into the heap beside the `waiting` ones."""
    i = waiting
    while i > 0 and _comes_before(k, heap[(i - 1) // 2], scores):
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = k


@kernel
def _sift_down(waiting: int, heap: Ints, scores: Doubles) -> None:
    """Let the first of the heap sink to its place."""
    k = heap[0]
    i = 0
    while 2 * i + 1 < waiting:
        child = 2 * i + 1
        if child + 1 < waiting and _comes_before(heap[child + 1], heap[child], scores):
            child += 1
        if not _comes_before(heap[child], k, scores):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = k
