"""Rare features are hidden at random while learning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.learn.samples import Counts, hide

features = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=30)


def corpus_of(tokens: list[list[int]], values: bool = False) -> EncodedCorpus:
    rows = np.array([row for token in tokens for row in token], np.int32)
    return EncodedCorpus(
        np.array([0, len(tokens)]),
        np.cumsum([0, *map(len, tokens)]),
        rows,
        np.arange(len(rows), dtype=np.float32) if values else np.empty(0, np.float32),
    )


def tokens_of(corpus: EncodedCorpus) -> list[list[int]]:
    return [part.tolist() for part in np.split(corpus.rows, corpus.row_offsets[1:-1])]


@given(features, st.floats(0.01, 10), st.integers(0, 3))
def test_each_token_keeps_some_of_its_features_in_their_order(
    tokens: list[list[int]], amount: float, epoch: int
) -> None:
    hidden = hide(corpus_of(tokens, values=True), amount, 0, epoch)
    whole = corpus_of(tokens, values=True)
    assert (whole.rows[hidden.values.astype(int)] == hidden.rows).all()  # each with its own value
    places = np.searchsorted(whole.row_offsets, hidden.values, side="right") - 1
    assert (np.diff(hidden.row_offsets) == np.bincount(places, minlength=len(tokens))).all()
    assert (np.diff(places) >= 0).all()


def test_a_feature_is_hidden_the_more_often_the_rarer_it_is() -> None:
    counts = np.array([1, 4, 1000])
    corpus = corpus_of([[0, 1, 2]] * 20_000)
    kept = np.bincount(hide(corpus, 0.5, 0, 1, counts=Counts(counts)).rows, minlength=3) / 20_000
    assert kept == pytest.approx(counts / (counts + 0.5), abs=0.02)


def test_features_are_counted_in_the_corpus_itself() -> None:
    corpus = corpus_of([[0, 1], [0, 2], [0, 1]])
    counted = hide(corpus, 2.0, 5, 1, counts=Counts(np.array([3, 2, 1])))
    assert tokens_of(hide(corpus, 2.0, 5, 1)) == tokens_of(counted)


@given(features, st.data())
def test_a_chunk_hides_what_the_whole_hides(tokens: list[list[int]], data: st.DataObject) -> None:
    whole = corpus_of(tokens, values=True)
    counts = np.bincount(whole.rows, minlength=10)
    kept = set(hide(whole, 1.0, 0, 1).values.tolist())
    ends = sorted(data.draw(st.lists(st.integers(0, len(tokens)), min_size=2, max_size=2)))
    first, last = (int(whole.row_offsets[end]) for end in ends)
    part = corpus_of(tokens[ends[0] : ends[1]], values=True)
    found = hide(part, 1.0, 0, 1, counts=Counts(counts), places=[(first, last - first)])
    assert set((found.values + first).tolist()) == {row for row in kept if first <= row < last}


def test_passes_hide_other_features_and_seeds_too_but_runs_alike() -> None:
    corpus = corpus_of([[place] for place in range(10)] * 5)
    runs = [tokens_of(hide(corpus, 5.0, seed, epoch)) for seed, epoch in ((0, 1), (0, 1), (0, 2), (1, 1))]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0] != runs[3]
