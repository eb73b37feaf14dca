"""Where a block came from: the lines of its file, and what writing it again in the same format needs.

Each format has an origin of its own, beside its reader; here is what all of them answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sapo.corpus.fields import check_tag
from sapo.corpus.scanner import Scanned
from sapo.kernels.types import Longs


class Origin(Protocol):
    """What a block that was read from a file knows of this file."""

    def first_lines(self) -> Longs:
        """Return the number of the line in which each sentence begins; the first line is 1."""

    def line_of(self, token: int, sentence: int) -> int:
        """Return the number of the line of a token, which is in this sentence of the block."""

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise SapoError if a label cannot be written into such a file."""

    def texts(self) -> Sequence[str | None]:
        """Return the running text of each sentence, or an empty list where the file has none."""

    def other_lines(self) -> int:
        """Count the lines that are neither tokens nor empty."""

    def other_keys(self, label: str) -> Sequence[str]:
        """Return the keys that were not read as tokens, tags or columns; `label` is the key of the tags."""


@dataclass(frozen=True, slots=True)
class ScannedOrigin:
    """The origin of a block from a file with one token a line."""

    scanned: Scanned

    def first_lines(self) -> Longs:
        return self.scanned.line_numbers(self.scanned.line_starts[self.scanned.offsets[:-1]])

    def line_of(self, token: int, sentence: int) -> int:
        return int(self.scanned.line_numbers(self.scanned.line_starts[token : token + 1])[0])

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=self.scanned.layout.tabs)

    def texts(self) -> Sequence[str | None]:
        return ()

    def other_lines(self) -> int:
        return self.scanned.filled_lines() - len(self.scanned.line_starts)

    def other_keys(self, label: str) -> Sequence[str]:
        return ()
