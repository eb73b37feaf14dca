"""Find the n best taggings of a lattice, exactly, by sidetracks.

After the Viterbi pass `best[t,y]` is the score of the best way to reach y at t. Build a tagging from its end: at
position t, with the label after it known, one label is the best choice and every other one is a sidetrack that
loses a known amount. So a tagging is (parent, position, label): it follows its parent from the end down to
`position`, takes `label` there, and the best choices from then on. Its score is the parent's less the loss.
Take the best of the waiting sidetracks, walk it out, and note the sidetracks that leave it before `position`;
those at or after it belong to its ancestors, so that every tagging is met once. This is A* with a perfect
heuristic, without the heap of nodes: the walk of one tagging costs T * L.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from sapo.errors import LARGEST_OPTION, OptionError, check_limit
from sapo.jit import call_interruptibly, kernel
from sapo.jit.arrays import Doubles, Floats, Ints
from sapo.search.lattice import Lattice
from sapo.search.viterbi import best_path, best_scores


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n best taggings (the paper's Y_n), best first."""

    paths: Ints  # [found, tokens]
    scores: Doubles  # [found]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def p_k(self) -> Doubles:
        """The paper's P_k: relative to these candidates only, not to all taggings."""
        if not len(self.scores):
            return self.scores
        mass = np.exp(self.scores - self.scores[0])
        probabilities: Doubles = mass / mass.sum()
        return probabilities


def check_n(n: Any) -> None:
    """Validate the number of taggings to search for.

    >>> check_n(0)
    Traceback (most recent call last):
    ...
    sapo.errors.OptionError: n must be at least 1, not 0
    """
    _check_positive("n", n)
    check_limit("n", int(n), "n", "taggings")


def check_width(width: Any) -> None:
    """Validate the width of a beam."""
    _check_positive("width", width)
    if width > LARGEST_OPTION:
        raise OptionError(f"width must be at most {LARGEST_OPTION:,}, not {width:,}")


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise OptionError(f"{name} must be at least 1, not {value}")


def check_wanted(n: Any, stop_ratio: Any) -> None:
    """Validate what every search for n taggings takes."""
    check_n(n)
    number = isinstance(stop_ratio, Real) and not isinstance(stop_ratio, bool)
    if not (number and stop_ratio >= 1):
        raise OptionError(f"stop_ratio must be at least 1, not {stop_ratio}")


class Sidetracks(NamedTuple):
    """Taggings by where they leave others: those that are done, then those that wait, best first."""

    scores: Doubles  # [n]
    parents: Ints  # [n] -1 where there is none
    positions: Ints  # [n]
    labels: Ints  # [n]


@kernel
def find_top_n(
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


def viterbi(lattice: Lattice) -> Candidates:
    """Return the best tagging.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> viterbi(lattice).paths.tolist()
    [[0, 1]]
    """
    if lattice.tokens == 0:
        return _only_the_empty_tagging()
    best, taken = _best_scores(lattice)
    path = np.empty((1, lattice.tokens), np.int32)
    best_path(best, lattice.steps_to, lattice.tokens, path[0])
    score = taken + float(best[-1].max())
    if score == -np.inf:
        return Candidates(path[:0], np.empty(0))
    return Candidates(lattice.to_labels(path), np.array([score]))


def top_n(lattice: Lattice, *, n: int = 5, stop_ratio: float = np.inf) -> Candidates:
    """Return the n best taggings, except those that are more than `stop_ratio` times less probable than the best.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> top_n(lattice, n=2).scores.tolist()
    [2.0, 1.0]
    """
    check_wanted(n, stop_ratio)
    if lattice.tokens == 0:
        return _only_the_empty_tagging()
    margin = math.log(stop_ratio)
    best, taken = _best_scores(lattice)
    paths, scores = np.empty((n, lattice.tokens), np.int32), np.empty(n, np.float64)
    row = np.empty(lattice.labels, np.float32)
    steps = (1 + n) * lattice.node.size
    found = call_interruptibly(
        find_top_n, best, lattice.steps_to, lattice.tokens, n, margin, paths, scores, row, steps=steps
    )
    return Candidates(lattice.to_labels(paths[:found]), taken + scores[:found])


def _best_scores(lattice: Lattice) -> tuple[Floats, float]:
    best = np.empty_like(lattice.node)
    row = np.empty(lattice.labels, np.float32)
    steps = best.size * best.shape[1]
    taken = call_interruptibly(best_scores, lattice.node, lattice.steps, lattice.tokens, best, row, steps=steps)
    return best, float(taken)


def _only_the_empty_tagging() -> Candidates:
    return Candidates(np.empty((1, 0), np.int32), np.zeros(1))
