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
from sapo.learn.samples import cut, draw_order
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import CANDIDATES, SEARCHED, no_bans

PLAIN = Settings(n=3, strength=0.0, regularizer="none")


def blocks(weights: Weights) -> list[np.ndarray]:
    return [np.asarray(block, np.float64) for block in weights.current().blocks]


def one_sentence(weights: Weights, corpus: EncodedCorpus, settings: Settings = PLAIN) -> np.ndarray:
    totals = np.zeros(20)
    assert sum(sapo_pass(weights, corpus, np.array([0]), 0.5, settings, totals)) == 1
    return totals


@given(
    seed=st.integers(0, 1000),
    cuts=st.lists(st.booleans(), min_size=6, max_size=6),
    search=st.sampled_from(["topn", "astar", "beam"]),
)
def test_a_sentence_in_pieces_moves_the_weights_by_the_sum_of_what_its_pieces_do(
    tiny: Any, seed: int, cuts: list[bool], search: str
) -> None:
    corpus = tiny.corpus(seed, lengths=(6,), labels=3)
    settings = replace(PLAIN, search=search)
    begin = tiny.weights(seed, corpus, labels=3)
    before = blocks(begin)
    one_sentence(begin, replace(corpus, cuts=np.array(cuts)), settings)
    together = [now - then for now, then in zip(blocks(begin), before, strict=True)]
    borders = [0, *(t for t in range(1, 6) if cuts[t]), 6]
    apart = [np.zeros_like(block) for block in before]
    for first, last in pairwise(borders):
        weights = tiny.weights(seed, corpus, labels=3)
        one_sentence(weights, replace(corpus, offsets=np.array([first, last])), settings)
        for total, now, then in zip(apart, blocks(weights), before, strict=True):
            total += now - then
    for total, expected in zip(together, apart, strict=True):
        np.testing.assert_allclose(total, expected, atol=1e-5)


def test_without_a_cut_a_sentence_is_one_piece(tiny: Any) -> None:
    corpus = tiny.corpus(1, lengths=(5,))
    whole, uncut = tiny.weights(1, corpus), tiny.weights(1, corpus)
    one_sentence(whole, corpus)
    one_sentence(uncut, replace(corpus, cuts=np.zeros(5, np.bool_)))
    for mine, theirs in zip(blocks(whole), blocks(uncut), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_candidates_are_counted_by_piece(tiny: Any) -> None:
    corpus = tiny.corpus(1, lengths=(4,))
    totals = one_sentence(tiny.weights(1, corpus), replace(corpus, cuts=np.ones(4, np.bool_)), replace(PLAIN, n=1))
    assert totals[SEARCHED] == totals[CANDIDATES] == 4


def test_pieces_have_the_length_asked_for_and_are_drawn_anew() -> None:
    corpus = EncodedCorpus(
        np.array([0, 10_000]), np.zeros(10_001, np.int64), np.empty(0, np.int32), gold=np.zeros(10_000, np.int32)
    )
    first, second = cut(corpus, 8, 0, 1, no_bans(3)).cuts, cut(corpus, 8, 0, 2, no_bans(3)).cuts
    assert 10_000 / first.sum() == pytest.approx(8, rel=0.1)
    assert (first != second).any()
    assert (first == cut(corpus, 8, 0, 1, no_bans(3)).cuts).all()


def test_no_cut_goes_through_a_span_unless_the_tags_tell_how_it_ends() -> None:
    gold = np.array([0, 1, 2, 2, 1, 0, -1, 2], np.int32)  # O, B, I; -1 is any tag
    corpus = EncodedCorpus(np.array([0, 8]), np.zeros(9, np.int64), np.empty(0, np.int32), gold=gold)
    bans = no_bans(3)
    bans[3, 2] = -np.inf  # I does not begin a sentence
    assert cut(corpus, 1, 0, 1, bans).cuts.tolist() == [True, True, False, False, True, True, True, False]
    bans[4, 1] = -np.inf  # as if B could not end one
    assert cut(corpus, 1, 0, 1, bans).cuts.all()


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
