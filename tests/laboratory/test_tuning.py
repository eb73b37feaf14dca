"""The strength is tuned on CRF, by dev set or cross-validation, and never twice."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from laboratory.runfiles import read_lines
from laboratory.setup import Setup
from laboratory.tasks import TASKS
from laboratory.tuning import FOLDS, STRENGTHS, Trial, Tuning, fold_of, try_strength
from sapo.errors import SapoError


def test_the_folds_part_the_sentences() -> None:
    held_out = [fold_of(103, fold)[1].tolist() for fold in range(FOLDS)]
    assert sorted(sentence for part in held_out for sentence in part) == list(range(103))
    assert {len(part) for part in held_out} == {25, 26}
    for fold in range(FOLDS):
        train, part = fold_of(103, fold)
        assert not set(train.tolist()) & set(part.tolist())
        assert len(train) + len(part) == 103


@pytest.mark.parametrize(("name", "trials"), [("chunking", 20), ("pos-upos", 5)])
def test_all_strengths_are_tried_and_the_best_is_written_down(name: str, trials: int, load: Any, setup: Setup) -> None:
    task, data = load(name)
    tuning = Tuning(task, setup)
    todo = tuning.trials()
    assert len(todo) == trials
    assert {trial.strength for trial in todo} == set(STRENGTHS)
    for trial in todo:
        assert tuning.strength is None
        tuning.add(trial, try_strength(task, setup, data, trial))
    *lines, end = read_lines(setup.directory(task) / "tuning.jsonl")
    assert [line["kind"] for line in lines] == ["tuning"] * trials
    means = {s: np.mean([line["score"] for line in lines if line["strength"] == s]) for s in STRENGTHS}
    assert means[end["strength"]] == max(means.values())
    assert end["how"] == ("dev set" if name == "pos-upos" else "4-fold cross-validation")
    again = Tuning(task, setup)
    assert again.trials() == []
    assert again.strength == tuning.strength == end["strength"]


def test_a_tuning_that_was_stopped_goes_on(setup: Setup) -> None:
    task = TASKS["chunking"]
    tuning = Tuning(task, setup)
    first, second, *_ = tuning.trials()
    tuning.add(first, 90.0)
    tuning.add(second, 91.0)
    path = setup.directory(task) / "tuning.jsonl"
    path.write_text(path.read_text()[:-20])
    again = Tuning(task, setup)
    assert first not in again.trials()
    assert again.trials()[0] == second
    again.add(second, 91.5)
    assert [json.loads(line)["score"] for line in path.read_text().splitlines()] == [90.0, 91.5]


def test_a_tuning_of_another_kind_is_not_mixed_in(setup: Setup) -> None:
    task = TASKS["chunking"]
    Tuning(task, setup).add(Trial(1.0, 0), 90.0)
    for other in (dataclasses.replace(setup, tuning_passes=9), dataclasses.replace(setup, small=True)):
        with pytest.raises(SapoError, match="was tuned in another way"):
            Tuning(task, other)


def test_a_treebank_has_a_dev_set(setup: Setup, tmp_path: Any) -> None:
    assert len(Tuning(TASKS["pos-wsj"], dataclasses.replace(setup, treebank=tmp_path)).trials()) == len(STRENGTHS)
    assert len(Tuning(TASKS["pos-wsj"], setup).trials()) == len(STRENGTHS) * FOLDS
