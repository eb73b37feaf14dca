"""Represent dependency trees, check them, and turn non-projective trees into projective ones and back.

A parser builds projective trees only: no two arcs cross. An arc that crosses others is lifted to the head of its head
until it crosses none, and its relation remembers the relation of its own head: "obj" under a head whose relation is
"xcomp" becomes "obj|xcomp". `lowered` looks for that head again (Nivre and Nilsson 2005, the scheme "head").
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sapo.errors import DataError

LIFTED = "|"  # between the relation of a lifted word and that of its head


@dataclass(frozen=True, slots=True)
class Tree:
    """The head of each word and its relation to it. Words count from 1; the head of the root is 0.

    >>> Tree((2, 0), ("det", "root")).heads
    (2, 0)
    """

    heads: tuple[int, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeSentence:
    """The words of a sentence with their tags, and its tree if it is known; "_" stands for a tag that is not there."""

    words: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    tree: Tree | None = None

    def __len__(self) -> int:
        return len(self.words)


def check_sentence(sentence: TreeSentence, number: int) -> None:
    """Raise DataError if the columns differ in length; `number` counts sentences from 1, for the message."""
    for name in ("upos", "xpos", "feats"):
        if len(column := getattr(sentence, name)) != len(sentence.words):
            raise DataError(
                f"sentence {number}: {len(sentence.words)} words need as many values of {name}, not {len(column)}"
            )


def check_tree(tree: Tree | None, words: int, number: int) -> Tree:
    """Return the tree of a sentence of `words` words. Raise DataError unless it is a tree with one root.

    >>> check_tree(Tree((2, 1), ("a", "b")), 2, 7)
    Traceback (most recent call last):
    ...
    sapo.errors.DataError: sentence 7: no word has the head 0; one word of each sentence must be the root
    """
    if tree is None:
        raise DataError(f"sentence {number}: no tree to learn from; give each word a head and a relation")
    heads, relations = tree.heads, tree.relations
    for name, values in (("heads", heads), ("relations", relations)):
        if len(values) != words:
            raise DataError(f"sentence {number}: {words} words need as many {name}, not {len(values)}")
    for m, (head, relation) in enumerate(zip(heads, relations, strict=True), 1):
        if not 0 <= head <= words or head == m:
            raise DataError(
                f"sentence {number}, word {m}: the head must be 0 or the number of another word, up to {words}, "
                f"not {head}"
            )
        if relation in ("", "_"):
            raise DataError(f"sentence {number}, word {m}: the relation is missing")
    roots = [m for m, head in enumerate(heads, 1) if head == 0]
    if words and not roots:
        raise DataError(f"sentence {number}: no word has the head 0; one word of each sentence must be the root")
    if len(roots) > 1:
        raise DataError(f"sentence {number}: words {roots[0]} and {roots[1]} both have the head 0; keep one root")
    if (found := _on_cycle(heads)) is not None:
        raise DataError(f"sentence {number}: the heads go in a circle at word {found}; follow them to 0")
    return tree


def _on_cycle(heads: Sequence[int]) -> int | None:
    """Return a word that is its own ancestor, or None."""
    walk = [0] * (len(heads) + 1)  # the walk in which each word was first reached
    for start in range(1, len(heads) + 1):
        m = start
        while m != 0 and walk[m] == 0:
            walk[m] = start
            m = heads[m - 1]
        if m != 0 and walk[m] == start:
            return m
    return None
