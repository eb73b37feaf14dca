"""The scores of a sentence."""

import dataclasses

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus, Pairs
from sapo.search.lattice import Lattice, Parameters, make_lattice, no_bans
from sapo.search.weights import FeatureRows


def test_a_tagging_scores_the_sum_of_its_nodes_and_edges() -> None:
    lattice = Lattice(np.array([[1, 2], [4, 8], [16, 32]], np.float32), np.array([[64, 128], [256, 512]], np.float32))
    assert lattice.path_score([0, 1, 0]) == 1 + 8 + 16 + 128 + 256
    assert lattice.path_score([1, 1, 1]) == 2 + 8 + 32 + 512 + 512


def test_a_forbidden_step_makes_a_tagging_impossible() -> None:
    lattice = Lattice(np.zeros((2, 2), np.float32), np.array([[0, -np.inf], [0, 0]], np.float32))
    assert lattice.path_score([0, 1]) == -np.inf
    assert lattice.path_score([1, 0]) == 0.0


def test_the_empty_tagging_scores_nothing() -> None:
    lattice = Lattice(np.empty((0, 2), np.float32), np.ones((2, 2), np.float32))
    assert (lattice.tokens, lattice.labels, lattice.path_score([])) == (0, 2, 0.0)


@pytest.mark.parametrize("values", [[], [1.0, 0.5, -2.0, 3.0, 0.0, 1.0]])
def test_a_lattice_is_made_of_the_rows_of_each_token(values: list[float]) -> None:
    corpus = EncodedCorpus(
        offsets=np.array([0, 1, 1, 3]),
        row_offsets=np.array([0, 2, 2, 6]),
        rows=np.array([0, 2, 1, 1, 0, 2], np.int32),
        values=np.array(values, np.float32),
    )
    weights = np.array([[1, 10], [2, 20], [4, 40]], np.float32)
    edge = np.array([[7, 8], [9, 10]], np.float32)
    of = dict(zip(range(6), values or [1.0] * 6, strict=True))
    first, empty, last = (make_lattice(corpus, sentence, Parameters.plain(weights, edge)) for sentence in range(3))
    assert np.array_equal(first.node, [of[0] * weights[0] + of[1] * weights[2]])
    assert empty.tokens == 0
    token_with_features = of[2] * weights[1] + of[3] * weights[1] + of[4] * weights[0] + of[5] * weights[2]
    assert np.array_equal(last.node, [[0, 0], token_with_features])
    assert np.array_equal(last.edge, edge[np.newaxis])


def test_only_the_features_of_the_sentence_itself_must_be_known() -> None:
    """Looking at those of the whole corpus would take longer for every sentence the more of them there are."""
    corpus = EncodedCorpus(
        offsets=np.array([0, 2, 4]),
        row_offsets=np.array([0, 1, 2, 3, 4]),
        rows=np.array([0, 0, 0, 9], np.int32),
        edge_row_offsets=np.array([0, 0, 1, 1, 2]),
        edge_rows=np.array([0, 9], np.int32),
    )
    pairs = Pairs(np.array([0, 1]), np.array([1], np.int32))
    parameters = Parameters(
        FeatureRows.of_matrix(np.ones((1, 2), np.float32)),
        np.zeros((2, 2), np.float32),
        pairs,
        np.full((1, 1), 3, np.float32),
        no_bans(2),
    )
    assert make_lattice(corpus, 0, parameters).edge[1].tolist() == [[0, 3], [0, 0]]
    with pytest.raises(SapoError, match="the features have changed"):
        make_lattice(corpus, 1, parameters)
    known = dataclasses.replace(corpus, rows=np.zeros(4, np.int32))
    with pytest.raises(SapoError, match="the features have changed"):
        make_lattice(known, 1, parameters)
