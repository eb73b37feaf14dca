"""Yield the taggings of a lattice one by one, best first, exactly: the paper's A* search."""

from collections.abc import Iterator

import numpy as np

from sapo.kernels import astar as astar_kernels
from sapo.kernels.types import Ints
from sapo.search.candidates import Candidates
from sapo.search.checks import check_wanted
from sapo.search.lattice import Lattice


def astar(lattice: Lattice) -> Iterator[tuple[Ints, float]]:
    """Yield every tagging that is not forbidden with its score, best first. The search goes only as far as it is asked.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> for path, score in astar(lattice):
    ...     print(path.tolist(), score)
    ...     if score < 2:
    ...         break
    [0, 1] 2.0
    [0, 0] 1.0
    """
    T, L = lattice.node.shape
    if T == 0:
        yield np.empty(0, np.int32), 0.0
        return
    ahead, row = np.empty((T, L), np.float32), np.empty(L, np.float32)
    top_score = astar_kernels.look_ahead(lattice.node, lattice.steps_to, T, ahead, row)
    tree = astar_kernels.astar_start(ahead, np.inf, 32 * L)
    while tree.waiting > 0:
        paths, scores = np.empty((1, T), np.int32), np.empty(1, np.float64)
        found, tree = astar_kernels.astar_next(ahead, lattice.steps, np.inf, top_score, paths, scores, 0, tree, row)
        if found:
            yield lattice.to_labels(paths)[0], float(scores[0])
        else:
            tree = astar_kernels.more_room(tree)


def astar_top_n(lattice: Lattice, *, n: int = 5, stop_ratio: float = np.inf) -> Candidates:
    """Return the n best taggings, except those that are more than `stop_ratio` times less probable than the best.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> astar_top_n(lattice, n=2).scores.tolist()
    [2.0, 1.0]
    """
    check_wanted(n, stop_ratio)
    T = lattice.tokens
    if T == 0:
        return Candidates(np.empty((1, 0), np.int32), np.zeros(1))
    paths, scores = np.empty((n, T), np.int32), np.empty(n, np.float64)
    found = astar_kernels.astar_n(
        lattice.node,
        lattice.steps,
        lattice.steps_to,
        T,
        float(np.log(stop_ratio)),
        paths,
        scores,
        np.empty(lattice.labels, np.float32),
    )
    return Candidates(lattice.to_labels(paths[:found]), scores[:found])
