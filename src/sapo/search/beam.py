"""Find n good taggings of a lattice by beam search: not exact, unless the beam is wide enough to hold all."""

import math

import numpy as np

from sapo.kernels import background
from sapo.kernels import beam as beam_kernels
from sapo.search.candidates import Candidates
from sapo.search.checks import check_wanted, check_width
from sapo.search.lattice import Lattice


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
    found = background.call(
        beam_kernels.beam_n, lattice.node, lattice.steps, T, n, width, margin, paths, scores, steps=steps
    )
    return Candidates(lattice.to_labels(paths[:found]), scores[:found])
