"""Add what is known of words besides the training data, such as their clusters, as further columns.

A column of knowledge is made from the column of words wherever a block is encoded. So templates use it as any other
column, and the model keeps what it is made from: a text to be tagged needs its words alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.errors import DataError
from sapo.jit.arrays import Bytes, Ints, Longs


class KnowledgeSource(Protocol):
    """What a column of knowledge is made from."""

    kind: str  # its name in model files

    def __len__(self) -> int:
        """Return how many words or names it has."""

    def fields(self, data: Bytes, starts: Ints, ends: Ints, offsets: Longs) -> tuple[Bytes, Ints, Ints]:
        """Return the column for these words: bytes with the start and end of each field."""

    def lines(self, column: str) -> Sequence[str]:
        """Return the templates that use it, if it is in this column."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of a model file."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The columns that are made from the words, by name."""

    words: str = ""  # the column of words
    columns: Mapping[str, KnowledgeSource] = field(default_factory=dict)

    def fields_of(self, block: Block, name: str) -> tuple[Bytes, Ints, Ints]:
        """Return a column of a block, as it was read or made from its words; raise SapoError if there is none."""
        if name in self.columns:
            return self.columns[name].fields(*self.fields_of(block, self.words), block.offsets)
        if name not in block.columns:
            have = ", ".join(column for column in block.columns if column != LABEL) or "ready-made features only"
            raise DataError(f"{block.name}: has no column '{name}', which the features need; it has {have}")
        return block.column(name)

    def in_line(self, line: str) -> bool:
        """Return whether a line of a template uses a column of knowledge."""
        return any(re.search(rf"\b{re.escape(name)}\b", line) for name in self.columns)

    def complete(self, template: str) -> str:
        """Return a template with the lines of all columns, unless it has lines of its own for one of them.

        >>> from sapo.features.clusters import Clusters
        >>> Knowledge("word", {"cluster": Clusters({"rain": "01", "snow": "01"})}).complete("word[0]").splitlines()[:2]
        ['word[0]', 'cluster[-1]']
        """
        if self.in_line(template):
            return template
        lines = [f"{line}\n" for name, source in self.columns.items() for line in source.lines(name)]
        return "".join([template, "\n"[: bool(lines) and not template.endswith("\n")], *lines])

    def header(self) -> dict[str, Any]:
        """Return everything but the arrays, for a model file."""
        return {"words": self.words, "columns": {name: source.kind for name, source in self.columns.items()}}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        return {
            f"knowledge.{name}.{key}": array
            for name, source in self.columns.items()
            for key, array in source.arrays().items()
        }

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Knowledge":
        """Return the knowledge of a file; raise ValueError, KeyError or TypeError if it does not fit together."""
        from sapo.features.clusters import Clusters  # which most models do without
        from sapo.features.names import NameList

        kinds: dict[str, type[Clusters | NameList]] = {Clusters.kind: Clusters, NameList.kind: NameList}
        columns = {
            name: kinds[kind].from_arrays(arrays, f"knowledge.{name}") for name, kind in header["columns"].items()
        }
        if not isinstance(header["words"], str) or LABEL in columns or header["words"] in columns:
            raise ValueError("knowledge")
        return cls(header["words"], columns)


NOTHING = Knowledge()
