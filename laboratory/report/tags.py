"""Read a file of tags: one a line, an empty line after each sentence."""

from pathlib import Path

MOST_BYTES = 256 << 20


def read_tags(path: Path) -> list[list[str]] | None:
    """Return the tags of each sentence; None if the file is missing or cannot be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    sentences: list[list[str]] = []
    current: list[str] = []
    for line in text.split("\n"):
        if line:
            current.append(line)
        elif current:
            sentences.append(current)
            current = []
    return [*sentences, current] if current else sentences


def fit_together(gold: list[list[str]], found: list[list[str]]) -> bool:
    """Return whether both tag sentences of the same lengths."""
    return len(gold) == len(found) and all(len(one) == len(other) for one, other in zip(gold, found, strict=True))
