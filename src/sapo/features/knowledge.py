"""Add what is known of words besides the training data: clusters and names as further columns, and vectors.

A column of knowledge is made from the column of words wherever a block is encoded. So templates use it as any other
column, and the model keeps what it is made from: a text to be tagged needs its words alone. Vectors are not a column:
their numbers are values of features, which the encoder adds to those of the templates.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.errors import DataError
from sapo.jit.arrays import Bytes, Ints, Longs

if TYPE_CHECKING:
    from sapo.features.vectors import WordVectors

VECTORS = "vectors"  # what their arrays begin with in a model file


class KnowledgeSource(Protocol):
    """What a column of knowledge is made from."""

    kind: str  # its name in model files
    of_words: bool  # whether a field depends on its word alone

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
    """The columns that are made from the words, by name, and the vectors of the words."""

    words: str = ""  # the column of words
    columns: Mapping[str, KnowledgeSource] = field(default_factory=dict)
    vectors: "WordVectors | None" = None

    def __bool__(self) -> bool:
        return bool(self.columns) or self.vectors is not None

    def vector_numbers(self, block: Block) -> Ints | None:
        """Return the number of the vector of each word of a block, -1 if it has none; None without vectors."""
        return None if self.vectors is None else self.vectors.find(*self.fields_of(block, self.words))

    def fields_of(self, block: Block, name: str) -> tuple[Bytes, Ints, Ints]:
        """Return a column of a block, as it was read or made from its words; raise SapoError if there is none."""
        if name in block.made:
            return block.made[name]
        if name in self.columns:
            return self.columns[name].fields(*self.fields_of(block, self.words), block.offsets)
        if name not in block.columns:
            have = ", ".join(column for column in block.columns if column != LABEL) or "ready-made features only"
            raise DataError(f"{block.name}: has no column '{name}', which the features need; it has {have}")
        return block.column(name)

    @property
    def repeated(self) -> str | None:
        """The first column of what words were tagged nearby, if there is one: see features/repetition.py."""
        return next((name for name, source in self.columns.items() if source.kind == "repetition"), None)

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
        header = {"words": self.words, "columns": {name: source.kind for name, source in self.columns.items()}}
        return header if self.vectors is None else {**header, VECTORS: self.vectors.size}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        vectors = {} if self.vectors is None else self.vectors.arrays()
        return {
            **{
                f"knowledge.{name}.{key}": array
                for name, source in self.columns.items()
                for key, array in source.arrays().items()
            },
            **{f"{VECTORS}.{key}": array for key, array in vectors.items()},
        }

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Knowledge":
        """Return the knowledge of a file; raise ValueError, KeyError or TypeError if it does not fit together."""
        from sapo.features.clusters import Clusters  # which most models do without
        from sapo.features.names import NameList
        from sapo.features.repetition import Repetition

        if not isinstance(header, dict) or not isinstance(header.get("columns"), dict):
            raise ValueError("knowledge")
        known: tuple[type[Clusters | NameList | Repetition], ...] = (Clusters, NameList, Repetition)
        kinds = {one.kind: one for one in known}
        columns = {
            name: kinds[kind].from_arrays(arrays, f"knowledge.{name}") for name, kind in header["columns"].items()
        }
        if not isinstance(header["words"], str) or LABEL in columns or header["words"] in columns:
            raise ValueError("knowledge")
        if VECTORS not in header:
            return cls(header["words"], columns)
        from sapo.features.vectors import WordVectors

        vectors = WordVectors.from_arrays(arrays, VECTORS)
        if vectors.size != header[VECTORS]:
            raise ValueError(VECTORS)
        return cls(header["words"], columns, vectors)


NOTHING = Knowledge()
