"""What is saved of a pass on a cluster: all weights once, then each mixing; and what is made of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.apps.ray.changes import Change
from sapo.apps.ray.training import Journal
from sapo.apps.ray.worker import Step, follow
from sapo.errors import SapoError
from sapo.learn.records import State
from sapo.learn.weights import Weights
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.training.checkpoint import Checkpoint

STEPS = [
    Step(Change(np.array(places, np.uint32), np.array(values, np.float32), 0.9), fold)
    for places, values, fold in (([0, 5], [1, 2], False), ([5, 900], [1, -1], True), ([3, 1000], [4, 5], False))
]


def fresh(path: Path) -> tuple[State, Journal]:
    state = State(Weights.zeros(25, 40, averaged=True, matrix=False))
    return state, Journal(Checkpoint(path, {}, "this run"))


def saved(path: Path) -> State:
    """Make three steps and save each; the first one with all weights."""
    state, journal = fresh(path)
    journal.begin()
    for number, step in enumerate(STEPS, 1):
        follow(state.weights, step.change, fold=step.fold)
        journal.save(state, step, {"mixing": number})
    return state


def loaded(path: Path) -> tuple[State, Journal]:
    state, journal = fresh(path)
    journal.checkpoint.load(state)
    journal.replay(state.weights)
    return state, journal


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def assert_same(one: State, two: State) -> None:
    arrays = two.weights.arrays(None)
    for name, array in one.weights.arrays(None).items():
        assert np.array_equal(array, arrays[name]), name


def test_a_run_goes_on_from_its_last_mixing(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = saved(path)
    assert names(path) == ["state", "state.mixing-1", "state.mixing-2"]
    again, journal = loaded(path)
    assert journal.checkpoint.more == {"mixing": 3}
    assert_same(again, state)
    journal.remove()
    assert names(path) == ["state"]


def test_mixings_of_an_earlier_pass_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state = saved(path)
    Journal(Checkpoint(path, {}, "this run")).save(state, None, {"mixing": 1})
    again, journal = loaded(path)
    assert journal.checkpoint.more["mixing"] == 1
    assert_same(again, state)


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({}, {"places": np.array([7, 7], np.int32)}),
        ({}, {"places": np.array([7, 1 << 20], np.int32)}),
        ({}, {"places": np.array([7], np.int32)}),
        ({}, {"values": np.array([1, np.nan], np.float32)}),
        ({"shrunk": 0.0}, {}),
    ],
)
def test_a_damaged_mixing_is_told(tmp_path: Path, header: Any, arrays: Any) -> None:
    path = tmp_path / "state"
    saved(path)
    file = f"{path}.mixing-2"
    was = load_arrays(file, "it")
    save_arrays(file, {**was[0], **header}, {**was[1], **arrays})
    with pytest.raises(SapoError, match=r"state\.mixing-2: not a mixing of sapo .*delete it"):
        loaded(path)
