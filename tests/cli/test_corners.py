"""What the command line was found to do badly."""

import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("options", [["-o", "train.txt"], ["-o", "new.sapo", "--log", "./train.txt"]])
def test_training_never_writes_over_what_it_reads(run: Any, house: Any, tmp_path: Path, options: list[str]) -> None:
    text = house.train.read_text()
    (tmp_path / "train.txt").write_text(text)
    done = run("train", "train.txt", "-e", 1, "-q", *options, ends=2, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapo: ")
    assert (tmp_path / "train.txt").read_text() == text


def test_a_model_and_its_checkpoint_are_two_files(run: Any, house: Any, tmp_path: Path) -> None:
    done = run("train", house.train, "-e", 1, "-q", "-o", "one", "--checkpoint", "./one", ends=2, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapo: ")
    assert list(tmp_path.iterdir()) == []


def test_tagging_never_writes_over_its_model(run: Any, house: Any, tmp_path: Path) -> None:
    model = tmp_path / "chunk.sapo"
    model.write_bytes(house.model.read_bytes())
    run("tag", model, house.test, "-o", model, ends=2)
    assert model.read_bytes() == house.model.read_bytes()


def test_a_standard_output_that_is_closed_is_one_line(house: Any, command: list[str], env: dict[str, str]) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command, "tag", str(house.model), str(house.test)]
    done = subprocess.run(shell, stderr=subprocess.PIPE, env=env, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapo: standard output: cannot be written")
