"""`Sheet`: a labelled file, read once, with the line of every token."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sapo.check.finding import Finding
from sapo.corpus import LABEL


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
