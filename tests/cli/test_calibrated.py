"""What commands say about probabilities: how training calibrates them, and when they are not calibrated."""

from typing import Any

import pytest

import sapo
from answers import answer


def test_training_prints_five_lines_about_data_settings_score_probabilities_and_the_model(
    house: Any, tmp_path: Any
) -> None:
    model = tmp_path / "m.sapo"
    done = answer("train", house.train, "--dev", house.test, "-o", model, "-e", 2, "-t", "chunking")
    assert done.code == 0
    data, settings, score, calibrated, saved = done.lines
    assert " sentences, " in data
    assert " labels, " in data
    assert settings.startswith("sapo: rate ")
    assert "at most 2 epochs" in settings
    assert score.startswith("dev F1 ")
    assert "; kept epoch 2" in score
    assert calibrated.startswith("calibrated on the dev set")
    assert saved.startswith(f"saved {model} (")
    assert saved.endswith(f"B); next: sapo eval {model} TEST, or sapo tag {model} FILE")
    assert f"calibrated  {calibrated.split('): ')[1]}" in answer("inspect", model).out


def test_without_a_dev_set_training_prints_a_line_less_and_with_v_one_for_each_epoch(house: Any, tmp_path: Any) -> None:
    model = tmp_path / "m.sapo"
    done = answer("train", house.train, "-o", model, "-e", 2, "-t", "chunking")
    assert len(done.lines) == 4
    assert done.lines[2].startswith("calibrated on held-out training sentences (")
    detailed = answer("train", house.train, "-o", model, "-e", 2, "-t", "chunking", "-v").lines
    assert set(done.lines) <= set(detailed)
    assert sum(line.startswith("epoch ") for line in detailed) == 2
    assert any(line.startswith("  rate ") for line in detailed)
    assert not answer("train", house.train, "-o", model, "-e", 2, "-t", "chunking", "-q", "-v").lines


def test_both_commands_do_not_make_a_model_surer_on_the_sentences_that_it_learned(tmp_path: Any) -> None:
    easy, model = tmp_path / "easy.txt", tmp_path / "m.sapo"
    easy.write_text("a DT\ndog NN\n\nthe DT\ncat NN\n\n" * 20)
    trained = answer("train", easy, "--dev", easy, "-o", model, "-e", 2, "-t", "pos", "--rate", 0.01)
    assert any(line.endswith(" tokens wrong): too few errors to make it surer") for line in trained.lines)
    fitted = answer("calibrate", model, easy)
    assert fitted.lines[0] == "temperature 1 -> 1"
    assert any(line.startswith("0 of 80 tokens wrong: too few errors to make the tagger") for line in fitted.lines)


@pytest.mark.parametrize("options", [["--spans"], ["--marginals"], ["--nbest", "2"]])
def test_probabilities_that_are_not_calibrated_are_told_once(house: Any, tmp_path: Any, options: list[str]) -> None:
    model = tmp_path / "m.sapo"
    sapo.train(house.train, template="chunking", epochs=2, calibrate=False).save(model)
    done = answer("tag", model, house.test, *options)
    assert done.lines == [f"sapo: the probabilities are not calibrated; to calibrate them: sapo calibrate {model} DEV"]
    assert not answer("tag", model, house.test, "-q", *options).lines
    assert not answer("tag", model, house.test).lines
    assert not answer("tag", house.model, house.test, *options).lines  # training calibrates
    assert answer("calibrate", model, house.test).code == 0
    assert not answer("tag", model, house.test, *options).lines
