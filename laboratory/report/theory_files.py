"""Read RUNS/theory/*.json, the parts of the report on theory."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from laboratory.report.blocks import Table
from laboratory.theory.line_figures import Line, LineFigure, LinePanel

MOST_BYTES = 16 << 20
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class TheoryPart:
    """A title, paragraphs below it, and perhaps a table, a figure, and the command that makes it again."""

    title: str
    text: str
    figure: LineFigure | None = None
    table: Table | None = None
    command: str | None = None


def read_theory(directory: Path) -> list[TheoryPart]:
    """Return the parts in the order of their files' names; none if there is no such directory.

    A file holds an object with a "title" and a "text"; other files are skipped. A "table", a "figure" or a "command" of
    another form than expected is left out.
    """
    parts = []
    for path in sorted(directory.glob("*.json")):
        try:
            if path.stat().st_size > MOST_BYTES:
                continue
            found = json.loads(path.read_bytes())
            parts.append(
                TheoryPart(
                    _text(found["title"]),
                    _text(found["text"]),
                    _if_well_formed(_figure, found.get("figure")),
                    _if_well_formed(_table, found.get("table")),
                    _if_well_formed(_text, found.get("command")),
                )
            )
        except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
            continue
    return parts


def _if_well_formed(parse: Callable[[Any], Part], value: Any) -> Part | None:
    try:
        return parse(value)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _figure(found: Any) -> LineFigure:
    panels = [_panel(panel) for panel in found["panels"]]
    if not panels:
        raise ValueError("a figure without panels")
    return LineFigure(_text(found["caption"]), panels)


def _panel(found: Any) -> LinePanel:
    return LinePanel(
        _text(found["title"]),
        _text(found["x"]),
        _text(found["y"]),
        [_line(line) for line in found["lines"]],
        bool(found["log_x"]),
        bool(found["log_y"]),
    )


def _line(found: Any) -> Line:
    x, y = ([float(value) for value in found[axis]] for axis in "xy")
    if len(x) != len(y):
        raise ValueError("a line with points that lack one coordinate")
    return Line(_text(found["name"]), x, y, int(found["color"]), int(found["dash"]))


def _table(found: Any) -> Table:
    head, *rows = (tuple(_text(cell) for cell in row) for row in (found["head"], *found["rows"]))
    if any(len(row) != len(head) for row in rows):
        raise ValueError("a row that is longer or shorter than the head")
    return Table(head, tuple(rows), words=int(found.get("words", 1)))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r:.40}")
    return value
