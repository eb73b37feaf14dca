"""What commands say about probabilities: how training with a dev set calibrates them, and when they are not."""

from types import SimpleNamespace
from typing import Any

import pytest

from answers import answer
from sapo.cli.train import _why


def test_the_command_tells_that_it_calibrates_and_what_the_dev_set_chose(house: Any, tmp_path: Any) -> None:
    model = tmp_path / "m.sapo"
    done = answer("train", house.train, "--dev", house.test, "-o", model, "-e", 2, "-t", "chunking")
    assert done.code == 0
    assert any("; kept epoch 2" in line for line in done.lines)
    (line,) = [line for line in done.lines if line.startswith("temperature ")]
    assert line.endswith("fitted on the dev set: calibrates probabilities, changes no tag")
    assert f"calibrated  {line.split(',')[0]}" in answer("inspect", model).out


def test_both_commands_say_that_there_are_too_few_errors(tmp_path: Any) -> None:
    easy, model = tmp_path / "easy.txt", tmp_path / "m.sapo"
    easy.write_text("a DT\ndog NN\n\nthe DT\ncat NN\n\n" * 20)
    trained = answer("train", easy, "--dev", easy, "-o", model, "-e", 3, "-t", "pos")
    fitted = answer("calibrate", model, easy)
    for done in (trained, fitted):
        assert done.code == 0
        (line,) = [line for line in done.lines if "errors among" in line]
        assert line.startswith("no errors among 80 tokens: temperature held at ")
        assert line.endswith(", as if there were 1; calibrate on sentences that the model was not trained on")


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([0.5, 0.8], " (the best on the dev set: evaluate on other sentences)"),
        ([0.8, 0.8], " (the best on the dev set: evaluate on other sentences)"),
        ([0.835, 0.79], ", the last: epoch 1 (83.50) is not better by more than a standard error"),
    ],
)
def test_the_command_says_why_it_keeps_an_epoch(scores: list[float], words: str) -> None:
    history = [SimpleNamespace(epoch=epoch, dev=dev) for epoch, dev in enumerate(scores, 1)]
    assert _why(SimpleNamespace(history=history, best_epoch=2)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [["--spans"], ["--marginals"], ["--nbest", "2"]])
def test_probabilities_that_are_not_calibrated_are_told_once(house: Any, tmp_path: Any, options: list[str]) -> None:
    done = answer("tag", house.model, house.test, *options)
    assert done.lines == [
        f"sapo: the probabilities are not calibrated; to calibrate them: sapo calibrate {house.model} DEV"
    ]
    assert not answer("tag", house.model, house.test, "-q", *options).lines
    assert not answer("tag", house.model, house.test).lines
    calibrated = tmp_path / "m.sapo"
    assert answer("calibrate", house.model, house.test, "-o", calibrated).code == 0
    assert not answer("tag", calibrated, house.test, *options).lines
