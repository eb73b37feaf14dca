"""Find the n best taggings of a lattice, exactly: the paper's A* search."""

import math
from collections.abc import Iterator

import numpy as np

from sapo.errors import SapoError
from sapo.kernels import astar as astar_kernels
from sapo.kernels import background
from sapo.kernels.astar import WAITING, Tree
from sapo.kernels.types import Doubles, Ints
from sapo.search.candidates import Candidates
from sapo.search.checks import check_wanted
from sapo.search.lattice import Lattice

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
    top_score = background.call(
        astar_kernels.look_ahead, lattice.node, lattice.steps_to, T, ahead, row, steps=T * L * L
    )
    tree = _make_tree(32 * L)
    astar_kernels.astar_start(ahead, margin, tree)
    total = 0
    while tree.counts[WAITING] > 0:
        paths, scores = np.empty((chunk, T), np.int32), np.empty(chunk, np.float64)
        found = astar_kernels.astar_next(ahead, lattice.steps, margin, top_score, paths, scores, 0, tree, row)
        if found:
            total += found
            yield lattice.to_labels(paths[:found]), scores[:found]
        if found < chunk and tree.counts[WAITING] > 0:
            if len(tree.heap) > ROOM:
                raise SapoError(
                    f"A* has no room for more than {total:,} taggings of {T:,} tokens with {L:,} labels; "
                    "use the search topn, which finds the same"
                )
            larger = _make_tree(2 * len(tree.heap))
            astar_kernels.copy_tree(tree, larger)
            tree = larger


def _make_tree(room: int) -> Tree:
    """Return an empty tree, as the kernel `make_tree` does in kernels."""
    return Tree(
        np.empty(room, np.float64), np.empty((room, 3), np.int32), np.empty(room, np.int32), np.zeros(2, np.int64)
    )
