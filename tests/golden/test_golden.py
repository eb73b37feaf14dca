"""Every model that was ever saved can be read, and answers as it did: see tests/shared/golden_models.py."""

import json
from pathlib import Path

import pytest

import sapo
from golden_models import HERE, MODELS, answers
from sapo.tagger.file import model_bytes, model_from_bytes

ANSWERS = json.loads((HERE / "answers.json").read_bytes())


def test_each_golden_model_has_its_answers() -> None:
    assert set(ANSWERS) == set(MODELS) == {path.name for path in Path(HERE).glob("*.sapo")}


@pytest.mark.parametrize("name", MODELS)
def test_a_golden_model_answers_as_it_did(name: str) -> None:
    if name.startswith("network"):
        pytest.importorskip("torch")
    tagger = sapo.Tagger.load(HERE / name)
    for found, known in zip(answers(tagger), ANSWERS[name], strict=True):
        assert found["tags"] == known["tags"]
        assert [tags for tags, _ in found["nbest"]] == [tags for tags, _ in known["nbest"]]
        scores = [score for _, score in found["nbest"]]
        assert scores == pytest.approx([score for _, score in known["nbest"]], abs=0.002)
        assert found["marginals"] == pytest.approx(known["marginals"], abs=0.002)


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("network")])
def test_a_golden_model_is_saved_and_read_again(name: str) -> None:
    tagger = sapo.Tagger.load(HERE / name)
    again = sapo.Tagger(model_from_bytes(model_bytes(tagger.model)))
    assert [one["tags"] for one in answers(again)] == [one["tags"] for one in ANSWERS[name]]
