"""Find the n best taggings of a lattice, exactly: the paper's A* search.

The search grows a tree of partial taggings. Each knows its last label, how many tokens are left after it, its parent
(the same tagging one token shorter), and what it loses: how much less its best completion scores than the best tagging
of all. The backward Viterbi pass knows the best completion, so the heuristic is perfect. With the score so far g and
the heuristic h, f = g + h is the best score less the loss. Losses are kept instead of f, for they stay small in a long
sentence while g and h grow.

The open list is a heap. Take the one that loses least: with no tokens left it is the next tagging, otherwise put its
children into the heap. `search/topn.py` finds the same taggings without most of these.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sapo.errors import OptionError
from sapo.jit import call_interruptibly, kernel
from sapo.jit.arrays import Doubles, Floats, Ints, Longs
from sapo.search.lattice import Lattice
from sapo.search.topn import Candidates, check_wanted
from sapo.search.viterbi import best_scores

# What the tree knows of each partial tagging, by index into a row of `links`.
LABEL, LEFT, PARENT = 0, 1, 2
WAITING, USED = 0, 1  # how many partial taggings are in the heap, and how many there are


class SearchTree(NamedTuple):
    """The partial taggings by number, and which of them are still to be taken."""

    losses: Doubles  # [room]
    links: Ints  # [room, 3] LABEL, LEFT, PARENT
    heap: Ints  # [room] the open list: numbers of partial taggings, the next one first
    counts: Longs  # [2] WAITING, USED


@kernel
def look_ahead(
    node: Floats,  # [T, L]
    edge_to: Floats,  # [stages, L, L] edge_to[t, y, p] = edge[t, p, y]
    T: int,
    ahead: Floats,  # [T, L] out
    row: Floats,  # [L] work
) -> float:
    """The best score of the last r + 1 tokens where the first of them has the label y, for every r < T and y.

    Each row is right up to a constant, for only its differences count; the best of the last row is 0. Return the
    score of the best tagging, minus infinity where all are forbidden.
    """
    # ahead[r,p] = node[T-1-r,p] + max_y edge[T-r,p,y] + ahead[r-1,y], which is Viterbi on the sentence read backwards
    L = node.shape[1]
    stages = T if edge_to.shape[0] > 1 else 1
    # Loops, for numba compiles an assignment of whole arrays with all that it takes to write an error message.
    backwards = np.empty((stages, L, L), np.float32)
    turned = np.empty((T, L), np.float32)
    for r in range(T):
        for y in range(L):
            turned[r, y] = node[T - 1 - r, y]
    for r in range(stages):  # read backwards, the step into r is the one into T - r
        for p in range(L):
            for y in range(L):
                backwards[r, p, y] = edge_to[T - r if r > 0 else 0, p, y]
    taken = best_scores(turned, backwards, T, ahead, row)
    top = ahead[T - 1, 0]
    for y in range(1, L):
        top = max(top, ahead[T - 1, y])
    if top > -np.inf:
        for y in range(L):
            ahead[T - 1, y] -= top
    return taken + float(top)


@kernel
def make_tree(room: int) -> SearchTree:
    """Return an empty tree.

    Not to be called from Python: numba makes a named tuple by calling Python, and a signal that is waiting then
    crashes it.
    """
    return SearchTree(
        np.empty(room, np.float64), np.empty((room, 3), np.int32), np.empty(room, np.int32), np.zeros(2, np.int64)
    )


@kernel
def astar_start(ahead: Floats, margin: float, tree: SearchTree) -> None:
    """Put every label of the first token into an empty tree, which has room for L; all of them wait."""
    T, L = ahead.shape
    losses, links, heap, counts = tree
    used = 0
    for y in range(L):
        loss = -np.float64(ahead[T - 1, y])
        if loss <= margin and loss < np.inf:
            _add(used, loss, y, T - 1, -1, losses, links)
            _push(used, used, heap, losses, links)
            used += 1
    counts[WAITING] = used
    counts[USED] = used


@kernel
def astar_next(
    ahead: Floats,  # [T, L] from look_ahead
    edge: Floats,  # [stages, L, L]
    margin: float,  # leave out taggings that score this much less than the best one
    top_score: float,  # from look_ahead
    paths: Ints,  # [n, T] out
    scores: Doubles,  # [n] out, best first
    found: int,  # how many of them are there already
    tree: SearchTree,  # as astar_start or the last call left it; changed
    row: Floats,  # [L] work
) -> int:
    """Go on until n taggings are found, or no more are left, or the tree has no room to grow.

    Return found. Where fewer than n were found while some are waiting, call again with more room.
    """
    # loss[child] = loss[k] + (max_y edge[T-r,p,y] + ahead[r-1,y]) - (edge[T-r,p,child] + ahead[r-1,child])
    T, L = ahead.shape
    losses, links, heap, counts = tree
    waiting = counts[WAITING]
    used = counts[USED]
    while found < len(scores) and waiting > 0:
        k = heap[0]
        r = links[k, LEFT]
        if r == 0:
            waiting -= 1
            heap[0] = heap[waiting]
            _sift_down(waiting, heap, losses, links)
            scores[found] = top_score - losses[k]
            for t in range(T - 1, -1, -1):
                paths[found, t] = links[k, LABEL]
                k = links[k, PARENT]
            found += 1
        elif used + L > len(heap):
            break
        else:
            p = links[k, LABEL]
            step = edge[T - r if edge.shape[0] > 1 else 0]
            choice = 0
            top = step[p, 0] + ahead[r - 1, 0]
            row[0] = top
            for y in range(1, L):
                row[y] = step[p, y] + ahead[r - 1, y]
                if row[y] > top:
                    top = row[y]
                    choice = y
            # The best child loses nothing more and would come first again: it takes its parent's place in the heap.
            _add(used, losses[k], choice, r - 1, k, losses, links)
            heap[0] = used
            used += 1
            for y in range(L):
                loss = losses[k] + float(top - row[y])
                if loss <= margin and loss < np.inf and y != choice:
                    _add(used, loss, y, r - 1, k, losses, links)
                    _push(used, waiting, heap, losses, links)
                    used += 1
                    waiting += 1
    counts[WAITING] = waiting
    counts[USED] = used
    return found


@kernel
def astar_n(
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    edge_to: Floats,  # [stages, L, L] edge_to[t, y, p] = edge[t, p, y]
    T: int,
    margin: float,  # leave out taggings that score this much less than the best one
    paths: Ints,  # [n, T] out
    scores: Doubles,  # [n] out, best first
    row: Floats,  # [L] work
) -> int:
    """All in one call. Return how many taggings were found: fewer than n if there are fewer, or if `margin` cuts."""
    L = node.shape[1]
    ahead = np.empty((T, L), np.float32)
    top_score = look_ahead(node, edge_to, T, ahead, row)
    tree = make_tree(32 * L)
    astar_start(ahead, margin, tree)
    found = 0
    while True:
        found = astar_next(ahead, edge, margin, top_score, paths, scores, found, tree, row)
        if found == len(scores) or tree.counts[WAITING] == 0:
            return found
        larger = make_tree(2 * len(tree.heap))
        copy_tree(tree, larger)
        tree = larger


@kernel
def copy_tree(tree: SearchTree, larger: SearchTree) -> None:
    """Copy a tree into one with more room."""
    for k in range(len(tree.heap)):
        larger.losses[k] = tree.losses[k]
        for i in range(3):
            larger.links[k, i] = tree.links[k, i]
        larger.heap[k] = tree.heap[k]
    larger.counts[:] = tree.counts


@kernel
def _add(k: int, loss: float, label: int, left: int, parent: int, losses: Doubles, links: Ints) -> None:
    losses[k] = loss
    links[k, LABEL] = label
    links[k, LEFT] = left
    links[k, PARENT] = parent


@kernel
def _comes_before(j: int, k: int, losses: Doubles, links: Ints) -> bool:
    """The smaller loss first; among equals the one with less to go, as a best child has; then the older one."""
    if losses[j] != losses[k]:
        return bool(losses[j] < losses[k])
    if links[j, LEFT] != links[k, LEFT]:
        return bool(links[j, LEFT] < links[k, LEFT])
    return j < k


@kernel
def _push(k: int, waiting: int, heap: Ints, losses: Doubles, links: Ints) -> None:
    """Put k into a heap of `waiting` others."""
    i = waiting
    while i > 0 and _comes_before(k, heap[(i - 1) // 2], losses, links):
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = k


@kernel
def _sift_down(waiting: int, heap: Ints, losses: Doubles, links: Ints) -> None:
    """Let the first of the heap sink to its place."""
    k = heap[0]
    i = 0
    while 2 * i + 1 < waiting:
        child = 2 * i + 1
        if child + 1 < waiting and _comes_before(heap[child + 1], heap[child], losses, links):
            child += 1
        if not _comes_before(heap[child], k, losses, links):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = k


CHUNK = 64  # taggings that are searched for at once; in between, Ctrl-C gets a turn
ROOM = 1 << 24  # partial taggings in the tree, of 24 bytes: it may grow to twice as many, not more


def astar(lattice: Lattice, *, n: int = 5, stop_ratio: float = np.inf) -> Candidates:
    """Return the n best taggings, except those that are more than `stop_ratio` times less probable than the best.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> astar(lattice, n=2).scores.tolist()
    [2.0, 1.0]
    """
    check_wanted(n, stop_ratio)
    if lattice.tokens == 0:
        return Candidates(np.empty((1, 0), np.int32), np.zeros(1))
    paths, scores = [np.empty((0, lattice.tokens), np.int32)], [np.empty(0)]
    left = n
    for some, theirs in _found(lattice, math.log(stop_ratio), min(n, CHUNK)):
        paths.append(some[:left])
        scores.append(theirs[:left])
        left -= len(some)
        if left <= 0:
            break
    return Candidates(np.concatenate(paths), np.concatenate(scores))


def _found(lattice: Lattice, margin: float, chunk: int) -> Iterator[tuple[Ints, Doubles]]:
    """Yield all taggings and their scores, at most `chunk` at a time."""
    T, L = lattice.node.shape
    ahead, row = np.empty((T, L), np.float32), np.empty(L, np.float32)
    top_score = call_interruptibly(look_ahead, lattice.node, lattice.steps_to, T, ahead, row, steps=T * L * L)
    tree = _make_tree(32 * L)
    astar_start(ahead, margin, tree)
    total = 0
    while tree.counts[WAITING] > 0:
        paths, scores = np.empty((chunk, T), np.int32), np.empty(chunk, np.float64)
        found = astar_next(ahead, lattice.steps, margin, top_score, paths, scores, 0, tree, row)
        if found:
            total += found
            yield lattice.to_labels(paths[:found]), scores[:found]
        if found < chunk and tree.counts[WAITING] > 0:
            if len(tree.heap) > ROOM:
                raise OptionError(
                    f"A* has no room for more than {total:,} taggings of {T:,} tokens with {L:,} labels; "
                    "use the search topn, which finds the same"
                )
            larger = _make_tree(2 * len(tree.heap))
            copy_tree(tree, larger)
            tree = larger


def _make_tree(room: int) -> SearchTree:
    """Return an empty tree, as the kernel `make_tree` does in kernels."""
    return SearchTree(
        np.empty(room, np.float64), np.empty((room, 3), np.int32), np.empty(room, np.int32), np.zeros(2, np.int64)
    )
