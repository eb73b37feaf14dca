"""Sums over many sentences at once, beside those of each sentence on its own."""

import math

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus, Pairs
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Parameters, make_lattice
from sapo.search.marginals import distribution, span_reading
from sapo.search.sums import sum_corpus
from sapo.search.weights import FeatureRows
from sapo.tags.schemes import label_kinds
from sapo.tags.spans import loose_spans, read_spans

LABELS = ("O", "B-A", "I-A", "B-B", "I-B")
FEATURES = 30


def parameters(rng: np.random.Generator, *, spread: float = 1.0, forbidden: bool = False) -> Parameters:
    count = len(LABELS)
    bans = np.zeros((count + 2, count), np.float32)
    if forbidden:  # only O may begin, and what begins with I-A never ends
        bans[count, 1:] = -math.inf
        bans[0, 2] = bans[3, 2] = -math.inf
    rows = FeatureRows.of_matrix((spread * rng.normal(size=(FEATURES, count))).astype(np.float32))
    edges = rng.normal(size=(count, count)).astype(np.float32)
    return Parameters(rows, edges, Pairs.none(), np.empty((0, 1), np.float32), bans)


def corpus(rng: np.random.Generator, *lengths: int) -> EncodedCorpus:
    sizes = rng.integers(4, size=sum(lengths))
    return EncodedCorpus(
        np.cumsum([0, *lengths]),
        np.cumsum([0, *sizes.tolist()]),
        rng.integers(FEATURES, size=int(sizes.sum())).astype(np.int32),
    )


@pytest.mark.parametrize("temperature", [1.0, 0.37])
@pytest.mark.parametrize(("spread", "forbidden"), [(1.0, False), (1.0, True), (900.0, False)])
def test_many_sentences_at_once_are_as_each_on_its_own(temperature: float, spread: float, forbidden: bool) -> None:
    rng = np.random.default_rng(0)
    weights, text = parameters(rng, spread=spread, forbidden=forbidden), corpus(rng, 5, 1, 0, 12, 3, 0)
    kinds, reading = label_kinds(LABELS), span_reading(LABELS)
    sums = sum_corpus(text, weights, temperature)
    np.testing.assert_array_equal(sums.tags, tag_corpus(text, weights))
    spans = read_spans(kinds, sums.tags, text.offsets)
    shares = iter(sums.span_probabilities(reading, spans, kinds.type_names).tolist())
    for sentence in range(text.sentences):
        first, last = text.offsets[sentence : sentence + 2].tolist()
        own = distribution(make_lattice(text, sentence, weights).tempered(temperature))
        path = sums.tags[first:last]
        np.testing.assert_array_equal(sums.marginal[first:last], own.marginal)
        assert math.exp(sums.log_best[sentence]) == pytest.approx(own.probability(path))
        wanted = loose_spans([LABELS[tag] for tag in path.tolist()])
        for share in own.span_probabilities(reading, wanted).tolist():
            assert next(shares) == pytest.approx(share)
    assert next(shares, None) is None


def test_where_all_is_forbidden_nothing_has_a_probability() -> None:
    rng = np.random.default_rng(1)
    weights, text = parameters(rng), corpus(rng, 2, 3)
    weights.bans[len(LABELS)] = -math.inf
    kinds, reading = label_kinds(LABELS), span_reading(LABELS)
    sums = sum_corpus(text, weights)
    assert not sums.marginal.any()
    assert sums.log_best.tolist() == [-math.inf, -math.inf]
    spans = read_spans(kinds, np.array([1, 2, 0, 3, 4], np.int32), text.offsets)
    assert sums.span_probabilities(reading, spans, kinds.type_names).tolist() == [0.0, 0.0]


def test_edge_features_are_summed_sentence_by_sentence() -> None:
    rng = np.random.default_rng(2)
    text = corpus(rng, 4, 2)
    count = len(LABELS)
    pairs = Pairs(np.array([0, 2], np.int64), np.array([1, count + 2], np.int32))
    plain = parameters(rng)
    weights = Parameters(plain.rows, plain.edges, pairs, np.array([[3.0], [2.0]], np.float32), plain.bans)
    edged = EncodedCorpus(
        text.offsets,
        text.row_offsets,
        text.rows,
        edge_row_offsets=np.array([0, 0, 1, 1, 1, 1, 2], np.int64),
        edge_rows=np.zeros(2, np.int32),
    )
    sums = sum_corpus(edged, weights, 2.0)
    own = distribution(make_lattice(edged, 1, weights).tempered(2.0))
    np.testing.assert_array_equal(sums.marginal[4:], own.marginal)
    assert math.exp(sums.log_best[1]) == pytest.approx(own.probability(sums.tags[4:]))
    kinds, reading = label_kinds(LABELS), span_reading(LABELS)
    spans = read_spans(kinds, np.array([0, 0, 0, 0, 1, 2], np.int32), edged.offsets)
    found = sums.span_probabilities(reading, spans, kinds.type_names)
    assert found == pytest.approx(own.span_probabilities(reading, loose_spans(["B-A", "I-A"])))
