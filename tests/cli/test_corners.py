"""What the command line was found to do badly."""

import os
import subprocess
import sys
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


def test_nothing_is_left_in_the_terminal_when_a_command_ends(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    pytest.importorskip("colorama", reason="numba colors its errors only where colorama is installed")
    ours, theirs = pty.openpty()
    code = "from sapo.cli import main; main()"
    command = [sys.executable, "-c", code, "demo", str(tmp_path / "data"), "-q"]
    env = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, check=True)
    os.close(theirs)
    try:
        printed = os.read(ours, 1000)
    except OSError:  # nothing was written
        printed = b""
    os.close(ours)
    assert printed == b""
