"""The state of a run as a file: it comes back as it was, and only to the run it belongs to."""

import copy
import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.training.checkpoint import Checkpoint, fingerprint
from sapo.training.run import read_data, train_on

TEXT = [(["a", "dog"], ["DT", "NN"]), (["the", "cat", "dog"], ["DT", "NN", "NN"])]
SETTINGS = Settings(n=3, seed=7, epochs=3, tolerance=0.0)


def save_checkpoint(path: Path, state: State) -> None:
    Checkpoint(path, SETTINGS.as_json(), "data").passed(state.history[-1], state)


def load_checkpoint(path: Path, state: State, settings: Settings, data: str) -> None:
    Checkpoint(path, settings.as_json(), data).load(state)


class Keep(Observer):
    """Keeps a copy of the state after every pass."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def passed(self, record: PassRecord, state: State) -> None:
        self.states.append(copy.deepcopy(state))


def states(*, dev: bool = False) -> list[State]:
    """The states of a real run."""
    keep = Keep()
    train_on(read_data(TEXT, dev=TEXT[:1] if dev else None, template="pos"), SETTINGS, observers=[keep])
    return keep.states


def fresh(like: State) -> State:
    return State(Weights.zeros(*like.weights.features.shape, transitions=like.weights.transitions))


def assert_same(one: Any, other: Any) -> None:
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if field.compare:
                assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("dev", [False, True])
def test_a_state_comes_back_bit_for_bit(tmp_path: Path, dev: bool) -> None:
    for saved in states(dev=dev):
        save_checkpoint(tmp_path / "run.state", saved)
        loaded = fresh(saved)
        load_checkpoint(tmp_path / "run.state", loaded, SETTINGS, "data")
        assert_same(loaded, saved)
        assert (loaded.best is not None) == dev
        loaded.weights.rows.dense += 1  # it can be learned with: it is not the file


@pytest.fixture(scope="module")
def state() -> State:
    return states()[-1]


@pytest.fixture
def saved(state: State, tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "run.state", state)
    return tmp_path / "run.state"


def test_only_when_to_stop_may_be_decided_anew(saved: Path, state: State) -> None:
    load_checkpoint(saved, fresh(state), replace(SETTINGS, epochs=99, patience=9, tolerance=0.5), "data")
    for name, value in {"n": 4, "rate": 0.2, "decay": 0.5, "strength": 2.0, "seed": 8, "stop_ratio": 9.0}.items():
        with pytest.raises(SapoError, match=rf"run\.state: was made with {name} .* \(now {value}\); give the same"):
            load_checkpoint(saved, fresh(state), replace(SETTINGS, **{name: value}), "data")


def test_other_data_is_refused(saved: Path, state: State) -> None:
    with pytest.raises(SapoError, match=r"run\.state: was made with other data.*; leave `resume` out"):
        load_checkpoint(saved, fresh(state), SETTINGS, "other data")


def test_a_model_or_a_damaged_file_is_no_checkpoint(path: Path, saved: Path, state: State) -> None:
    data = saved.read_bytes()
    for length in range(0, len(data), 13):
        saved.write_bytes(data[:length])
        with pytest.raises(SapoError, match="not a checkpoint of sapo"):
            load_checkpoint(saved, fresh(state), SETTINGS, "data")
    with pytest.raises(SapoError, match="not a checkpoint of sapo"):
        load_checkpoint(path, fresh(state), SETTINGS, "data")


@pytest.mark.parametrize(
    "array", [np.zeros((1, 1), np.float32), np.zeros(3, np.float32), np.zeros((5, 2), np.float64), None]
)
@pytest.mark.parametrize("name", ["features", "edges"])
def test_weights_that_do_not_fit_the_data_are_refused(saved: Path, state: State, name: str, array: Any) -> None:
    header, arrays = load_arrays(saved, "a checkpoint")
    changed = {key: value for key, value in {**arrays, name: array}.items() if value is not None}
    save_arrays(saved.with_name("changed"), header, changed)
    with pytest.raises(SapoError, match="not a checkpoint of sapo"):
        load_checkpoint(saved.with_name("changed"), fresh(state), SETTINGS, "data")


def corpus(**changes: list[int]) -> EncodedCorpus:
    arrays = {"offsets": [0, 2], "row_offsets": [0, 1, 3], "rows": [0, 1, 0], "gold": [0, 1], **changes}
    longs = {name: np.array(arrays[name], np.int64) for name in ("offsets", "row_offsets")}
    ints = {name: np.array(arrays[name], np.int32) for name in ("rows", "gold")}
    return EncodedCorpus(**longs, **ints)


def test_a_fingerprint_tells_data_apart() -> None:
    prints = [
        fingerprint(corpus(), None, ["N", "V"]),
        fingerprint(corpus(), None, ["N", "A"]),
        fingerprint(corpus(rows=[0, 1, 1]), None, ["N", "V"]),
        fingerprint(corpus(gold=[1, 1]), None, ["N", "V"]),
        fingerprint(corpus(offsets=[0, 1, 2]), None, ["N", "V"]),
        fingerprint(corpus(row_offsets=[0, 2, 3]), None, ["N", "V"]),  # which token has which feature
        fingerprint(corpus(), corpus(), ["N", "V"]),
        fingerprint(corpus(), corpus(gold=[1, 1]), ["N", "V"]),
        fingerprint(corpus(), corpus(row_offsets=[0, 2, 3]), ["N", "V"]),
    ]
    assert len(set(prints)) == len(prints)
    assert fingerprint(corpus(), None, ["N", "V"]) == prints[0]


def test_a_run_without_transitions_does_not_go_on_from_one_with_them(tmp_path: Path) -> None:
    template = tmp_path / "template.txt"
    template.write_text("word\nlabel[-1]")
    train_on(read_data(TEXT, template=template), SETTINGS, checkpoint=tmp_path / "run.state")
    template.write_text("word")
    with pytest.raises(SapoError, match="was made with other data"):
        train_on(read_data(TEXT, template=template), SETTINGS, checkpoint=tmp_path / "run.state", resume=True)


RECORD = {"epoch": 1, "objective": 1.0, "dev": None, "w_complexity": 0.1, "rate": 0.1, "n": 3, "updates": 1}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("settings", [["n", 3]]),
        ("settings", None),
        ("history", 3),
        ("history", [3]),
        ("history", [RECORD]),
        ("best_epoch", 99),
        ("best_epoch", 1.5),
        ("best_epoch", None),
    ],
)
def test_a_header_of_the_wrong_kind_is_refused(saved: Path, state: State, key: str, value: Any) -> None:
    header, arrays = load_arrays(saved, "a checkpoint")
    save_arrays(saved.with_name("changed"), {**header, key: value}, arrays)
    with pytest.raises(SapoError, match="not a checkpoint of sapo"):
        load_checkpoint(saved.with_name("changed"), fresh(state), SETTINGS, "data")


@pytest.mark.parametrize(
    ("field", "value"),
    [("epoch", 7), ("objective", "low"), ("objective", 10**400), ("n", 2.5), ("dev", "x"), ("probabilities", 3)],
)
def test_a_pass_of_the_wrong_kind_is_refused(saved: Path, state: State, field: str, value: Any) -> None:
    header, arrays = load_arrays(saved, "a checkpoint")
    history = [{**header["history"][0], field: value}, *header["history"][1:]]
    save_arrays(saved.with_name("changed"), {**header, "history": history}, arrays)
    with pytest.raises(SapoError, match="not a checkpoint of sapo"):
        load_checkpoint(saved.with_name("changed"), fresh(state), SETTINGS, "data")


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("features", (0, 0), np.nan), ("edges", (0, 0), np.inf), ("state", 0, 0.0), ("state", 0, 2.0), ("state", 1, -1.0)],
)
def test_numbers_that_training_cannot_have_are_refused(
    saved: Path, state: State, name: str, place: Any, value: float
) -> None:
    header, arrays = load_arrays(saved, "a checkpoint")
    array = arrays[name].copy()
    array[place] = value
    save_arrays(saved.with_name("changed"), header, {**arrays, name: array})
    with pytest.raises(SapoError, match="not a checkpoint of sapo"):
        load_checkpoint(saved.with_name("changed"), fresh(state), SETTINGS, "data")
