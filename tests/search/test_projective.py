"""Exact search of projective trees with scores of arcs (Eisner 1996; k best: Huang and Chiang 2005) referees the beam.

It is slow and literal, and is itself refereed by enumeration.
"""

import itertools
from collections.abc import Iterable, Mapping
from heapq import nlargest

import numpy as np
import pytest

from sapo.learn.structured import FlatWeights
from sapo.search.transitions import ALL_BITS, LEFT, RIGHT, TEMPLATES, VALUES, code_of, relation_row
from sapo.search.trees import Tree, TreeSentence
from sapo.training.parser import TreeEncoder, TreeStructure

Arc = tuple[int, int, str]  # head, dependent, relation; words count from 1, and 0 is the root
Scores = Mapping[Arc, float]
Ranked = list[tuple[float, frozenset[Arc]]]  # arcs with the sum of their scores, the best first

RELATIONS = ("x", "y")
PROJECTIVE = {1: 1, 2: 2, 3: 7, 4: 30, 5: 143}  # how many projective trees with one root n words have


def best_trees(n: int, scores: Scores, k: int) -> Ranked:
    """Return the k best projective trees of n words with one root.

    An item is a span of words of which the first or the last one is the head of all others. It is complete, or open:
    then there is an arc between the two ends, and the end that is the dependent may get more dependents. Each item
    keeps its k best ways to be made of two smaller items and, if it is open, an arc.
    """

    def joined(pairs: Iterable[tuple[Ranked, Ranked]], head: int = 0, dependent: int = 0) -> Ranked:
        arcs = [(scores[head, dependent, name], {(head, dependent, name)}) for name in RELATIONS if head]
        return nlargest(
            k,
            (
                (a + b + c, left | right | arc)
                for lefts, rights in pairs
                for (a, left), (b, right), (c, arc) in itertools.product(lefts, rights, arcs or nothing)
            ),
            key=lambda item: item[0],
        )

    nothing: Ranked = [(0.0, frozenset())]
    first = {(i, i): nothing for i in range(1, n + 1)}  # complete spans whose head is the first word
    last = dict(first)
    open_first: dict[tuple[int, int], Ranked] = {}
    open_last: dict[tuple[int, int], Ranked] = {}
    for i, j in sorted(itertools.combinations(range(1, n + 1), 2), key=lambda span: span[1] - span[0]):
        between = [(first[i, m], last[m + 1, j]) for m in range(i, j)]
        open_first[i, j] = joined(between, i, j)
        open_last[i, j] = joined(between, j, i)
        first[i, j] = joined((open_first[i, m], first[m, j]) for m in range(i + 1, j + 1))
        last[i, j] = joined((last[i, m], open_last[m, j]) for m in range(i, j))
    roots = ((joined([(last[1, m], first[m, n])]), m) for m in range(1, n + 1))
    every = ((total + scores[0, m, "root"], arcs | {(0, m, "root")}) for ranked, m in roots for total, arcs in ranked)
    return nlargest(k, every, key=lambda item: item[0])


def all_trees(n: int, scores: Scores) -> Ranked:
    """Return all projective trees of n words with one root, by trying all heads."""
    found: Ranked = []
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) != 1 or not all(is_below(heads, 0, m) for m in range(1, n + 1)):
            continue
        if all(is_below(heads, h, k) for m, h in enumerate(heads, 1) for k in range(min(m, h) + 1, max(m, h))):
            for names in itertools.product(RELATIONS, repeat=n):
                arcs = [(h, m, name) for m, (h, name) in enumerate(zip(heads, names, strict=True), 1) if h]
                root = (0, heads.index(0) + 1, "root")
                if names[root[1] - 1] == RELATIONS[0]:
                    found.append((sum(scores[arc] for arc in (*arcs, root)), frozenset((*arcs, root))))
    return sorted(found, key=lambda item: -item[0])


def is_below(heads: tuple[int, ...], head: int, word: int) -> bool:
    """Tell whether following the heads from a word leads to a head, without going in a circle."""
    for _ in heads:
        if word in (0, head):
            break
        word = heads[word - 1]
    return word == head


def random_scores(n: int, seed: int) -> dict[Arc, float]:
    draw = np.random.default_rng(seed).normal
    pairs = itertools.permutations(range(1, n + 1), 2)
    scores = {(h, m, name): round(float(draw()), 3) for h, m in pairs for name in RELATIONS}
    return scores | {(0, m, "root"): round(float(draw()), 3) for m in range(1, n + 1)}


@pytest.mark.parametrize("n", PROJECTIVE)
@pytest.mark.parametrize("seed", range(3))
def test_exact_search_finds_what_enumeration_finds(n: int, seed: int) -> None:
    scores = random_scores(n, seed)
    every = all_trees(n, scores)
    assert len(every) == PROJECTIVE[n] * len(RELATIONS) ** (n - 1)
    for k in (1, 5, len(every) + 1):
        found = best_trees(n, scores, k)
        np.testing.assert_allclose([total for total, _ in found], [total for total, _ in every[:k]], atol=1e-9)
        assert len({arcs for _, arcs in found}) == min(k, len(every))


def arc_factored(n: int, scores: Scores, width: int) -> tuple[TreeStructure, FlatWeights]:
    """Return n different words whose LEFT has no other feature than s0 and b0, and whose RIGHT none but s1 and s0."""
    words, names = tuple(f"w{m}" for m in range(1, n + 1)), tuple(RELATIONS[m % 2] for m in range(n - 1))
    columns = (words, ("N",) * n, ("_",) * n, ("_",) * n)
    examples = [  # all relations in both directions
        TreeSentence(*columns, Tree((0, *(1,) * (n - 1)), ("root", *names))),
        TreeSentence(*columns, Tree((*(n,) * (n - 1), 0), (*names, "root"))),
    ]
    encoder = TreeEncoder.of(examples, [one.tree for one in examples if one.tree], 20)
    used = {LEFT: "s0.word b0.word", RIGHT: "s1.word s0.word"}
    places = [TEMPLATES.index(template) for template in used.values()]
    table, templates = encoder.grammar.table[places], encoder.grammar.templates[places]
    encoder.grammar = encoder.grammar._replace(table=table, templates=templates)
    structure = TreeStructure(encoder, encoder.encode(examples[:1]), width, learning=False)
    structure.beam = structure.beam._replace(hashes=np.zeros(len(places), np.int64))
    weights = FlatWeights(encoder.size)
    for (head, m, name), score in scores.items():
        action = LEFT if head > m or head == 0 else RIGHT
        code = code_of("template", used[action])
        for value, word in zip(used[action].split(), (m, head or n + 1) if action == LEFT else (head, m), strict=True):
            by = VALUES.index(value) + 1
            turned = int(structure.forest.codes[word, 0])
            code ^= ((turned << by) & ALL_BITS) | (turned >> (60 - by))
        row = relation_row(code & encoder.grammar.mask, action, encoder.relations.index(name))
        assert weights.v[row] == 0, "two arcs share a weight"
        weights.v[row] = score
    return structure, weights


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_an_endless_beam_finds_all_trees_in_the_order_of_exact_search(n: int, seed: int) -> None:
    scores = random_scores(n, seed)
    structure, weights = arc_factored(n, scores, width=5000)
    first, count = structure.best_states(0, weights)
    found: dict[Tree, float] = {}  # several sequences of actions make the same tree, and score the same
    for state in range(first, first + count):
        tree, score = structure.tree(0, state), float(structure.beam.scores[state])
        assert found.setdefault(tree, score) == pytest.approx(score, abs=1e-4)
    expected = best_trees(n, scores, 10**6)
    np.testing.assert_allclose(list(found.values()), [total for total, _ in expected], atol=1e-4)
    best = Tree(*zip(*((h, name) for h, _, name in sorted(expected[0][1], key=lambda arc: arc[1])), strict=True))
    assert next(iter(found)) == best


@pytest.mark.parametrize("seed", range(3))
def test_no_beam_beats_exact_search_and_a_wide_one_equals_it(seed: int) -> None:
    scores = random_scores(5, seed)
    [(total, arcs)] = best_trees(5, scores, 1)
    for width in (1, 8, 500):
        structure, weights = arc_factored(5, scores, width)
        first, _ = structure.best_states(0, weights)
        assert structure.beam.scores[first] <= total + 1e-4
    tree = structure.tree(0, first)
    assert structure.beam.scores[first] == pytest.approx(total, abs=1e-4)
    assert {(h, m, name) for m, (h, name) in enumerate(zip(tree.heads, tree.relations, strict=True), 1)} == arcs
