"""Scores of long sentences add up in double precision, interpreted kernels too."""

import numpy as np
import pytest

from sapo.search.lattice import Lattice
from sapo.search.topn import top_n, viterbi

TOKENS = 10_000


@pytest.fixture(scope="module")
def lattice() -> Lattice:
    rng = np.random.default_rng(5)
    return Lattice((20 + rng.normal(size=(TOKENS, 3))).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32))


def test_the_score_of_a_tagging_adds_up_in_double_precision(lattice: Lattice) -> None:
    exact = float(lattice.node[:, 0].sum(dtype=np.float64)) + (TOKENS - 1) * float(lattice.edge[0, 0])
    assert lattice.path_score([0] * TOKENS) == pytest.approx(exact, abs=1e-5, rel=0)


def test_the_scores_that_a_search_reports_add_up_in_double_precision(lattice: Lattice) -> None:
    for found in (viterbi(lattice), top_n(lattice, n=1)):
        path = found.paths[0]
        node = lattice.node[np.arange(TOKENS), path].sum(dtype=np.float64)
        edge = lattice.edge[path[:-1], path[1:]].sum(dtype=np.float64)
        # the rows between two renormalizations are in single precision; their errors are small and do not grow
        assert found.scores[0] == pytest.approx(node + edge, abs=1e-2, rel=0)
