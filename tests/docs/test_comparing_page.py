"""What docs/comparing.md says works as it says."""

import re
import runpy
from pathlib import Path

import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.evaluate import comparison_text
from sapo.evaluate.files import compare_files

PAGE = Path(__file__).parents[2] / "docs" / "comparing.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def test_the_example_shows_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part in ("train", "test"):
        sentences = sapo.read(sample_path(part), columns=COLUMNS, label="chunk")
        rows = (zip(one.words, one.columns["pos"], one.tags or (), strict=True) for one in sentences)
        Path(f"{part}.txt").write_text("".join("".join(f"{w}\t{p}\t{t}\n" for w, p, t in row) + "\n" for row in rows))
    for learner in ("sapo", "perceptron", "crf"):
        tagger = sapo.train("train.txt", template="chunking", learner=learner)
        sentences = list(sapo.read("test.txt"))
        tagged = [tagger.tag(list(zip(one.words, one.columns["pos"], strict=True))) for one in sentences]
        Path(f"{learner}.txt").write_text("".join("".join(f"{tag}\n" for tag in tags) + "\n" for tags in tagged))

    def without_numbers(text: str) -> list[str]:
        """The last digits of scores are those of a machine, and so may be which side of 0.05 a p value is on."""
        lines = text.strip().splitlines()[:-1]
        return [re.sub(r"[+-]?<?\d+(\.\d+)?", "#", re.sub(" +", " ", line)) for line in lines]

    commands = re.findall(r"^sapo compare (.*) test.txt$", "".join(blocks("sh")), re.MULTILINE)
    assert len(commands) == len(blocks("text")) == 2
    for names, shown in zip(commands, blocks("text"), strict=True):
        told = comparison_text(names.split(), compare_files(names.split(), "test.txt"))
        assert without_numbers(told) == without_numbers(shown)


def test_the_python_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    (tmp_path / "example.py").write_text(example, "utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
    name, *numbers = capsys.readouterr().out.split()
    assert name == "F1"
    assert [round(float(number), 4) for number in numbers] == [0.4667, 0.75, 0.9175]
