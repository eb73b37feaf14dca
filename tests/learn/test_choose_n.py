"""n = "auto": what is picked, and that a run with it can be stopped and gone on with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.learn import LEARNERS
from sapo.learn.loop import FIRST, SHARE, SIZES, choose_n, learn, next_shares
from sapo.learn.records import State
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import Parameters
from sapo.tagger.tagger import Tagger
from sapo.training.run import read_data, train, train_on

RNG = np.random.default_rng(0)


def corpus_of(rows: list[list[int]], gold: list[list[int]]) -> EncodedCorpus:
    """One feature a token."""
    lengths = [len(sentence) for sentence in rows]
    flat = np.array([row for sentence in rows for row in sentence], np.int32)
    return EncodedCorpus(
        offsets=np.cumsum([0, *lengths]),
        row_offsets=np.arange(len(flat) + 1),
        rows=flat,
        gold=np.array([tag for sentence in gold for tag in sentence], np.int32),
    )


ROWS = RNG.integers(3, size=(30, 6)).tolist()
SEPARABLE = corpus_of(ROWS, ROWS)  # the feature tells the tag
AMBIGUOUS = corpus_of(ROWS, RNG.integers(3, size=(30, 6)).tolist())  # it tells nothing


def trained(corpus: EncodedCorpus) -> Parameters:
    state = State(Weights.zeros(3, 3))
    settings = Settings(n=5, strength=0.0, regularizer="none", rate=1.0, epochs=40, tolerance=0.0)
    learn(LEARNERS["crf"].run, corpus, settings, state)
    return state.weights.current()


def test_where_the_best_tagging_has_all_the_mass_one_is_enough() -> None:
    parameters = trained(SEPARABLE)
    assert next_shares(SEPARABLE, parameters, (1,))[0] < SHARE
    assert choose_n(SEPARABLE, parameters) == 1


def test_where_taggings_are_about_equal_many_are_wanted() -> None:
    assert choose_n(AMBIGUOUS, trained(AMBIGUOUS)) >= 8


def test_with_equal_scores_every_next_tagging_gets_its_even_share() -> None:
    weights = Weights.zeros(3, 3)
    shares = next_shares(AMBIGUOUS, weights.current(), SIZES)
    assert shares == pytest.approx([1 / (n + 1) for n in SIZES])


def test_where_there_is_no_further_tagging_its_share_is_nothing() -> None:
    corpus = corpus_of([[0]], [[0]])
    shares = next_shares(corpus, Weights.zeros(1, 2).current(), (1, 2, 50))
    assert shares.tolist() == pytest.approx([0.5, 0.0, 0.0])


def test_zero_weights_tell_nothing_so_the_first_pass_has_the_papers_n() -> None:
    assert choose_n(AMBIGUOUS, Weights.zeros(3, 3).current()) == FIRST


def ns(corpus: EncodedCorpus, learner: str = "sapo", **settings: Any) -> list[int]:
    state = State(Weights.zeros(3, 3, averaged=LEARNERS[learner].averaged))
    chosen = Settings(n="auto", **{"epochs": 12, "tolerance": 0.0, "rate": 0.5, "strength": 0.0, **settings})
    learn(LEARNERS[learner].run, corpus, chosen, state)
    return [record.n for record in state.history]


@pytest.mark.parametrize("learner", ["sapo", "sapo-avg", "mira-nbest"])
def test_training_begins_with_five_and_settles(learner: str) -> None:
    found = ns(SEPARABLE, learner)
    assert found[0] == FIRST
    assert len(set(found[7:])) == 1


def test_training_settles_lower_where_the_data_is_clear() -> None:
    assert ns(SEPARABLE)[-1] < ns(AMBIGUOUS)[-1]


TEXT = [(["a", "dog", "sees", "no", "cat"], ["D", "N", "V", "D", "N"]), (["no", "rain"], ["D", "N"])] * 4
TEXT += [(["sees", "a", "sees"], ["N", "D", "V"]), (["dog", "cat"], ["V", "N"])]
AUTO = Settings(n="auto", epochs=6, tolerance=0.0, rate=0.1)


@pytest.mark.usefixtures("same_kernels")
@pytest.mark.parametrize("stopped", [1, 2, 4])
@pytest.mark.parametrize("learner", ["sapo", "sapo-avg"])
def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(tmp_path: Path, stopped: int, learner: str) -> None:
    whole = train_on(read_data(TEXT, template="pos"), AUTO, learner=learner)
    file = tmp_path / "state"
    again = {"learner": learner, "checkpoint": file}
    train_on(read_data(TEXT, template="pos"), Settings(n="auto", epochs=stopped, tolerance=0.0, rate=0.1), **again)
    resumed = train_on(read_data(TEXT, template="pos"), AUTO, resume=True, **again)
    assert [record.n for record in resumed.history] == [record.n for record in whole.history]
    whole.tagger.save(tmp_path / "whole")
    resumed.tagger.save(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.usefixtures("same_kernels")
def test_the_model_tells_what_was_picked(tmp_path: Path) -> None:
    outcome = train_on(read_data(TEXT, template="pos"), AUTO)
    outcome.tagger.save(tmp_path / "model")
    record = Tagger.load(tmp_path / "model").model.record
    assert record["settings"]["n"] == "auto"
    assert [entry["n"] for entry in record["history"]] == [entry.n for entry in outcome.history]


@pytest.mark.usefixtures("same_kernels")
def test_learners_that_search_no_n_leave_it_aside() -> None:
    tagger = train(TEXT, template="pos", n="auto", learner="crf", epochs=2)
    assert {entry["n"] for entry in tagger.model.record["history"]} == {5}
