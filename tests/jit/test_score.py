"""Node scores, path scores and tags of whole corpora against plain sums."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Parameters, make_lattice, path_score
from sapo.search.topn import viterbi as search_best
from sapo.search.weights import no_rows, score_features

FEATURES = 6


@st.composite
def corpora(draw: st.DrawFn) -> EncodedCorpus:
    """Sentences of no to four tokens; tokens of no to nine features, some of them twice; values, or none."""
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    sizes = draw(st.lists(st.integers(0, 9), min_size=sum(lengths), max_size=sum(lengths)))
    rows = draw(st.lists(st.integers(0, FEATURES - 1), min_size=sum(sizes), max_size=sum(sizes)))
    values = st.lists(st.integers(-8, 8).map(lambda value: value / 4), min_size=sum(sizes), max_size=sum(sizes))
    return EncodedCorpus(
        np.cumsum([0, *lengths]),
        np.cumsum([0, *sizes]),
        np.array(rows, np.int32),
        np.array(draw(values) if draw(st.booleans()) else [], np.float32),
    )


def random_weights(seed: int, labels: int) -> np.ndarray:
    """Quarters: sums of them are exact in any order."""
    return np.random.default_rng(seed).integers(-20, 20, (FEATURES, labels)).astype(np.float32) / 4


@given(corpora(), st.integers(1, 9), st.integers(0, 99), st.sampled_from([1.0, 0.5, 2.0]))
@settings(deadline=None, max_examples=100)
def test_a_node_scores_the_sum_of_its_features(corpus: EncodedCorpus, labels: int, seed: int, scale: float) -> None:
    weights = random_weights(seed, labels)
    values = corpus.values if len(corpus.values) else np.ones(len(corpus.rows))
    for first, last in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        node = np.full((last - first, labels), 99, np.float32)
        score_features(first, last - first, corpus.samples, no_rows(weights), scale, node)
        for token in range(first, last):
            features = range(corpus.row_offsets[token], corpus.row_offsets[token + 1])
            expected = sum((values[i] * weights[corpus.rows[i]] for i in features), np.zeros(labels))
            assert np.array_equal(node[token - first], scale * expected)


@given(corpora(), st.integers(1, 4), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_tagging_a_corpus_tags_each_sentence_by_itself(corpus: EncodedCorpus, labels: int, seed: int) -> None:
    weights = random_weights(seed, labels)
    edges = np.random.default_rng(seed).normal(size=(labels, labels)).astype(np.float32)
    parameters = Parameters.plain(weights, edges)
    tags = tag_corpus(corpus, parameters)
    alone = [search_best(make_lattice(corpus, i, parameters)).paths[0] for i in range(corpus.sentences)]
    assert tags.tolist() == np.concatenate(alone).tolist()


@pytest.mark.parametrize("path", [[], [1], [0, 1, 1], [2, 2, 0, 1]])
def test_a_path_scores_its_nodes_and_edges(path: list[int]) -> None:
    rng = np.random.default_rng(len(path))
    node, edge = rng.integers(-9, 9, (5, 3)).astype(np.float32), rng.integers(-9, 9, (3, 3)).astype(np.float32)
    expected = sum(node[t, y] for t, y in enumerate(path)) + sum(edge[pair] for pair in pairwise(path))
    assert path_score(node, edge[np.newaxis], np.array(path, np.int32), len(path)) == expected
