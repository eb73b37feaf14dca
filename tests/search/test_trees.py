"""Trees are checked, lifted until they are projective, and lowered again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import DataError
from sapo.search.trees import Tree, TreeSentence, check_sentence, check_tree, lifted, lowered


@st.composite
def trees(draw: st.DrawFn, relations: st.SearchStrategy[str] | None = None) -> Tree:
    """Any tree with one root, mostly non-projective: words are hung up one after the other, in random order."""
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * (n + 1)
    for i, m in enumerate(order[1:], 1):
        heads[m] = order[draw(st.integers(0, i - 1))]
    names = [f"r{m}" if relations is None else draw(relations) for m in range(1, n + 1)]
    return Tree(tuple(heads[1:]), tuple(names))


def is_projective(tree: Tree) -> bool:
    arcs = [(min(m, h), max(m, h)) for m, h in enumerate(tree.heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@given(trees())
def test_a_lifted_tree_is_a_projective_tree_of_the_same_words(tree: Tree) -> None:
    up = check_tree(lifted(tree), len(tree.heads), 1)
    assert is_projective(up)
    assert [relation.partition("|")[0] for relation in up.relations] == list(tree.relations)
    assert (up == tree) == is_projective(tree)


@given(trees())
def test_relations_that_differ_bring_every_tree_back(tree: Tree) -> None:
    assert lowered(lifted(tree)) == tree


@given(trees(st.sampled_from(["a", "b", "a|b", "b|a", "a|c"])))
def test_whatever_a_parser_says_is_lowered_to_a_tree(tree: Tree) -> None:
    down = check_tree(lowered(tree), len(tree.heads), 1)
    assert [relation.partition("|")[0] for relation in tree.relations] == list(down.relations)


def test_a_head_is_searched_below_and_the_nearest_is_taken() -> None:
    tree = Tree((0, 1, 1, 1, 2), ("root", "x", "obj|x", "x", "x"))
    assert lowered(tree).heads == (0, 1, 2, 1, 2)
    assert lowered(Tree((0, 1, 2), ("root", "x", "obj|y"))) == Tree((0, 1, 2), ("root", "x", "obj"))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (None, "sentence 3: no tree to learn from"),
        (Tree((0,), ("root", "x")), "sentence 3: 2 words need as many heads, not 1"),
        (Tree((0, 1), ("root",)), "sentence 3: 2 words need as many relations, not 1"),
        (Tree((0, 0), ("root", "root")), "sentence 3: words 1 and 2 both have the head 0"),
        (Tree((2, 1), ("a", "b")), "sentence 3: the heads go in a circle"),
        (Tree((0, 3), ("root", "b")), "sentence 3: the head of word 2 is 3, but there are 2 words"),
        (Tree((0, 2), ("root", "b")), r"sentence 3: the heads go in a circle \(2 -> 2\)"),
        (Tree((0, 1), ("root", "_")), "sentence 3, word 2: the relation is missing"),
    ],
)
def test_what_is_no_tree_is_refused(tree: Tree | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_tree(tree, 2, 3)


def test_a_circle_and_columns_that_differ_are_refused() -> None:
    with pytest.raises(DataError, match="sentence 1: the heads go in a circle"):
        check_tree(Tree((0, 3, 2), ("root", "a", "b")), 3, 1)
    with pytest.raises(DataError, match="sentence 2: 1 words need as many values of xpos, not 0"):
        check_sentence(TreeSentence(("a",), ("X",), (), ("_",)), 2)
