"""A model that is trained with a dev set has probabilities that can be trusted at once."""

from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.training import calibration
from sapo.training.calibration import calibrate

HOW: Any = {"columns": COLUMNS, "label": "chunk", "template": "chunking", "epochs": 2}
Pairs = list[tuple[list[Any], list[str]]]


def pairs(part: str) -> Pairs:
    sentences = sapo.read(sample_path(part), columns=COLUMNS, label="chunk")
    return [(list(zip(one.words, one.columns["pos"], strict=True)), list(one.tags or ())) for one in sentences]


@pytest.mark.parametrize("learner", ["sapo", "crf", "perceptron-avg"])
def test_training_with_a_dev_set_finds_the_temperature_that_calibrate_finds(learner: str) -> None:
    plain = sapo.train(sample_path("train"), learner=learner, **HOW)
    tagger = sapo.train(sample_path("train"), dev=sample_path("test"), learner=learner, patience=5, **HOW)
    assert not plain.model.calibrated
    assert tagger.model.calibrated
    again = calibrate(tagger, pairs("test"))
    assert tagger.model.temperature == pytest.approx(again.model.temperature, rel=2e-3)
    assert tagger.model.record["calibration"]["loss"] <= tagger.model.record["calibration"]["loss_before"]


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
    tagger = sapo.train(train, dev=dev, epochs=3)
    assert tagger.model.temperature == pytest.approx(calibrate(tagger, dev).model.temperature, rel=2e-3)


def test_a_dev_set_without_errors_does_not_make_the_model_certain() -> None:
    data = [(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])] * 10
    tagger = sapo.train(data, dev=data, template="pos", epochs=3)
    assert tagger.model.record["calibration"]["errors"] == 0
    assert tagger.tag(["the", "dog"]) == ["DT", "NN"]
    shares = [max(token.values()) for words, _ in data for token in tagger.marginals(words)]
    assert sum(1 - share for share in shares) == pytest.approx(1, rel=0.1)  # it still expects one


def test_many_labels_are_left_to_sapo_calibrate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "PAIRS", 1000.0)
    assert not sapo.train(sample_path("train"), dev=sample_path("test"), **HOW).model.calibrated
