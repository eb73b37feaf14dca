"""What commands say about probabilities: how training with a dev set calibrates them, and when they are not."""

from typing import Any

import pytest

from answers import answer


def test_the_command_tells_that_it_calibrates_and_what_the_dev_set_chose(house: Any, tmp_path: Any) -> None:
    model = tmp_path / "m.sapo"
    done = answer("train", house.train, "--dev", house.test, "-o", model, "-e", 2, "-t", "chunking")
    assert done.code == 0
    assert any("the best on the dev set: evaluate on other sentences" in line for line in done.lines)
    (line,) = [line for line in done.lines if line.startswith("temperature ")]
    assert line.endswith("fitted on the dev set: calibrates probabilities, changes no tag")
    assert f"calibrated  {line.split(',')[0]}" in answer("inspect", model).out


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
