"""Represent a labeled file as it was read, and one thing that is wrong, or worth a look, in it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sapo.corpus.blocks import LABEL

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
    count: int = 0  # of all lines, if there are more

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

    def at(self, lines: Iterable[int]) -> "Finding":
        """Return the finding with these lines, of which it keeps the first.

        >>> Finding("blank", NOTE, "train.txt", "a token has blanks").at(range(1, 501)).count
        500
        """
        listed = list(lines)
        return replace(self, lines=tuple(listed[:LISTED]), count=len(listed))

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


@dataclass(frozen=True)
class Sheet:
    """The tokens of a file by column, where they stand, and what was wrong with reading them.

    >>> sheet = Sheet("a.txt", "columns", {"word": ["no", "rain"], "label": ["DT", "NN"]}, [1, 2], [0, 2])
    >>> sheet.tokens, sheet.sentences, sheet.label_lines("NN")
    (2, 1, [2])
    """

    name: str
    format: str
    columns: Mapping[str, Sequence[str]]  # 'label' is one of them, if the file has labels
    lines: Sequence[int]  # of each token; the first line is 1
    offsets: Sequence[int]  # [sentences + 1] into the tokens
    faults: Sequence[Finding] = ()  # what made reading hard
    marks: frozenset[str] = field(default=frozenset())  # what stands for a missing tag

    @property
    def tokens(self) -> int:
        return len(self.lines)

    @property
    def sentences(self) -> int:
        return len(self.offsets) - 1

    @property
    def words(self) -> Sequence[str]:
        """The column 'word', or else the first column; empty if a file of ready-made features has none."""
        others = (values for name, values in self.columns.items() if name != LABEL)
        return self.columns.get("word") or next(others, ())

    @property
    def labels(self) -> Sequence[str]:
        """The label of each token; empty if the file has none."""
        return self.columns.get(LABEL, ())

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each label occurs, without marks of missing tags and empty labels."""
        counts = Counter(self.labels)
        for mark in ("", *self.marks):
            counts.pop(mark, None)
        return counts

    @cached_property
    def lengths(self) -> list[int]:
        """The number of tokens of each sentence."""
        return [end - begin for begin, end in self.bounds()]

    def bounds(self) -> Iterator[tuple[int, int]]:
        """Yield the first token of each sentence, and the one after its last."""
        return zip(self.offsets[:-1], self.offsets[1:], strict=True)

    def label_lines(self, label: str) -> list[int]:
        """Return the lines of a label."""
        return [line for line, found in zip(self.lines, self.labels, strict=True) if found == label]

    def value_lines(self, column: str, values: set[str]) -> list[int]:
        """Return the lines in which a column has one of these values."""
        return [line for line, found in zip(self.lines, self.columns[column], strict=True) if found in values]
