"""Represent dependency trees, check them, and turn non-projective trees into projective ones and back.

A parser builds projective trees only: no two arcs cross. An arc that crosses others is lifted to the head of its head
until it crosses none, and its relation remembers the relation of its own head: "obj" under a head whose relation is
"xcomp" becomes "obj|xcomp". `lowered` looks for that head again (Nivre and Nilsson 2005, the scheme "head").
"""

from dataclasses import dataclass

import numpy as np

from sapo.corpus.treebank import check_heads
from sapo.errors import DataError
from sapo.jit import kernel
from sapo.jit.arrays import Longs

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
    sapo.errors.DataError: sentence 7: the heads go in a circle (1 -> 2 -> 1); a tree has none
    """
    if tree is None:
        raise DataError(f"sentence {number}: no tree to learn from; give each word a head and a relation")
    heads, relations = tree.heads, tree.relations
    for name, values in (("heads", heads), ("relations", relations)):
        if len(values) != words:
            raise DataError(f"sentence {number}: {words} words need as many {name}, not {len(values)}")
    check_heads(heads, f"sentence {number}")
    for m, relation in enumerate(relations, 1):
        if relation in ("", "_"):
            raise DataError(f"sentence {number}, word {m}: the relation is missing")
    return tree


@kernel
def lift_arcs(heads: Longs) -> None:
    """Lift arcs until none crosses another, always the shortest of those that do. heads[0] is not used."""
    n = len(heads) - 1
    while True:
        shortest, length = 0, n + 1
        for m in range(1, n + 1):
            low, high = min(heads[m], m), max(heads[m], m)
            if high - low < length and heads[m] != 0:
                for k in range(low + 1, high):
                    above = heads[k]  # is the head of m among the ancestors of k?
                    while above != 0 and above != heads[m]:
                        above = heads[above]
                    if above == 0:
                        shortest, length = m, high - low
                        break
        if shortest == 0:
            return
        heads[shortest] = heads[heads[shortest]]


def lifted(tree: Tree) -> Tree:
    """Return a projective tree whose relations say where lifted words belong.

    >>> lifted(Tree((0, 4, 1, 1), ("root", "obj", "advmod", "xcomp")))
    Tree(heads=(0, 1, 1, 1), relations=('root', 'obj|xcomp', 'advmod', 'xcomp'))
    """
    heads = np.array([0, *tree.heads], np.int64)
    lift_arcs(heads)
    new = tuple(heads[1:].tolist())
    if new == tree.heads:
        return tree
    relations = (
        relation if old == now else f"{relation}{LIFTED}{tree.relations[old - 1]}"
        for old, now, relation in zip(tree.heads, new, tree.relations, strict=True)
    )
    return Tree(new, tuple(relations))


def lowered(tree: Tree) -> Tree:
    """Return the tree that `lifted` turned into this one, as far as the relations tell.

    Below the head of a lifted word, and if there is none, below the heads above that, look for a word with the relation
    that its own head had: level by level, and in a level the one that is nearest.

    >>> lowered(Tree((0, 1, 1, 1), ("root", "obj|xcomp", "advmod", "xcomp"))).heads
    (0, 4, 1, 1)
    """
    if not any(LIFTED in relation for relation in tree.relations):
        return tree
    heads = [0, *tree.heads]
    below: list[list[int]] = [[] for _ in heads]
    for m, head in enumerate(tree.heads, 1):
        below[head].append(m)
    plain = ["", *(relation.partition(LIFTED)[0] for relation in tree.relations)]
    level = list(below[0])
    while level:  # from the root down, as the heads of lifted words may have been lifted themselves
        following = [child for m in level for child in below[m]]
        for m in level:
            wanted = tree.relations[m - 1].partition(LIFTED)[2]
            found = _find_head(m, wanted, heads, below, plain) if wanted else 0
            if found:
                below[heads[m]].remove(m)
                heads[m] = found
                below[found].append(m)
        level = following
    return Tree(tuple(heads[1:]), tuple(plain[1:]))


def _find_head(m: int, wanted: str, heads: list[int], below: list[list[int]], plain: list[str]) -> int:
    """Return the nearest word with a relation, first below the head of m, then below the heads above; 0 if none."""
    top = heads[m]
    done = m  # nothing below m can be its head
    while top != 0:
        level = [k for k in below[top] if k != done and k != m]
        if top != heads[m] and plain[top] == wanted:
            return top
        while level:
            found = [k for k in level if plain[k] == wanted]
            if found:
                return min(found, key=lambda k: abs(k - m))
            level = [child for k in level for child in below[k] if child != m]
        done, top = top, heads[top]
    return 0
