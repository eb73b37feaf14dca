"""The parser is refereed by enumeration of all sequences of actions, written down literally."""

import itertools
import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import DataError, ModelError, OptionError
from sapo.features.clusters import Clusters
from sapo.learn.structured import FlatWeights, part_coefficients, softmax_of_scores
from sapo.search import transitions
from sapo.search.trees import Tree, TreeSentence, lifted
from sapo.training.parser import MARGIN, Parser, TreeEncoder, TreeStructure

WORDS = ("a", "b", "cats", "sleep", ".")
BITS = 10


@st.composite
def sentences(draw: st.DrawFn, most: int = 4) -> TreeSentence:
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * (n + 1)
    for i, m in enumerate(order[1:], 1):
        heads[m] = order[draw(st.integers(0, i - 1))]
    relations = [draw(st.sampled_from("xyz")) if heads[m] else "root" for m in range(1, n + 1)]
    columns = [
        tuple(draw(st.sampled_from(values)) for _ in range(n)) for values in (WORDS, "NV", ("_", "P"), ("_", "Case=A"))
    ]
    return TreeSentence(columns[0], columns[1], columns[2], columns[3], Tree(tuple(heads[1:]), tuple(relations)))


CLUSTERS = Clusters({"a": "0010110", "b": "0010", "cats": "1101"})


def structure_of(
    some: list[TreeSentence], width: int, *, learning: bool = True, clusters: Clusters | None = None
) -> TreeStructure:
    trees = [lifted(sentence.tree) for sentence in some if sentence.tree]
    encoder = TreeEncoder.of(some, trees, BITS, clusters)
    return TreeStructure(encoder, encoder.encode(some, trees), width, learning=learning)


def weights_of(structure: TreeStructure, seed: int) -> FlatWeights:
    weights = FlatWeights(structure.encoder.size)
    weights.v[:] = np.random.default_rng(seed).normal(scale=0.03, size=len(weights.v)).astype(np.float32)
    return weights


class Literal:
    """A state with a stack of words and all arcs, as in a textbook; its features are found by name."""

    def __init__(self, n: int, stack: tuple[int, ...] = (), b0: int = 1, arcs: tuple[tuple[int, int, int], ...] = ()):
        self.n, self.stack, self.b0, self.arcs = n, stack, b0, arcs  # an arc is head, dependent, relation

    def after(self, action: int, relation: int) -> "Literal":
        if action == transitions.SHIFT:
            return Literal(self.n, (*self.stack, self.b0), self.b0 + 1, self.arcs)
        head = self.b0 if action == transitions.LEFT else self.stack[-2]
        return Literal(self.n, self.stack[:-1], self.b0, (*self.arcs, (head, self.stack[-1], relation)))

    def children(self, word: int) -> tuple[list[int], list[int]]:
        """The left ones and the right ones, the outermost first."""
        mine = sorted(m for head, m, _ in self.arcs if head == word)
        return [m for m in mine if m < word], [m for m in reversed(mine) if m > word]

    def value(self, name: str, structure: TreeStructure, first: int) -> int:
        forest, numbers = structure.forest, structure.encoder.grammar.numbers
        place = {f"s{i}": self.stack[-1 - i] if len(self.stack) > i else 0 for i in range(3)}
        place |= {f"b{i}": self.b0 + i for i in range(3)}
        if "-" in name:
            near = []
            for end, other in itertools.pairwise(name.split("-")):
                distance = place[other] - place[end] if place[end] else 0
                near.append(distance if distance < 5 else 5 if distance < 10 else 6)
            return int(numbers[near[0] if len(near) == 1 else 7 * near[0] + near[1]])
        start, *path = name.split(".")
        word = place[start]
        for step in path:
            lefts, rights = self.children(word) if word else ([], [])
            if step in ("lefts", "rights"):
                return int(numbers[min(len(lefts if step == "lefts" else rights), 7)])
            if step in ("left", "left2", "right", "right2"):
                side = lefts if step.startswith("left") else rights
                i = int(step.endswith("2"))
                word = side[i] if len(side) > i else 0
            elif step == "relation":
                return int(numbers[next((r + 1 for _, m, r in self.arcs if m == word), 0)])
            else:
                columns = ("word", "upos", "tag", "feats", "suffix", "cluster", "cluster6", "cluster4")
                column = columns.index(step)
                return int(forest.codes[first + word, column])
        raise AssertionError(name)

    def rows(self, action: int, relation: int, structure: TreeStructure, first: int) -> list[int]:
        rows = []
        for template in structure.encoder.templates:
            code = transitions.code_of("template", template)
            for name in template.split():
                by = transitions.VALUES.index(name) + 1
                value = self.value(name, structure, first)
                code ^= ((value << by) | (value >> (60 - by))) & ((1 << 60) - 1)
            row = code & ((1 << BITS) - 1)
            rows.append(row + action)
            if action != transitions.SHIFT:
                rows.append(row + 3 + 2 * relation + action - 1)
        return rows

    def allowed(self, structure: TreeStructure, first: int) -> Iterator[tuple[int, int]]:
        starts, ends, flat = structure.encoder.lists
        tags = structure.forest.tags
        if self.b0 <= self.n:
            yield transitions.SHIFT, 0
        if self.stack and (self.b0 <= self.n or len(self.stack) == 1):
            key = tags[first + self.b0], tags[first + self.stack[-1]], 1 if self.b0 <= self.n else 2
            yield from ((transitions.LEFT, int(r)) for r in flat[starts[key] : ends[key]])
        if len(self.stack) > 1:
            key = tags[first + self.stack[-2]], tags[first + self.stack[-1]], 0
            yield from ((transitions.RIGHT, int(r)) for r in flat[starts[key] : ends[key]])


def all_sequences(structure: TreeStructure, weights: FlatWeights, state: Literal) -> Iterator[tuple[float, Literal]]:
    first = int(structure.forest.offsets[0])
    choices = list(state.allowed(structure, first))
    if not choices:
        yield 0.0, state
    for action, relation in choices:
        gain = float(weights.v[state.rows(action, relation, structure, first)].astype(np.float64).sum())
        for score, end in all_sequences(structure, weights, state.after(action, relation)):
            yield gain + score, end


@settings(max_examples=15)
@given(sentences(3), st.integers(0, 99), st.sampled_from([None, CLUSTERS]))
def test_an_endless_beam_finds_what_enumeration_finds(
    sentence: TreeSentence, seed: int, clusters: Clusters | None
) -> None:
    structure = structure_of([sentence], 2000, learning=False, clusters=clusters)
    weights = weights_of(structure, seed)
    expected = sorted((score for score, _ in all_sequences(structure, weights, Literal(len(sentence)))), reverse=True)
    found = structure.search(0, weights, 2000)
    expected = [score for score in expected if score >= expected[0] - MARGIN]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-4)
    assert len({tuple(found.of(k)) for k in range(len(expected))}) == len(expected)


@settings(max_examples=5)
@given(st.permutations(["N", "V", "N", "V"]))
def test_an_endless_beam_finds_all_sequences_of_four_words(upos: list[str]) -> None:
    sentence = TreeSentence(WORDS[:4], tuple(upos), ("_",) * 4, ("_",) * 4, Tree((2, 0, 2, 3), ("x", "root", "x", "x")))
    structure = structure_of([sentence], 3000, learning=False)
    weights = weights_of(structure, 1)
    expected = sorted((score for score, _ in all_sequences(structure, weights, Literal(4))), reverse=True)
    expected = [score for score in expected if score >= expected[0] - MARGIN]
    np.testing.assert_allclose(structure.search(0, weights, 3000).scores, expected, rtol=1e-4, atol=1e-4)


@given(sentences(9), st.integers(1, 4))
def test_the_gold_actions_build_the_gold_tree(sentence: TreeSentence, width: int) -> None:
    structure = structure_of([sentence], width)
    structure.search(0, FlatWeights(structure.encoder.size), 1)
    n = len(sentence)
    state = int(structure.beam.gold[2 * n])
    heads, relations = np.zeros((2, n + 1), np.int64)
    transitions.read_tree(state, n, structure.beam.states, heads, relations)
    names = tuple(structure.encoder.relations[r] for r in relations[1:])
    assert sentence.tree is not None
    assert Tree(tuple(heads[1:].tolist()), names) == lifted(sentence.tree)


@settings(max_examples=30)
@given(sentences(5), st.integers(1, 6), st.integers(1, 6), st.integers(0, 99), st.sampled_from([None, CLUSTERS]))
def test_an_update_is_the_features_of_gold_minus_those_expected(
    sentence: TreeSentence, width: int, n: int, seed: int, clusters: Clusters | None
) -> None:
    """Also for parts at steps that the gold tree does not share, and where both are cut to a beginning."""
    structure = structure_of([sentence], width, clusters=clusters)
    weights = weights_of(structure, seed)
    candidates = structure.search(0, weights, n)
    oracle = structure.oracle(0)
    shares = softmax_of_scores(candidates.scores)
    expected = np.zeros(len(weights.v))
    scores = []
    for parts, amount in [(oracle, 1.0), *((candidates.of(k), -share) for k, share in enumerate(shares))]:
        assert len(parts) == len(oracle)
        state, score = Literal(len(sentence)), 0.0
        for part in parts:
            action, relation = structure.beam.states[part, [transitions.ACTION, transitions.RELATION]].tolist()
            rows = state.rows(action, relation, structure, 0)
            np.add.at(expected, rows, amount)
            score += float(weights.v[rows].astype(np.float64).sum())
            state = state.after(action, relation)
        scores.append(score)
    np.testing.assert_allclose(candidates.scores, scores[1:], rtol=1e-4, atol=1e-4)
    assert all(a >= b for a, b in itertools.pairwise(candidates.scores))
    parts, coefficients = part_coefficients(candidates, oracle, shares)
    update = np.zeros(len(weights.v))
    found = structure.rows(0, parts)
    np.add.at(update, found.rows, np.repeat(coefficients, np.diff(found.offsets)))
    np.testing.assert_allclose(update, expected, atol=1e-3)


def test_the_gold_beginning_ends_where_the_beam_is_better_by_the_most() -> None:
    tree = Tree((2, 0, 2, 5, 3), ("x", "root", "y", "x", "z"))
    sentence = TreeSentence(WORDS, ("N", "V", "N", "N", "V"), ("_",) * 5, ("_",) * 5, tree)
    structure = structure_of([sentence], 2)
    cut = 0
    for seed in range(20):
        structure.search(0, weights_of(structure, seed), 1)
        beam = structure.beam
        best = beam.scores[beam.begins[:11]]
        gold = beam.scores[beam.gold]
        outside = (beam.gold < beam.begins) | (beam.gold >= beam.begins + beam.counts)
        if outside.any():
            assert structure.end == int(np.argmax(np.where(outside[:11], best - gold[:11], -np.inf)))
            cut += structure.end < 10
        else:
            assert structure.end == 10
    assert cut


def without_tags(words: str, upos: str, heads: tuple[int, ...], relations: str) -> TreeSentence:
    nothing = ("_",) * len(heads)
    return TreeSentence(tuple(words.split()), tuple(upos), nothing, nothing, Tree(heads, tuple(relations.split())))


CATS = [
    without_tags("the cat sleeps", "DNV", (2, 3, 0), "det subj root"),
    without_tags("cats sleep", "NV", (2, 0), "subj root"),
    without_tags("whom did she see", "PVPV", (4, 0, 2, 2), "obj root subj comp"),  # non-projective
]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser.train(5 * CATS, epochs=8, bits=14)


def test_a_parser_learns_its_sentences_non_projective_ones_too(parser: Parser) -> None:
    assert parser.parse_many(CATS) == [sentence.tree for sentence in CATS]
    assert parser.las(CATS) == 1.0
    assert "obj|comp" in parser.encoder.relations


def test_rare_relations_of_lifted_words_are_left_out() -> None:
    assert "obj|comp" not in Parser.train(4 * CATS, epochs=1, bits=12).encoder.relations


@pytest.mark.parametrize("learner", ["perceptron", "mira", "mira-nbest"])
def test_every_learner_learns_trees(learner: str) -> None:
    assert Parser.train(5 * CATS, epochs=8, bits=14, learner=learner).las(CATS) == 1.0


def test_the_same_seed_gives_the_same_weights(parser: Parser) -> None:
    assert np.array_equal(parser.weights.v, Parser.train(5 * CATS, epochs=8, bits=14).weights.v)


def test_a_dev_set_chooses_the_epoch_and_progress_is_reported() -> None:
    lines: list[str] = []
    Parser.train(CATS, epochs=2, bits=12, dev=CATS, progress=lines.append)
    assert len(lines) == 2


def test_nbest_trees_differ_and_their_probabilities_sum_to_one(parser: Parser) -> None:
    ranked = parser.nbest(CATS[0], 20)
    assert ranked[0].tree == CATS[0].tree
    assert len({tree.tree for tree in ranked}) == len(ranked) > 1
    assert math.isclose(sum(tree.beam_probability for tree in ranked), 1.0)
    assert len(parser.nbest(CATS[0], 1)) == 1


def test_the_reasons_for_an_arc_add_up_to_the_score_of_its_action(parser: Parser) -> None:
    reasons = parser.explain(CATS[1], 1)
    assert len(reasons) == len(transitions.TEMPLATES)
    assert reasons[0].weight > 0
    assert reasons == sorted(reasons, key=lambda reason: -reason.weight)
    with pytest.raises(OptionError, match="dependent must be the number of a word, from 1 to 2, not 3"):
        parser.explain(CATS[1], 3)


def test_arrays_and_json_bring_a_parser_back(parser: Parser) -> None:
    arrays, meta = parser.to_arrays()
    again = Parser.from_arrays(arrays, json.loads(json.dumps(meta)))
    assert np.array_equal(again.weights.v, parser.weights.v)
    assert again.nbest(CATS[0], 3) == parser.nbest(CATS[0], 3)


def test_damaged_arrays_are_refused(parser: Parser) -> None:
    arrays, meta = parser.to_arrays()
    for name, wrong in [("lists", 99), ("starts", -1), ("ends", 9999), ("rows", 1 << 30), ("values", np.nan)]:
        damaged = arrays[name].copy()
        damaged[(0,) * damaged.ndim] = wrong
        with pytest.raises(ModelError):
            Parser.from_arrays({**arrays, name: damaged}, meta)
        with pytest.raises(ModelError):
            Parser.from_arrays({key: value for key, value in arrays.items() if key != name}, meta)
    for key, value in [("relations", ["x"]), ("tags", [1]), ("bits", 60), ("width", 0), ("templates", [])]:
        with pytest.raises(ModelError):
            Parser.from_arrays(arrays, {**meta, key: value})


def test_a_parser_knows_unseen_words_by_their_clusters_and_keeps_these() -> None:
    """Only the cluster of its last word says how a new sentence is built: all words have the same tag."""
    clusters = Clusters(dict.fromkeys("abc", "0000") | dict.fromkeys("xyz", "1111"))
    ends = {"0000": (2, 0), "1111": (0, 1)}
    learned = [
        without_tags(f"{first} {second}", "NN", ends[path], "root dep" if path == "1111" else "dep root")
        for path, seconds in (("0000", "ab"), ("1111", "xy"))
        for first in "pqr"
        for second in seconds
    ]
    parser = Parser.train(learned, epochs=8, bits=14, clusters=clusters)
    arrays, meta = parser.to_arrays()
    again = Parser.from_arrays(arrays, json.loads(json.dumps(meta)))
    for one in (parser, again):
        assert [one.parse(without_tags(f"new {word}", "NN", (2, 0), "_ _")).heads for word in "cz"] == [(2, 0), (0, 1)]
    assert len(parser.explain(learned[0], 1)) == len(transitions.TEMPLATES) + len(transitions.CLUSTER_TEMPLATES)
    for name in arrays:
        if name.startswith("clusters."):
            with pytest.raises(ModelError, match="word clusters of the parser are missing or damaged"):
                Parser.from_arrays({key: value for key, value in arrays.items() if key != name}, meta)
            with pytest.raises(ModelError, match="word clusters of the parser are missing or damaged"):
                Parser.from_arrays({**arrays, name: np.full((9, 3), -1.5)}, meta)
    with pytest.raises(ModelError):  # weights of templates that are not there
        Parser.from_arrays({**arrays, "rows": arrays["rows"] + (1 << 20)}, {**meta, "templates": []})


def test_new_tags_an_empty_sentence_and_one_word_are_parsed(parser: Parser) -> None:
    new = TreeSentence(("x", "y", "z"), ("NEW", "N", "NEW"), ("_",) * 3, ("_",) * 3)
    tree = parser.parse(new)
    assert tree.heads.count(0) == 1
    assert parser.parse(TreeSentence((), (), (), ())) == Tree((), ())
    assert parser.parse(TreeSentence(("x",), ("NEW",), ("_",), ("_",))) == Tree((0,), ("root",))


def test_what_cannot_be_learned_is_one_clear_line() -> None:
    with pytest.raises(DataError, match="no sentences to learn from"):
        Parser.train([])
    odd = TreeSentence(("a",), ("X",), ("_",), ("_",), Tree((0,), ("a|b",)))
    with pytest.raises(DataError, match=r"sentence 1: the relation 'a\|b' must not contain"):
        Parser.train([odd])
    with pytest.raises(DataError, match="sentence 2: no tree"):
        Parser.train([CATS[0], TreeSentence(("a",), ("X",), ("_",), ("_",))])
    with pytest.raises(OptionError, match="width must be a number from 1 to 1000, not 0"):
        Parser.train(CATS, width=0)
