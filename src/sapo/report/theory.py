"""RUNS/theory/*.json in, parts of the report out."""

import json
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class TheoryPart:
    """A title, a text below it, and perhaps a figure as SVG."""

    title: str
    text: str
    figure: str | None = None


def theory_section(directory: Path) -> list[TheoryPart]:
    """What the files of the directory tell, by name; nothing where there is no such directory.

    A file holds an object with a "title" and a "text"; others are passed over.
    """
    parts = []
    for path in sorted(directory.glob("*.json")):
        try:
            found = json.loads(path.read_bytes()) if path.stat().st_size <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("title"), str) and isinstance(found.get("text"), str):
            parts.append(TheoryPart(found["title"], found["text"]))
    return parts
