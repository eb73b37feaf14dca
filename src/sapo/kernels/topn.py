"""Lattice in, the n best taggings out, exactly, by sidetracks.

After the Viterbi pass `best[t,y]` is the score of the best way to reach y at t. Build a tagging from its end: at
position t, with the label after it known, one label is the best choice and every other one is a sidetrack that
loses a known amount. So a tagging is (parent, position, label): it follows its parent from the end down to
`position`, takes `label` there, and the best choices from then on. Its score is the parent's less the loss.
Take the best of the waiting sidetracks, walk it out, and note the sidetracks that leave it before `position`;
those at or after it belong to its ancestors, so that every tagging is met once. This is A* with a perfect
heuristic, without the heap of nodes: the walk of one tagging costs T * L.
"""

from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints


class Sidetracks(NamedTuple):
    """Taggings by where they leave others: those that are done, then those that wait, best first."""

    scores: Doubles  # [n]
    parents: Ints  # [n] -1 where there is none
    positions: Ints  # [n]
    labels: Ints  # [n]


@kernel
def top_n(
    best: Floats,  # [T, L] from best_scores
    edge_to: Floats,  # [stages, L, L] edge_to[t, y, p] = edge[t, p, y]
    T: int,
    n: int,
    margin: float,  # leave out taggings that score this much less than the best one
    paths: Ints,  # [n, T] out
    scores: Doubles,  # [n] out, best first
    row: Floats,  # [L] work
) -> int:
    """Return how many taggings were found: fewer than n if there are fewer, or if `margin` cuts them off."""
    # Entries below `found` are done; those from `found` up to `waiting` are sidetracks, best first.
    L = best.shape[1]
    parents = np.empty(n, np.int32)
    positions = np.empty(n, np.int32)
    labels = np.empty(n, np.int32)
    tracks = Sidetracks(scores, parents, positions, labels)
    forks = np.empty((n, T), np.bool_)  # whether a sidetrack that leaves tagging k at t was worth keeping
    found = 0
    waiting = 0
    for y in range(L):
        if best[T - 1, y] > -np.inf:
            waiting = _note(np.float64(best[T - 1, y]), -1, T - 1, y, 0, waiting, tracks)
    lowest = scores[0] - margin if waiting > 0 else -np.inf
    floor = scores[n - 1] if waiting == n else -np.inf  # what a new sidetrack must beat to be kept

    while found < waiting:
        score = scores[found]
        if score < lowest:
            break
        k = found
        found += 1
        parent = parents[k]
        at = positions[k]
        for t in range(at + 1, T):
            paths[k, t] = paths[parent, t]
        paths[k, at] = labels[k]
        for t in range(at - 1, -1, -1):
            after = paths[k, t + 1]
            if parent >= 0 and paths[parent, t + 1] == after and not forks[parent, t]:
                # Back on the parent's way. It had no sidetrack worth keeping here, and this one has less to lose.
                paths[k, t] = paths[parent, t]
                forks[k, t] = False
                continue
            step = edge_to[t + 1 if edge_to.shape[0] > 1 else 0]
            choice = 0
            top = best[t, 0] + step[after, 0]
            row[0] = top
            second = -np.float32(np.inf)
            for p in range(1, L):
                row[p] = best[t, p] + step[after, p]
                second = max(second, min(row[p], top))
                if row[p] > top:
                    top = row[p]
                    choice = p
            paths[k, t] = choice
            rival = score - (top - second)
            forks[k, t] = rival > floor and rival >= lowest
            if forks[k, t]:
                for p in range(L):
                    rival = score - (top - row[p])
                    if rival > floor and rival >= lowest and p != choice:
                        waiting = _note(rival, k, t, p, found, waiting, tracks)
                        if waiting == n:
                            floor = scores[n - 1]
    return found


@kernel
def _note(score: float, parent: int, position: int, label: int, found: int, waiting: int, tracks: Sidetracks) -> int:
    """Insert a sidetrack among the waiting ones, best first, the older first among equals; keep n at most."""
    scores, parents, positions, labels = tracks
    n = len(parents)
    if waiting == n:
        if found == n or score <= scores[n - 1]:
            return waiting
        i = n - 1
    else:
        i = waiting
        waiting += 1
    while i > found and scores[i - 1] < score:
        scores[i] = scores[i - 1]
        parents[i] = parents[i - 1]
        positions[i] = positions[i - 1]
        labels[i] = labels[i - 1]
        i -= 1
    scores[i] = score
    parents[i] = parent
    positions[i] = position
    labels[i] = label
    return waiting
