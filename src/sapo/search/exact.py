"""Find the best tagging of a lattice, or the n best ones, exactly."""

import math

import numpy as np

from sapo.kernels import background, topn
from sapo.kernels import viterbi as viterbi_kernels
from sapo.kernels.types import Floats
from sapo.search.candidates import Candidates
from sapo.search.checks import check_wanted
from sapo.search.lattice import Lattice


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
    viterbi_kernels.best_path(best, lattice.steps_to, lattice.tokens, path[0])
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
    found = background.call(
        topn.top_n, best, lattice.steps_to, lattice.tokens, n, margin, paths, scores, row, steps=steps
    )
    return Candidates(lattice.to_labels(paths[:found]), taken + scores[:found])


def _best_scores(lattice: Lattice) -> tuple[Floats, float]:
    best = np.empty_like(lattice.node)
    row = np.empty(lattice.labels, np.float32)
    steps = best.size * best.shape[1]
    taken = background.call(
        viterbi_kernels.best_scores, lattice.node, lattice.steps, lattice.tokens, best, row, steps=steps
    )
    return best, float(taken)


def _only_the_empty_tagging() -> Candidates:
    return Candidates(np.empty((1, 0), np.int32), np.zeros(1))
