"""What docs/explaining.md says works as it says."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import sapo
from sapo.cli.main import app
from sapo.corpus.sample import COLUMNS, sample_path

PAGE = Path(__file__).parents[2] / "docs" / "explaining.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def without_numbers(text: str) -> list[str]:
    """The last digits of weights are those of a machine."""
    return [re.sub(r"[+-]?\d[\d.,]*", "#", re.sub(" +", " ", line)).strip() for line in text.strip().splitlines()]


def test_the_examples_show_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part in ("train", "test"):
        sentences = sapo.read(sample_path(part), columns=COLUMNS, label="chunk")
        rows = (zip(one.words, one.columns["pos"], one.tags or (), strict=True) for one in sentences)
        Path(f"{part}.txt").write_text("".join("".join(f"{w}\t{p}\t{t}\n" for w, p, t in row) + "\n" for row in rows))
    assert len(blocks("sh")) == len(blocks("text")) == 2
    for commands, shown in zip(blocks("sh"), blocks("text"), strict=True):
        for command in commands.splitlines():
            done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
            assert done.exit_code == 0
        assert without_numbers(done.stdout) == without_numbers(shown)


def test_the_python_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    (tmp_path / "example.py").write_text(example, "utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("NN VBZ ")
    assert len(lines) == 3
