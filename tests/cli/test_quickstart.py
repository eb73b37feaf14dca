"""sapo quickstart: from 150 tickets in a CSV file to a score, a report and a running service."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.sample import sample_files, sample_path

Run = Callable[..., Any]
SCORE = re.compile(r"^F1 on test: (\d+\.\d) \(95 % interval (\d+\.\d) to (\d+\.\d)\)$", re.MULTILINE)


@pytest.fixture(scope="module")
def made(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A directory with the tickets and what the command made of them, and what it printed."""
    room = tmp_path_factory.mktemp("quickstart")
    (room / "tickets.csv").write_text(sample_files()["tickets.csv"], "utf-8")
    return room, run("quickstart", room / "tickets.csv", "-o", room / "out").stderr


@pytest.fixture
def copy(made: tuple[Path, str], tmp_path: Path) -> Path:
    for name in ("tickets.csv", "out"):
        (shutil.copytree if name == "out" else shutil.copy)(made[0] / name, tmp_path / name)
    return tmp_path


def quickstart(run: Run, room: Path, *more: object, ends: int = 0) -> str:
    return str(run("quickstart", room / "tickets.csv", "-o", room / "out", *more, ends=ends).stderr)


def test_one_command_gives_a_score_and_one_line_a_service(made: tuple[Path, str]) -> None:
    pytest.importorskip("uvicorn")
    room, printed = made
    score = SCORE.search(printed)
    assert score is not None
    assert float(score[1]) > 85
    assert float(score[2]) < float(score[1]) < float(score[3])
    serve, teach = (line.strip() for line in printed.splitlines()[-2:])
    assert teach == f"sapo teach new.txt -o tickets.teach --model {room / 'out' / 'model.sapo'}"
    arguments = shlex.split(serve)[1:]
    process = subprocess.Popen(
        [sys.executable, "-c", "from sapo.cli import main; main()", *arguments, "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stderr is not None
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://127\S+", line)))
            message = json.dumps({"text": "My SolarPack from order #591823 is broken."}).encode()
            request = urllib.request.Request(f"{address}/tag", message, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as reply:
                spans = [span for sentence in json.load(reply)["sentences"] for span in sentence["spans"]]
        finally:
            process.terminate()
    assert ("PRODUCT", 3, 12) in [(span["type"], span["start"], span["end"]) for span in spans]


class Outline(HTMLParser):
    """Collects the headings of a page, and checks that its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.charts = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.charts += tag == "svg"
        if tag not in ("meta", "line", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Ignore elements without content."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def test_the_report_is_one_page_without_anything_from_elsewhere(made: tuple[Path, str]) -> None:
    page = (made[0] / "out" / "report.html").read_text("utf-8")
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert outline.headings == [
        "tickets.csv",
        "What the model finds",
        "Scores",
        "Can you trust its probabilities? Would more data help?",
        "Errors",
        "What to label next",
        "The data",
        "Next",
    ]
    assert outline.charts == 2
    assert not re.search(r"(?:src|href)=|https?://|<script", page)
    assert all(name in page for name in ("PRODUCT", "ORDER", "PERSON", "PLACE", "95 % interval"))


def test_no_ticket_is_in_two_parts(made: tuple[Path, str]) -> None:
    names = [{one.document for one in sapo.read(made[0] / f"out/data/{part}.csv")} for part in ("train", "dev", "test")]
    assert sum(map(len, names)) == len(set().union(*names)) == 150


def test_a_second_run_reuses_everything(run: Run, made: tuple[Path, str]) -> None:
    room = made[0]
    before = {path: path.read_bytes() for path in (room / "out").rglob("*") if path.is_file()}
    printed = quickstart(run, room)
    assert "reused, as nothing changed: the split, the model, the report" in printed
    assert "trained in" not in printed
    assert SCORE.search(printed)
    assert {path: path.read_bytes() for path in (room / "out").rglob("*") if path.is_file()} == before


def test_only_the_report_is_made_again_if_it_was_deleted(run: Run, copy: Path) -> None:
    (copy / "out" / "report.html").unlink()
    assert "reused, as nothing changed: the split, the model\n" in quickstart(run, copy)
    assert (copy / "out" / "report.html").exists()


def test_a_corrected_part_is_learned_without_a_new_split(run: Run, copy: Path) -> None:
    train = copy / "out" / "data" / "train.csv"
    train.write_text(train.read_text("utf-8").replace(":PLACE", ":TOWN", 1), "utf-8")
    printed = quickstart(run, copy)
    assert "reused, as nothing changed: the split\n" in printed
    assert "trained in" in printed
    with (copy / "tickets.csv").open("a", encoding="utf-8") as stream:
        stream.write("T-151,A new ticket about an AquaJet.,22:29:PRODUCT\n")
    told = quickstart(run, copy, ends=2)  # a new split would lose the correction
    assert "train.csv: is not as sapo quickstart wrote it; move it away, or give another directory with -o" in told


def test_new_data_is_split_and_learned(run: Run, copy: Path) -> None:
    with (copy / "tickets.csv").open("a", encoding="utf-8") as stream:
        stream.write("T-151,A new ticket about an AquaJet.,22:29:PRODUCT\n")
    printed = quickstart(run, copy)
    assert "151 documents" in printed
    assert "reused" not in printed


def test_files_of_others_are_never_overwritten(run: Run, copy: Path) -> None:
    other = copy / "other"
    other.mkdir()
    (other / "model.sapo").write_text("mine")
    told = run("quickstart", copy / "tickets.csv", "-o", other, ends=2).stderr
    assert f"{other}: exists and was not made by sapo quickstart; give another directory with -o" in told
    assert [path.name for path in other.iterdir()] == ["model.sapo"]
    (copy / "out" / "model.sapo").write_text("mine")
    assert "model.sapo: is not as sapo quickstart wrote it" in quickstart(run, copy, ends=2)
    assert (copy / "out" / "model.sapo").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("", "has no sentences"),
        ("id,text\n1,Anna sings here.\n", "found no column of spans among id, text; add a column 'spans'"),
        ("text,spans\nAnna,0:9:PER\n", "a.csv:2: span 0:9 'PER' is not in the text, which has 4 characters"),
        ("text,spans\nAnna,0:4:PER\nBen,0:3:PER\nEve,\n", "3 sentences are too few; label at least 20"),
    ],
)
def test_what_cannot_work_is_told_in_one_line_and_leaves_nothing(
    run: Run, tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "a.csv"
    if content is not None:
        path.write_text(content)
    told = run("quickstart", path, "-o", tmp_path / "out", ends=2).stderr
    assert message in told
    assert told.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "a.csv"]


def test_any_format_and_any_task_will_do(run: Run, tmp_path: Path) -> None:
    tags = tmp_path / "tags.conllu"
    tags.write_text("".join(sample_files()[f"{part}.conllu"] for part in ("dev", "test")), "utf-8")
    printed = run("quickstart", tags, "-o", tmp_path / "tags").stderr
    assert re.search(r"^accuracy on test: \d+\.\d \(95 % interval", printed, re.MULTILINE)
    assert (tmp_path / "tags" / "data" / "train.conllu").exists()
    columns = ("--columns", "word,pos,chunk,entity", "--label", "chunk")
    printed = run("quickstart", sample_path("test"), *columns, "-o", tmp_path / "chunks").stderr
    assert SCORE.search(printed)
    assert printed.splitlines()[-1].strip() == f"sapo tag {tmp_path / 'chunks' / 'model.sapo'} new.txt"  # it needs pos
    assert "no document" not in (tmp_path / "chunks" / "report.html").read_text("utf-8").lower()
