"""Small lattices for properties: whole scores with many ties, forbidden ones, and real ones at random."""

import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from sapo.search.lattice import Lattice

Enumerate = Callable[[Lattice], dict[tuple[int, ...], float]]

SMALL_WHOLE = st.integers(-2, 2).map(float)  # many ties, and every sum is exact
WHOLE_OR_FORBIDDEN = st.one_of(SMALL_WHOLE, SMALL_WHOLE, SMALL_WHOLE, st.just(-math.inf))
MOSTLY_FORBIDDEN = st.one_of(SMALL_WHOLE, st.just(-math.inf))
REAL = st.floats(-10, 10, width=32)


@st.composite
def lattices(draw: st.DrawFn, scores: st.SearchStrategy[float], most_labels: int = 4) -> Lattice:
    tokens, labels = draw(st.integers(1, 5)), draw(st.integers(1, most_labels))
    node = draw(st.lists(scores, min_size=tokens * labels, max_size=tokens * labels))
    edge = draw(st.lists(scores, min_size=labels * labels, max_size=labels * labels))
    return Lattice(np.array(node, np.float32).reshape(tokens, labels), np.array(edge, np.float32).reshape(labels, -1))


def exact_lattices(most_labels: int = 4) -> st.SearchStrategy[Lattice]:
    """Every sum of their scores is exact."""
    return st.one_of(*(lattices(scores, most_labels) for scores in (SMALL_WHOLE, WHOLE_OR_FORBIDDEN, MOSTLY_FORBIDDEN)))


def random_lattice(tokens: int, labels: int, seed: int = 0) -> Lattice:
    rng = np.random.default_rng(seed)
    node, edge = 3 * rng.normal(size=(tokens, labels)), rng.normal(size=(labels, labels))
    return Lattice(node.astype(np.float32), edge.astype(np.float32))
