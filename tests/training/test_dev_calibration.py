"""Every model has probabilities that can be trusted at once."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.learn.records import Observer
from sapo.tagger.file import model_bytes
from sapo.training import calibration, run
from sapo.training.calibration import calibrate, measure
from sapo.training.data import TrainingData

HOW: Any = {"columns": COLUMNS, "label": "chunk", "template": "chunking", "epochs": 2}
Pairs = list[tuple[list[Any], list[str]]]


def pairs(part: str) -> Pairs:
    sentences = sapo.read(sample_path(part), columns=COLUMNS, label="chunk")
    return [(list(zip(one.words, one.columns["pos"], strict=True)), list(one.tags or ())) for one in sentences]


@pytest.mark.parametrize("learner", ["sapo", "crf", "perceptron-avg"])
def test_training_with_a_dev_set_finds_the_temperature_that_calibrate_finds(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "ENOUGH", 1)  # the dev set alone
    how = {"dev": sample_path("test"), "learner": learner, "patience": 5, **HOW}
    plain = sapo.train(sample_path("train"), calibrate=False, **how)
    tagger = sapo.train(sample_path("train"), **how)
    assert not plain.model.calibrated
    assert tagger.model.calibrated
    again = calibrate(plain, pairs("test"))
    assert tagger.model.temperature == again.model.temperature
    assert tagger.model.record["calibration"] == again.model.record["calibration"]


@pytest.mark.parametrize("learner", ["sapo", "sapo-plain", "crf", "crf-lbfgs", "perceptron-avg", "mira-nbest"])
def test_a_model_without_a_dev_set_is_calibrated_on_sentences_that_it_held_out(
    learner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    how = HOW if learner != "crf-lbfgs" else {**HOW, "epochs": 30}
    plain = sapo.train(sample_path("train"), learner=learner, calibrate=False, **how)
    tagger = sapo.train(sample_path("train"), learner=learner, verbose=True, **how)
    assert not plain.model.calibrated
    assert tagger.model.calibrated
    assert tagger.tag_many(words for words, _ in pairs("test")) == plain.tag_many(words for words, _ in pairs("test"))
    counts = tagger.model.record["calibration"]
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("calibrated on ")]
    wrong = f"{counts['errors']} of {counts['answers']:,} spans wrong"
    assert line == f"calibrated on held-out training sentences ({wrong}): temperature {tagger.model.temperature:.3g}"

    def distance(one: sapo.Tagger) -> float:
        found = measure(one, pairs("test")).exact["spans"]
        return abs(found.confidence - found.accuracy)

    assert distance(tagger) < 0.1
    assert distance(tagger) < distance(plain) + 0.02


def test_equal_runs_give_equal_temperatures() -> None:
    first, second = (sapo.train(sample_path("train"), seed=3, **HOW).model for _ in range(2))
    assert model_bytes(first) == model_bytes(second)


def test_a_dev_set_with_few_errors_is_joined_by_held_out_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    dev = pairs("test")[:5]
    tagger = sapo.train(pairs("train"), dev=dev, template="chunking", epochs=2, verbose=True)
    assert tagger.model.record["calibration"]["sentences"] > 100
    assert "calibrated on the dev set and held-out training sentences (" in capsys.readouterr().err


def test_missing_tags_and_few_sentences_are_not_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    few = pairs("train")[:20]
    assert not sapo.train(few, template="chunking", epochs=2, verbose=True).model.calibrated
    assert "not calibrated: without a dev set, there is too little training data; " in capsys.readouterr().err
    some: list[Any] = [(words, [None, *tags[1:]]) for words, tags in pairs("train")[:60]]
    assert not sapo.train(some, template="chunking", epochs=2).model.calibrated
    assert sapo.train(some + pairs("train")[60:160], template="chunking", epochs=2).model.calibrated


def test_ctrl_c_keeps_the_model_without_a_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "_train_lattices", interrupt)
    assert not sapo.train(sample_path("train"), **HOW).model.calibrated


def test_features_of_any_size_are_calibrated_as_they_are() -> None:
    rng = np.random.default_rng(0)

    def sentences(count: int) -> Pairs:
        made = []
        for _ in range(count):
            size = rng.normal(size=8) * 300
            tags = ["A" if value + rng.normal() * 200 > 0 else "B" for value in size]
            made.append(([{"size": float(value), "one": 1.0} for value in size], tags))
        return made

    train, dev = sentences(60), sentences(60)
    tagger = sapo.train(train, dev=dev, epochs=3, calibrate=False)
    fitted = sapo.train(train, dev=dev, epochs=3)
    wanted = calibrate(tagger, dev)
    assert fitted.model.temperature == pytest.approx(wanted.model.temperature, rel=0.3)
    alone = sapo.train(train)
    assert alone.model.temperature == pytest.approx(calibrate(alone, dev).model.temperature, rel=0.4)


def test_a_dev_set_without_errors_does_not_make_the_model_surer() -> None:
    data = [(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])] * 20
    tagger = sapo.train(data, dev=data, template="pos", epochs=3)
    assert tagger.model.record["calibration"]["errors"] == 0
    assert 1.0 <= tagger.model.temperature < 1.2


def test_many_labels_are_left_to_sapo_calibrate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "MOST_PAIRS", 1000.0)
    assert not sapo.train(sample_path("train"), dev=sample_path("test"), **HOW).model.calibrated


def test_the_part_that_another_core_learns_meanwhile_changes_no_byte() -> None:
    alone, together = (sapo.train(sample_path("train"), threads=threads, **HOW) for threads in (1, 2))
    assert alone.model.calibrated
    assert model_bytes(alone.model) == model_bytes(together.model)


def test_ctrl_c_ends_the_part_that_another_core_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupter(Observer):
        def samples(self, epoch: int, done: int, of: int) -> None:
            raise KeyboardInterrupt

    parts: list[str] = []
    learn_part = run.Run._learn_part

    def watched(self: run.Run, data: TrainingData, settings: sapo.Settings, *observers: Observer) -> sapo.Tagger:
        assert threading.current_thread() is not threading.main_thread()
        try:
            return learn_part(self, data, replace(settings, epochs=100_000), *observers)
        except KeyboardInterrupt:
            parts.append("ended")
            raise

    monkeypatch.setattr(run.Run, "_learn_part", watched)
    tagger = sapo.train(sample_path("train"), threads=2, observers=[Interrupter()], **HOW)
    assert parts == ["ended"]
    assert not tagger.model.calibrated
