"""The commands of how-to/from-doccano.md lead from annotations and a folder of text to spans with probabilities."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import sapo
from sapo.cli.main import app
from sapo.corpus.sample import COLUMNS, running_text, sample_path
from sapo.tags.spans import loose_spans

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "from-doccano.md"
COMMANDS = re.search(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
TEXTS = {
    "b.txt": "Divers from Mombasa cleaned up the beach. They were tired.\n",
    "news/monday.txt": "A report.\n\nNowell met Dr. Halloran in Oslo.\n",
}


def as_doccano(sentence: sapo.corpus.Sentence) -> str:
    """Return a sentence as it would be printed, with its spans."""
    words, text, spans = sentence.words, running_text(sentence.words), []
    for span in loose_spans(sentence.tags or ()):
        name = running_text(words[span.start : span.end])
        start = text.index(name, len(running_text(words[: span.start])))
        spans.append([start, start + len(name), span.type])
    return json.dumps({"text": text, "label": spans}) + "\n"


def run(command: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=True)
    assert (done.exit_code == 0) == (code == 0), done.output
    return done.stdout if code == 0 else str(done.exception)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page takes for granted."""
    monkeypatch.chdir(tmp_path)
    sentences = list(sapo.read(sample_path("train"), columns=COLUMNS, label="entity"))[:200]
    Path("annotated.jsonl").write_text("".join(map(as_doccano, sentences)))
    for name, text in {**TEXTS, ".hidden": "Oslo"}.items():
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_text(text)
    return tmp_path / "texts"


def test_at_most_four_commands_lead_to_spans_with_probabilities(folder: Path) -> None:
    assert COMMANDS is not None
    commands = COMMANDS[1].splitlines()
    assert len(commands) <= 4
    for command in commands:
        run(command)
    records = [json.loads(line) for line in Path("spans.jsonl").read_text().splitlines()]
    assert [record["file"] for record in records] == ["b.txt", "b.txt", "news/monday.txt", "news/monday.txt"]
    for record in records:
        assert record["text"] == TEXTS[record["file"]][record["start"] : record["end"]]
    spans = [(record["text"][one["start"] : one["end"]], one) for record in records for one in record["spans"]]
    assert "Mombasa" in [name for name, _ in spans]
    assert all(0 < span["probability"] <= 1 for _, span in spans)

    # one of its own files is never written over, and columns have no place for the names of files
    before = {path: path.read_bytes() for path in folder.rglob("*.txt")}
    assert "would overwrite the input" in run("sapo tag ner.sapo texts --format text --to jsonl -o texts/b.txt", 2)
    assert "a directory is tagged as one JSONL file" in run("sapo tag ner.sapo texts --format text", 2)
    assert {path: path.read_bytes() for path in folder.rglob("*.txt")} == before
    Path("empty").mkdir()
    assert "has no files" in run("sapo tag ner.sapo empty --format text --to jsonl", 2)
