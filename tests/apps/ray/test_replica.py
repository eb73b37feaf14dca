"""A worker learns as the training loop does, says what changed, and follows what others changed."""

import itertools
from typing import Any

import numpy as np
import pytest

from sapo.apps.ray.lanes import LANES, LanePart, MemoryLanes, cut_lanes
from sapo.apps.ray.worker import Setup, bare_arrays, follow, learn_part
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.learn import LEARNERS
from sapo.learn.records import RANKS
from sapo.learn.samples import Chunk, Counts, draw_order
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import BY_RANK
from sapo.training.data import TrainingData
from sapo.training.run import read_data

SETTINGS = Settings(rate=0.2, strength=0.5, epochs=4, piece=4)


@pytest.fixture(scope="module")
def data(sentences: Any) -> TrainingData:
    return read_data(sentences[:60], template="chunking")


def totals() -> Any:
    return np.zeros(BY_RANK + RANKS)


def weights_of(data: TrainingData, listed: bool) -> Weights:
    return Weights.zeros(data.encoder.features, len(data.labels), bans=data.gold.bans, matrix=not listed)


def chunks(data: TrainingData) -> list[Chunk]:
    corpus = data.corpus
    order = draw_order(corpus.sentences, SETTINGS, 1)
    places, rows = ((0, corpus.tokens),), ((0, len(corpus.rows)),)
    return [Chunk(corpus, part, places, rows) for part in np.array_split(order, 3)]


@pytest.mark.parametrize("listed", [False, True])
def test_following_ones_own_change_gives_the_weights_of_plain_learning(data: TrainingData, listed: bool) -> None:
    learner = LEARNERS["sapo"].run
    plain, worker = weights_of(data, listed), weights_of(data, listed)
    for epoch in (1, 2):
        for chunk in chunks(data):
            before = worker.current().features.copy()
            change = learn_part(worker, learner, [chunk], epoch, SETTINGS, totals())
            assert np.array_equal(worker.current().features, before)  # it is left as it was
            follow(worker, change, fold=False)
            learn_part(plain, learner, [], epoch, SETTINGS, totals())
        change = learn_part(plain, learner, chunks(data), epoch, SETTINGS, totals())  # the same in one part
        follow(plain, change, fold=True)
    assert plain.scale == 1.0
    assert np.allclose(plain.current().features, worker.current().features, atol=1e-5)
    assert np.allclose(plain.current().edges, worker.current().edges, atol=1e-5)
    assert np.abs(worker.current().features).max() > 0.1


@pytest.mark.parametrize("listed", [False, True])
def test_the_average_is_that_of_the_weights_after_each_mixing(data: TrainingData, listed: bool) -> None:
    weights = weights_of(data, listed)
    weights.begin_average()
    worker = weights_of(data, listed)
    seen = []
    for chunk in chunks(data):
        change = learn_part(worker, LEARNERS["sapo"].run, [chunk], 1, SETTINGS, totals())
        for one in (weights, worker):
            follow(one, change, fold=len(seen) == 1)
        seen.append(weights.current().features.copy())
    assert np.allclose(weights.true_weights().features, np.mean(seen, axis=0), atol=1e-5)
    assert np.array_equal(weights.current().features, worker.current().features)


@pytest.mark.parametrize("listed", [False, True])
def test_a_worker_that_joins_gets_the_same_weights(data: TrainingData, listed: bool) -> None:
    weights = weights_of(data, listed)
    weights.begin_average()
    change = learn_part(weights_of(data, listed), LEARNERS["sapo"].run, chunks(data), 1, SETTINGS, totals())
    follow(weights, change, fold=False)
    joined = weights_of(data, listed)
    joined.load(bare_arrays(weights), 0)
    assert np.array_equal(weights.current().features, joined.current().features)
    assert not len(joined.edge_sums)  # averages are kept by the driver alone


def test_a_worker_makes_its_weights_from_the_setup(data: TrainingData) -> None:
    weights = data.zero_weights()
    made = Setup.of(
        "sapo", weights, MemoryLanes(1, lambda lane: data.corpus, Counts(np.ones(1, np.int64)))
    ).zero_weights()
    assert (made.rows.features, made.rows.count) == (weights.rows.features, weights.rows.count)
    assert np.array_equal(made.bans, weights.bans)


def test_a_regularizer_that_leaves_nothing_asks_for_more_mixings(data: TrainingData) -> None:
    strong = Settings(rate=0.5, strength=10.0, piece=4)
    with pytest.raises(SapoError, match="too large for so few mixings"):
        learn_part(data.zero_weights(), LEARNERS["sapo"].run, chunks(data), 1, strong, totals())


@pytest.mark.parametrize(("lanes", "mixings"), [(1, 1), (3, 4), (4, 7)])
def test_every_sentence_is_learned_from_once_a_pass(data: TrainingData, lanes: int, mixings: int) -> None:
    stored = list(cut_lanes(data.corpus, lanes, seed=LANES))
    of = MemoryLanes(lanes, stored.__getitem__, Counts(np.ones(1, np.int64)))
    parts = [LanePart(2, mixing, lane, mixings) for lane in range(lanes) for mixing in range(mixings)]
    seen = [chunk.corpus for part in parts for chunk in of.chunks(part, SETTINGS)]
    assert sorted(sentences_of(seen)) == sorted(sentences_of([data.corpus]))
    assert {corpus.sentences_in_all for corpus in seen} == {-(-data.corpus.sentences // lanes)}


def sentences_of(parts: list[EncodedCorpus]) -> list[tuple[int, ...]]:
    """The features of each sentence."""
    return [
        tuple(corpus.rows[corpus.row_offsets[first] : corpus.row_offsets[last]].tolist())
        for corpus in parts
        for first, last in itertools.pairwise(corpus.offsets.tolist())
    ]


def test_lanes_differ_in_their_order_and_their_cuts(data: TrainingData) -> None:
    of = MemoryLanes(2, lambda lane: data.corpus, Counts(np.ones(1, np.int64)))
    one, two = (next(of.chunks(LanePart(1, 0, lane, 1), SETTINGS)) for lane in range(2))
    assert one.corpus.rows.tolist() != two.corpus.rows.tolist()
    assert one.places != two.places
