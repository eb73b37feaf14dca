"""What docs/text.md says works as it says."""

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import sapo
from sapo.cli.main import app
from sapo.corpus.sample import COLUMNS, sample_path

PAGE = Path(__file__).parents[2] / "docs" / "text.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
BOOK = "Mr. Lee lives in Oslo.\nIt isn't far.\n\nThe end\n"


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def run(command: str) -> str:
    done = CliRunner().invoke(app, shlex.split(command, comments=True)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page takes for granted."""
    monkeypatch.chdir(tmp_path)
    sentences = list(sapo.read(sample_path("train"), columns=COLUMNS, label="entity"))
    rows = (zip(one.words, one.tags or (), strict=True) for one in sentences)
    Path("train.txt").write_text("".join("".join(f"{w}\t{t}\n" for w, t in row) + "\n" for row in rows))
    Path("book.txt").write_text(BOOK)
    for name, template in (("pos", "pos"), ("chunk", "chunking")):
        sapo.train(sample_path("train"), template=template, columns=COLUMNS, label=name, epochs=2).save(f"{name}.sapo")
    return tmp_path


def test_the_page_does_what_it_shows(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, files, stack = blocks("sh")
    train, tag = first.splitlines()
    run(train)
    assert run(tag).strip("\n") == blocks("text")[0].strip("\n")
    for line in (*files.splitlines(), *stack.splitlines()):
        run(line)
    run("sapo tag ner.sapo book.txt --format text -o tagged.jsonl")
    shown = json.loads(blocks("json")[0])
    assert json.loads(Path("tagged.jsonl").read_text().splitlines()[1]) == shown
    outputs = []
    for number, example in enumerate(blocks("python")):
        Path(f"example{number}.py").write_text(example)
        runpy.run_path(f"example{number}.py")
        outputs.append(capsys.readouterr().out)
    assert outputs[0].startswith("Lee 4 7 PER")
    assert outputs[1].splitlines()[0] == "The DT B-NP"
    assert outputs[2] == "is\n"
