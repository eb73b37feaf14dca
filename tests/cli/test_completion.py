"""What a shell is told when the tab key is pressed."""

import os
import subprocess
import sys

import pytest

from sapo.cli.main import app, complete_files


def completed(*words: str) -> list[str]:
    """Ask as bash does: the last word is the one to complete."""
    question = {"_SAPO_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    start = "import sys; sys.argv = ['sapo']; from sapo.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start], env={**os.environ, **question}, capture_output=True, text=True, check=False
    )
    return done.stdout.split()


def test_commands_and_options_are_completed() -> None:
    assert completed("sapo", "tr") == ["plain,train"]
    assert completed("sapo", "tag", "--nb") == ["plain,--nbest"]


@pytest.mark.parametrize("words", [("tag", "ner"), ("tag", "ner.sapo", "te"), ("train", "a.txt", "--dev", "d")])
def test_files_are_completed_by_the_shell(words: tuple[str, ...]) -> None:
    assert completed("sapo", *words) == [f"file,{words[-1]}"]


def test_what_is_not_a_file_is_not() -> None:
    assert completed("sapo", "train", "a.txt", "--learner", "cr") == []


def test_every_output_is_a_file() -> None:
    complete_files(app)
    options = [option for command in app.commands.values() for option in command.params if option.name == "output"]
    assert len(options) > 5
    assert all(option._custom_shell_complete for option in options)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_every_shell(shell: str) -> None:
    start = "import sys; sys.argv = ['sapo']; from sapo.cli import main; main()"
    environment = {**os.environ, "_SAPO_COMPLETE": f"{shell}_source"}
    done = subprocess.run([sys.executable, "-c", start], env=environment, capture_output=True, text=True, check=True)
    assert "_SAPO_COMPLETE" in done.stdout
