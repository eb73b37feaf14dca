"""Pieces of sentences and averages of the last passes: each against the same thing done step by step."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.learn import LEARNERS
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.samples import Chunk, cut, draw_order, prepare
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import LOSS, SEARCHED, no_bans
from sapo.search.weights import Lists

PLAIN = Settings(n=3, strength=0.0, regularizer="none")


def blocks(weights: Weights) -> list[np.ndarray]:
    return [np.asarray(block, np.float64) for block in weights.current().blocks]


def one_sentence(weights: Weights, corpus: EncodedCorpus, settings: Settings = PLAIN) -> np.ndarray:
    totals = np.zeros(20)
    assert sum(sapo_pass(weights, corpus, np.array([0]), 0.5, settings, totals)) == 1
    return totals


def in_pieces(corpus: EncodedCorpus, *borders: int) -> EncodedCorpus:
    """The only sentence of a corpus, cut before these tokens."""
    cuts = np.zeros(corpus.tokens, np.bool_)
    cuts[list(borders)] = True
    return replace(corpus, offsets=np.array([0, *borders, corpus.tokens]), cuts=cuts)


@given(
    seed=st.integers(0, 1000),
    borders=st.sets(st.integers(1, 5)).map(sorted),
    search=st.sampled_from(["topn", "astar", "beam"]),
)
def test_each_piece_of_a_sentence_is_a_sample(tiny: Any, seed: int, borders: list[int], search: str) -> None:
    corpus = tiny.corpus(seed, lengths=(6,), labels=3)
    settings = replace(PLAIN, search=search)
    together, apart = tiny.weights(seed, corpus, labels=3), tiny.weights(seed, corpus, labels=3)
    order = np.arange(len(borders) + 1)
    list(sapo_pass(together, in_pieces(corpus, *borders), order, 0.5, settings, np.zeros(20)))
    for first, last in pairwise([0, *borders, 6]):
        one_sentence(apart, replace(corpus, offsets=np.array([first, last])), settings)
    for mine, theirs in zip(blocks(together), blocks(apart), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("most", [None, 2], ids=["all labels", "short lists"])
def test_what_may_not_begin_or_end_a_sentence_may_begin_or_end_a_piece(tiny: Any, most: int | None) -> None:
    corpus = in_pieces(tiny.corpus(1, lengths=(4,), labels=3), 2)
    weights = tiny.weights(1, corpus, labels=3)
    weights.bans[3, 0] = weights.bans[4, 1] = -np.inf
    if most is not None:
        weights.lists = Lists(most, np.arange(3, dtype=np.int32), np.zeros(1, np.int64), np.empty(0, np.uint16))
    corpus.gold[:] = [2, 1, 0, 2]  # 1 ends the first piece, 0 begins the second
    totals = np.zeros(20)
    list(sapo_pass(weights, corpus, np.array([0, 1]), 0.5, PLAIN, totals))
    assert np.isfinite(totals[LOSS])
    whole = replace(corpus, offsets=np.array([2, 4]), cuts=np.empty(0, np.bool_))
    list(sapo_pass(weights, whole, np.array([0]), 0.5, PLAIN, totals))
    assert not np.isfinite(totals[LOSS])  # as a sentence, it begins with 0


def test_candidates_are_counted_by_piece(tiny: Any) -> None:
    corpus, totals = tiny.corpus(1, lengths=(4,)), np.zeros(20)
    list(sapo_pass(tiny.weights(1, corpus), in_pieces(corpus, 1, 2, 3), np.arange(4), 0.5, PLAIN, totals))
    assert totals[SEARCHED] == 4


def test_pieces_have_the_length_asked_for_and_are_drawn_for_each_epoch() -> None:
    corpus = EncodedCorpus(
        np.array([0, 10_000]), np.zeros(10_001, np.int64), np.empty(0, np.int32), gold=np.zeros(10_000, np.int32)
    )
    (first, _), (second, _), (again, _) = (cut(corpus, 8, 0, epoch, no_bans(3)) for epoch in (1, 2, 1))
    assert 10_000 / first.sentences == pytest.approx(8, rel=0.1)
    assert first.sentences_in_all == 1
    assert first.offsets.tolist() != second.offsets.tolist()
    assert first.offsets.tolist() == again.offsets.tolist()


@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=8), length=st.integers(1, 4), seed=st.integers(0, 99))
def test_the_pieces_of_each_sentence_follow_each_other(tiny: Any, lengths: list[int], length: int, seed: int) -> None:
    corpus = tiny.corpus(seed, lengths=tuple(lengths))
    pieces, firsts = cut(corpus, length, seed, 1, no_bans(3))
    assert pieces.offsets[firsts].tolist() == corpus.offsets.tolist()
    assert set(pieces.offsets.tolist()) - set(corpus.offsets.tolist()) == set(np.flatnonzero(pieces.cuts).tolist())


def test_a_pass_learns_from_all_pieces_in_the_order_of_their_sentences(tiny: Any) -> None:
    corpus = tiny.corpus(1, lengths=(5, 3, 4))
    chunk = Chunk(corpus, np.array([2, 0, 1]), ((0, 12),), ((0, len(corpus.rows)),))
    prepared = prepare(chunk, Settings(piece=1), no_bans(3), epoch=1)
    first_tokens = prepared.corpus.offsets[prepared.order].tolist()
    assert first_tokens == [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]


def test_no_cut_goes_through_a_span_unless_the_tags_tell_how_it_ends() -> None:
    gold = np.array([0, 1, 2, 2, 1, 0, -1, 2], np.int32)  # O, B, I; -1 is any tag
    corpus = EncodedCorpus(np.array([0, 8]), np.zeros(9, np.int64), np.empty(0, np.int32), gold=gold)
    bans = no_bans(3)
    bans[3, 2] = -np.inf  # I does not begin a sentence
    assert cut(corpus, 1, 0, 1, bans)[0].offsets.tolist() == [0, 1, 4, 5, 6, 8]
    bans[4, 1] = -np.inf  # as if B could not end one
    assert cut(corpus, 1, 0, 1, bans)[0].offsets.tolist() == list(range(9))


@pytest.mark.parametrize("regularizer", ["l2", "none"])
def test_the_average_is_that_of_the_weights_after_each_step_of_the_last_passes(tiny: Any, regularizer: str) -> None:
    corpus = tiny.corpus(3, lengths=(3, 4, 2))
    settings = Settings(n=3, epochs=4, average=0.5, tolerance=0.0, rate=0.3, regularizer=regularizer)
    state = State(tiny.weights(3, corpus))
    learn(LEARNERS["sapo"].run, corpus, settings, state)
    averaged = [np.asarray(block, np.float64) for block in final_weights(state).blocks]

    weights, seen = tiny.weights(3, corpus), []
    for epoch in range(1, 5):
        for sentence in draw_order(corpus.sentences, settings, epoch):
            list(sapo_pass(weights, corpus, np.array([sentence]), settings.rate_of(epoch), settings, np.zeros(20)))
            if epoch > 2:
                seen.append(blocks(weights))
    for place, block in enumerate(averaged):
        np.testing.assert_allclose(block, np.mean([step[place] for step in seen], axis=0), rtol=1e-4, atol=1e-5)
