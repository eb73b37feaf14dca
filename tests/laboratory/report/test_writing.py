"""The files of a report: well-formed, complete in themselves, the same for the same runs."""

import builtins
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from laboratory.__main__ import app
from laboratory.report import read_theory, write_report
from laboratory.report.significance import Significance
from sapo.errors import SapoError

from .conftest import MakeRun

pytest.importorskip("matplotlib", reason="the report's figures need matplotlib")
VOID = {"meta", "br", "hr", "img", "link"}


def compare(gold: object, a: object, b: object) -> Significance:
    return Significance(difference=0.5, t_p=0.02, randomization_p=0.03)


class Page(HTMLParser):
    """Tags must close in order; ids must be unique; nothing may come from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href", "srcset", "data", "action"):
                self.targets.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_whole_report(many_runs: Path, tmp_path: Path) -> None:
    (many_runs / "chunking" / "crf-seed9.jsonl").write_text("{")
    said: list[str] = []
    write_report(many_runs, tmp_path / "out", compare=compare, say=said.append)
    names = sorted(path.name for path in (tmp_path / "out" / "figures").iterdir())
    stems = [
        *("fig1-score-sapo-crf", "fig2-score-search-based", "fig3-w-complexity"),
        *("fig4-time", "fig5-time-neural", "fig6-score-by-n"),
    ]
    assert names == sorted(f"{stem}.{ending}" for stem in stems for ending in ("png", "svg"))
    assert "drawing fig4-time" in said
    assert "compared CRF of chunking" in said

    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert page.targets
    assert all(target.startswith("#") and target[1:] in page.ids for target in page.targets)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(page.ids)
    assert not re.search(r"https?:|//[a-z]|@import|<script|<link|<img|<iframe", text)
    assert "script" not in page.seen
    assert "chunking/crf-seed9.jsonl</code>: line 1 is not JSON" in text

    markdown = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert {f"{name}.svg" for name in re.findall(r"\]\(figures/([^)]*)\.svg\)", markdown)} <= set(names)
    numbers = json.loads((tmp_path / "out" / "numbers.json").read_text("utf-8"))
    assert numbers["tasks"]["chunking"]["significance"]["CRF"] == {
        "difference": 0.5,
        "t_p": 0.02,
        "randomization_p": 0.03,
    }
    assert set(numbers["claims"]) == {"crf", "search-based", "convergence", "weights", "speed", "n", "search"}
    assert numbers["skipped"] == {"chunking/crf-seed9.jsonl": "line 1 is not JSON"}


@pytest.fixture
def two_runs(make_run: MakeRun, tmp_path: Path) -> Path:
    make_run("chunking", "SAPO", [90.0, 92.0])
    make_run("chunking", "CRF", [90.0, 91.0])
    return tmp_path / "runs"


def files_of(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_the_same_runs_give_the_same_bytes(two_runs: Path, tmp_path: Path) -> None:
    write_report(two_runs, tmp_path / "one", compare=compare)
    write_report(two_runs, tmp_path / "two", compare=compare)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert len(files_of(tmp_path / "one")) == 7  # page, Markdown, numbers, two figures twice


def test_names_from_the_files_cannot_break_the_page(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0], title="<script>alert(1)</script>", command="sapo `x` </code> ```")
    make_run("chunking", "CRF", [90.0], title="<script>alert(1)</script>")
    write_report(tmp_path / "runs", tmp_path / "out", compare=compare)
    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "script" not in Page(text).seen
    assert "&lt;script&gt;" in text
    assert "<script" not in (tmp_path / "out" / "report.md").read_text("utf-8").replace("\\<", "")


def test_a_figure_of_an_earlier_report_does_not_stay(two_runs: Path, make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("chunking", "SAPO-n1", [80.0])
    write_report(two_runs, tmp_path / "out", compare=compare)
    assert (tmp_path / "out/figures/fig6-score-by-n.svg").exists()
    path.unlink()
    (tmp_path / "out/figures/mine.svg").write_text("what others put there is not ours")
    write_report(two_runs, tmp_path / "out", compare=compare)
    assert not (tmp_path / "out/figures/fig6-score-by-n.svg").exists()
    assert (tmp_path / "out/figures/mine.svg").exists()


def test_figures_are_whole_svg_files_without_a_date(two_runs: Path, tmp_path: Path) -> None:
    write_report(two_runs, tmp_path / "out", compare=compare)
    data = (tmp_path / "out/figures/fig1-score-sapo-crf.svg").read_bytes()
    assert ElementTree.fromstring(data).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<dc:date>" not in data


def test_without_tags_the_report_says_that_significance_is_not_known(two_runs: Path, tmp_path: Path) -> None:
    write_report(two_runs, tmp_path / "out", compare=compare)
    assert "Significance is not known: no task has the tags" in (tmp_path / "out/report.md").read_text("utf-8")


def test_theory_is_told_where_it_is(two_runs: Path, tmp_path: Path) -> None:
    assert read_theory(tmp_path / "nowhere") == []
    (two_runs / "theory").mkdir()
    (two_runs / "theory" / "a.json").write_text('{"title": "The bound", "text": "It holds."}')
    (two_runs / "theory" / "b.json").write_text("{")
    write_report(two_runs, tmp_path / "out", compare=compare)
    assert "### The bound\n\nIt holds." in (tmp_path / "out/report.md").read_text("utf-8")


def test_without_matplotlib_one_line_says_what_to_install(
    two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SapoError, match=r"figures need matplotlib: pip install 'sapo-nlp\[report\]'"):
        write_report(two_runs, tmp_path / "out", compare=compare)
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_told(two_runs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SapoError, match=r"file: no report can be written there .*; give another -o"):
        write_report(two_runs, tmp_path / "file", compare=compare)


def test_the_command_prints_where_the_page_is(two_runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["report", str(two_runs)], standalone_mode=False)
    told = capsys.readouterr()
    assert told.out == f"{two_runs / 'report' / 'report.html'}\n"
    assert told.err.endswith("sapo: 2 runs\n")
    app(["report", str(two_runs), "--quiet"], standalone_mode=False)  # its own output is no run
    assert capsys.readouterr().err == ""
