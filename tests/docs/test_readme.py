"""What the README says works as it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sapo.corpus.sample.copies import sample_files

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the README takes for granted: those of `sapo sample`."""
    room = tmp_path_factory.mktemp("readme")
    for name, text in sample_files().items():
        (room / name).write_text(text, "utf-8")
    return room


def run(command: str, room: Path) -> str:
    """A line of the README, as typed into a shell where `sapo` is installed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, cwd=room, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_at_the_top_are_targets_of_the_makefile() -> None:
    makefile = (README.parent / "Makefile").read_text()
    first = blocks("sh")[0]
    for target in re.findall(r"^make (\w+)", first, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert {"demo", "test"} <= set(re.findall(r"^make (\w+)", first, re.MULTILINE))


def test_every_command_runs(room: Path) -> None:
    lines = [line for text in blocks("sh") for line in text.splitlines() if line.startswith("sapo ")]
    assert len(lines) >= 7
    for line in lines:
        if line != "sapo demo":
            run(line, room)
    assert "B-NP" in (room / "tagged.txt").read_text("utf-8")
    assert (room / "chunk2.sapo").exists()


def test_the_python_example_runs(room: Path) -> None:
    (example,) = blocks("python")
    (room / "example.py").write_text(example, "utf-8")
    told = run(f"{sys.executable} example.py", room)
    assert told.startswith("['B-NP', 'I-NP', 'B-VP']")


def test_the_demo_shows_what_the_readme_shows(room: Path) -> None:
    def without_numbers(text: str) -> list[str]:
        """The last digits of scores and times are those of a machine."""
        return [re.sub(r"\d+\.\d+", "#", line).rstrip() for line in text.strip().splitlines()]

    assert without_numbers(run("sapo demo < /dev/null", room)) == without_numbers(blocks("text")[0])


def test_the_places_that_the_readme_names_are_there() -> None:
    for place in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text("utf-8")):
        assert (README.parent / place).exists(), place
