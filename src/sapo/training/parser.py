"""Train a dependency parser, and parse with it."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sapo.search.trees import Tree, TreeSentence

__all__ = ["Parser", "Tree", "TreeSentence"]


class Parser:
    """A dependency parser: arc-hybrid transitions, searched with a beam."""

    @classmethod
    def train(
        cls,
        sentences: Sequence[TreeSentence],
        *,
        seed: int = 0,
        epochs: int = 10,
        progress: Callable[[str], None] | None = None,
    ) -> "Parser":
        """Learn from sentences with trees; `progress` gets a line after each epoch."""
        raise NotImplementedError

    def parse(self, sentence: TreeSentence) -> Tree:
        """Return the best tree of a sentence; its own tree, if it has one, is not looked at."""
        raise NotImplementedError

    def parse_many(self, sentences: Sequence[TreeSentence]) -> list[Tree]:
        """Return the best tree of each sentence."""
        raise NotImplementedError

    def to_arrays(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, object]]:
        """Return the parser as arrays, and what JSON can hold."""
        raise NotImplementedError

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], meta: Mapping[str, object]) -> "Parser":
        """Return the parser that `to_arrays` described. Raise ModelError if it cannot be one."""
        raise NotImplementedError
