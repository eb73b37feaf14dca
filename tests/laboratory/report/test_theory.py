"""RUNS/theory/*.json as parts of the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from laboratory.report import theory_section, write_report

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><title>t</title><rect width="9" height="9"/></svg>\n'
)


def part(room: Path, **fields: Any) -> Path:
    (room / "theory").mkdir(parents=True, exist_ok=True)
    made = {"title": "The bound", "text": "It holds.\n\nIt is loose.", **fields}
    (room / "theory" / "a.json").write_text(json.dumps(made))
    return room / "theory"


def test_paragraphs_table_figure_and_command_are_shown(make_run: Any, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [93.0, 94.0])
    table = {"head": ["n", "τ"], "rows": [["5", "0.5"]]}
    part(tmp_path / "runs", figure=SVG, table=table, command="python -m laboratory experiment theory")
    write_report(tmp_path / "runs", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "<p>It holds.</p>\n<p>It is loose.</p>" in page
    assert '<rect width="9" height="9"/>' in page
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| 5 | 0.5 |" in text
    assert "(figures/theory1.svg)" in text
    assert "python -m laboratory experiment theory" in text
    assert (tmp_path / "out" / "figures" / "theory1.svg").read_text("utf-8") == SVG


def test_a_figure_of_an_earlier_report_does_not_stay(make_run: Any, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [93.0, 94.0])
    directory = part(tmp_path / "runs", figure=SVG)
    write_report(tmp_path / "runs", tmp_path / "out")
    (directory / "a.json").unlink()
    write_report(tmp_path / "runs", tmp_path / "out")
    assert not (tmp_path / "out" / "figures" / "theory1.svg").exists()


def test_figures_of_others_stay(make_run: Any, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [93.0, 94.0])
    figures = tmp_path / "out" / "figures"
    figures.mkdir(parents=True)
    always, unless_ours = ["theory.svg", "theory-of-mind.svg"], ["theory7.svg", "fig5-time-neural.svg"]
    for name in (*always, *unless_ours):
        (figures / name).write_text("of somebody else")
    (tmp_path / "out" / "report.html").write_text("<title>The year in figures</title>")
    write_report(tmp_path / "runs", tmp_path / "out")
    assert all((figures / name).read_text() == "of somebody else" for name in (*always, *unless_ours))
    write_report(tmp_path / "runs", tmp_path / "out")  # now these names are those of an earlier report
    assert all((figures / name).exists() for name in always)
    assert not any((figures / name).exists() for name in unless_ours)


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        '<rect onclick="alert(1)"/>',
        '<a href="http://example.org"><text>x</text></a>',
        '<text style="background: url(http://example.org)">x</text>',
        "<foreignObject/>",
        "<rect>",
    ],
)
def test_a_figure_that_could_do_more_than_be_looked_at_is_left_out(tmp_path: Path, inner: str) -> None:
    found = theory_section(part(tmp_path, figure=SVG.replace("</svg>", inner + "</svg>")))
    assert [(one.title, one.figure) for one in found] == [("The bound", None)]


@pytest.mark.parametrize("figure", [5, "", "no picture", "<!DOCTYPE svg><svg/>", "<svg/>"])
def test_what_is_no_figure_is_left_out(tmp_path: Path, figure: Any) -> None:
    assert theory_section(part(tmp_path, figure=figure))[0].figure is None


@pytest.mark.parametrize(
    "table", [[], {"head": ["a"]}, {"head": ["a"], "rows": [["1", "2"]]}, {"head": [1], "rows": []}]
)
def test_what_is_no_table_is_left_out(tmp_path: Path, table: Any) -> None:
    assert theory_section(part(tmp_path, table=table))[0].table is None
