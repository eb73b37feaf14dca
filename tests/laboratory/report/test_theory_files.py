"""RUNS/theory/*.json as parts of the report."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from laboratory.report import read_theory, write_report
from laboratory.report.theory_figures import theory_picture
from laboratory.theory.line_figures import Line, LineFigure, LinePanel

LINE = {"name": "n < 5", "x": [0, 1, 10], "y": [1.0, 2.0, 3.0], "color": 0, "dash": 0}
PANEL = {"title": "p & q $1", "x": "t", "y": "f", "lines": [LINE], "log_x": True, "log_y": False}
FIGURE = {"caption": "Both", "panels": [PANEL]}


def part(room: Path, **fields: Any) -> Path:
    (room / "theory").mkdir(parents=True, exist_ok=True)
    made = {"title": "The bound", "text": "It holds.\n\nIt is loose.", **fields}
    (room / "theory" / "a.json").write_text(json.dumps(made))
    return room / "theory"


def test_paragraphs_table_figure_and_command_are_shown(make_run: Any, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [93.0, 94.0])
    table = {"head": ["n", "τ"], "rows": [["5", "0.5"]]}
    part(tmp_path / "runs", figure=FIGURE, table=table, command="python -m laboratory experiment theory")
    write_report(tmp_path / "runs", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "<p>It holds.</p>\n<p>It is loose.</p>" in page
    assert '<svg role="img" aria-label="The bound"' in page
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| 5 | 0.5 |" in text
    assert "(figures/theory1.svg)" in text
    assert "python -m laboratory experiment theory" in text
    svg = (tmp_path / "out" / "figures" / "theory1.svg").read_text("utf-8")
    assert all(f"<!-- {text} -->" in svg for text in ("p &amp; q $1", "n &lt; 5"))
    assert (tmp_path / "out" / "figures" / "theory1.png").exists()


def test_a_figure_of_an_earlier_report_does_not_stay(make_run: Any, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [93.0, 94.0])
    directory = part(tmp_path / "runs", figure=FIGURE)
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


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show() -> None:
    figure = LineFigure("t", [LinePanel("p", "x", "y", [Line("a", [0, 1, 10], [1.0, math.nan, 3.0])], log_x=True)])
    axes = Figure().subplots()
    theory_picture("name", "title", figure).panels[0].draw(axes)
    low, high = axes.get_xlim()
    assert 0 < low < 10 < high


@pytest.mark.parametrize(
    "figure",
    [
        5,
        "<svg><script>alert(1)</script></svg>",
        {"caption": "t", "panels": []},
        {"caption": "t", "panels": [{**PANEL, "title": 5}]},
        {"caption": "t", "panels": [{**PANEL, "lines": [{**LINE, "y": [1.0]}]}]},
        {"caption": "t", "panels": [{**PANEL, "lines": [{**LINE, "y": ["a", "b", "c"]}]}]},
    ],
)
def test_a_figure_that_is_not_well_formed_is_left_out(tmp_path: Path, figure: Any) -> None:
    found = read_theory(part(tmp_path, figure=figure))
    assert [(one.title, one.figure) for one in found] == [("The bound", None)]


@pytest.mark.parametrize(
    "table", [[], {"head": ["a"]}, {"head": ["a"], "rows": [["1", "2"]]}, {"head": [1], "rows": []}]
)
def test_what_is_no_table_is_left_out(tmp_path: Path, table: Any) -> None:
    assert read_theory(part(tmp_path, table=table))[0].table is None
