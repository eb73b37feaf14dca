"""RUNS/theory/*.json in, parts of the report out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from laboratory.report.document import Table

MOST_BYTES = 16 << 20
NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {
    "svg",
    "title",
    "rect",
    "line",
    "polyline",
    "text",
}  # what figures of theory are made of: no script, no link


@dataclass(frozen=True, slots=True)
class TheoryPart:
    """A title, paragraphs below it, and perhaps a table, a figure as SVG, and the command that makes it again."""

    title: str
    text: str
    figure: str | None = None
    table: Table | None = None
    command: str | None = None


def theory_section(directory: Path) -> list[TheoryPart]:
    """What the files of the directory tell, by name; nothing where there is no such directory.

    A file holds an object with a "title" and a "text"; others are passed over. A "table" or a "figure" that is not in
    order is left out.
    """
    parts = []
    for path in sorted(directory.glob("*.json")):
        try:
            found = json.loads(path.read_bytes()) if path.stat().st_size <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("title"), str) and isinstance(found.get("text"), str):
            command = found.get("command")
            parts.append(
                TheoryPart(
                    found["title"],
                    found["text"],
                    _figure(found.get("figure")),
                    _table(found.get("table")),
                    command if isinstance(command, str) else None,
                )
            )
    return parts


def _figure(svg: Any) -> str | None:
    """The SVG, where it is one that can do nothing but be looked at: it becomes a part of the page."""
    if not isinstance(svg, str) or not svg.startswith("<svg") or "<!" in svg or "<?" in svg:
        return None
    try:
        tree = ElementTree.fromstring(svg)
    except ElementTree.ParseError:
        return None
    for element in tree.iter():
        names = [name.lower() for name in element.attrib]
        harmless = not any(name.startswith("on") or "href" in name or name == "style" for name in names)
        if element.tag.removeprefix(NAMESPACE) not in ELEMENTS or not harmless:
            return None
    return svg if tree.tag == f"{NAMESPACE}svg" else None


def _table(table: Any) -> Table | None:
    if not isinstance(table, dict):
        return None
    head: Any = table.get("head")
    rows: Any = table.get("rows")
    words = table.get("words", 1)
    if not (_row(head) and isinstance(rows, list) and all(_row(row) and len(row) == len(head) for row in rows)):
        return None
    return Table(tuple(head), tuple(map(tuple, rows)), words=words if isinstance(words, int) else 1)


def _row(cells: Any) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, str) for cell in cells)
