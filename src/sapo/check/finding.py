"""`Finding`: one thing that is wrong, or worth a look, in a file."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)
LISTED = 100  # lines that a finding keeps


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, where, and what to do about it.

    An error makes training fail or turn into something else, a warning is probably a mistake, a note just informs.

    >>> print(Finding("near-scheme", ERROR, "train.txt", "label '0' does not fit", "did you mean 'O'?", (17, 40)))
    train.txt:17: error: label '0' does not fit (also in line 40); did you mean 'O'? [near-scheme]
    """

    kind: str
    severity: str
    file: str
    text: str
    way_out: str = ""
    lines: tuple[int, ...] = ()  # the first LISTED of them
    count: int = 0  # of all lines, where there are more

    @property
    def line(self) -> int | None:
        """The first line, or None if the finding is about the whole file."""
        return self.lines[0] if self.lines else None

    @property
    def message(self) -> str:
        """What was found and the way out, without the place."""
        others = max(self.count, len(self.lines)) - 1
        also = ""
        if others == 1 and len(self.lines) == 2:
            also = f" (also in line {self.lines[1]})"
        elif others > 0:
            also = f" (and in {others:,} more line{'s' * (others > 1)})"
        return f"{self.text}{also}{f'; {self.way_out}' if self.way_out else ''}"

    @property
    def place(self) -> str:
        """The file, with the line if there is one."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def as_dict(self) -> dict[str, Any]:
        """Return the finding for programs."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "lines": list(self.lines),
            "count": max(self.count, len(self.lines)),
            "text": self.text,
            "way_out": self.way_out,
        }

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message} [{self.kind}]"


def at_lines(kind: str, severity: str, file: str, text: str, way_out: str, lines: Iterable[int]) -> Finding:
    """Return a finding that has several lines, of which it keeps the first.

    >>> at_lines("blank", NOTE, "train.txt", "a token has blanks", "", range(1, 501)).count
    500
    """
    listed = list(lines)
    return Finding(kind, severity, file, text, way_out, tuple(listed[:LISTED]), len(listed))
