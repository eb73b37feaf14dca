"""Few labels a token: a search finds what is best among the taggings that the lists allow."""

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import allow_limits
from sapo.features.encoded import EncodedCorpus, Pairs
from sapo.search.astar import astar
from sapo.search.beam import beam
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Parameters, make_lattice, no_bans, with_bias
from sapo.search.marginals import distribution
from sapo.search.topn import top_n, viterbi
from sapo.search.weights import FeatureRows, Lists

LABELS, FEATURES, EDGE_FEATURES = 5, 12, 3
MANY = 10_000


def make_lists(most: int, seen: dict[int, list[int]] | None = None) -> Lists:
    words = [(seen or {}).get(word, []) for word in range(1 + max(seen or {-1: []}))]
    labels = np.array([label for word in words for label in word], np.uint16)
    return Lists(most, np.arange(LABELS, dtype=np.int32), np.cumsum([0, *map(len, words)]), labels)


def make_corpus(rng: Any, lengths: tuple[int, ...], *, edges: bool, values: bool, words: bool) -> EncodedCorpus:
    tokens = sum(lengths)
    rows = [rng.permutation(FEATURES)[: rng.integers(1, 4)] for _ in range(tokens)]
    flat = np.concatenate(rows).astype(np.int32)
    more: dict[str, Any] = {}
    if edges:
        edge_rows = [rng.permutation(EDGE_FEATURES)[: rng.integers(3)] for _ in range(tokens)]
        more["edge_row_offsets"] = np.cumsum([0, *map(len, edge_rows)])
        more["edge_rows"] = np.concatenate(edge_rows).astype(np.int32)
    if values:
        more["values"] = rng.normal(size=len(flat)).astype(np.float32)
    if words:
        more["words"] = rng.integers(-1, 4, tokens).astype(np.int32)
    return EncodedCorpus(np.cumsum([0, *lengths]), np.cumsum([0, *map(len, rows)]), flat, **more)


def make_parameters(rng: Any, lists: Lists, *, dense: bool, bans: float) -> Parameters:
    matrix = rng.normal(size=(FEATURES, LABELS)).astype(np.float32)
    rows = FeatureRows.of_matrix(matrix)
    if not dense:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sapo.search.weights.FEW_LABELS", 0)
            patch.setattr("sapo.search.weights.dense_from", lambda labels: 4)
            matrix *= rng.random(matrix.shape) < rng.choice([0.3, 1.0], size=(FEATURES, 1))
            rows = FeatureRows.of_entries(*rows.entries(), LABELS)
    offsets = np.array([0, 4, 4, 10])
    codes = np.concatenate([np.sort(rng.permutation(LABELS**2)[:4]), np.sort(rng.permutation(LABELS**2)[:6])])
    forbidden = no_bans(LABELS)
    forbidden[rng.random(forbidden.shape) < bans] = -np.inf
    return Parameters(
        rows,
        rng.normal(size=(LABELS, LABELS)).astype(np.float32),
        Pairs(offsets, codes.astype(np.int32)),
        rng.normal(size=(10, 1)).astype(np.float32),
        forbidden,
        lists,
    )


def enumerate_allowed(
    corpus: EncodedCorpus, sentence: int, parameters: Parameters
) -> dict[tuple[int, ...], float] | None:
    """Every tagging that the lists allow with its score in the whole lattice; all taggings where none is left."""
    whole = make_lattice(corpus, sentence, parameters)
    matrix, lists = parameters.features, parameters.lists
    choices = []
    first, last = corpus.offsets[sentence : sentence + 2].tolist()
    steps, reached = parameters.edges + parameters.bans[:LABELS], parameters.bans[LABELS]
    for token in range(first, last):
        span = slice(*corpus.row_offsets[token : token + 2].tolist())
        values = corpus.values[span] if len(corpus.values) else np.ones(span.stop - span.start, np.float32)
        scores = values @ matrix[corpus.rows[span]]
        word = int(corpus.words[token]) if len(corpus.words) else -1
        seen: list[int] = []
        if 0 <= word < len(lists.offsets) - 1:
            seen = lists.labels[lists.offsets[word] : lists.offsets[word + 1]].tolist()
        few = seen
        if not 0 < len(seen) <= lists.most:
            ends = [y for y in range(LABELS) if token < last - 1 or parameters.bans[LABELS + 1, y] == 0]
            if all(reached[y] == -np.inf for y in ends):
                reached = np.zeros(LABELS)
            open_labels = [y for y in ends if reached[y] > -np.inf]
            few = sorted(open_labels, key=(scores + reached).__getitem__, reverse=True)[: lists.most]
        choices.append(few)
        reached = np.max([scores[p] + reached[p] + steps[p] for p in few], axis=0, initial=-np.inf)
        if (reached == -np.inf).all():
            reached = np.zeros(LABELS)
    for taggings in (choices, [range(LABELS)] * (last - first)):
        found = {path: whole.path_score(list(path)) for path in product(*taggings)}
        found = {path: score for path, score in found.items() if score > -math.inf}
        if found:
            return found
    return {}


cases = {
    "seed": st.integers(0, 10_000),
    "length": st.integers(1, 4),
    "most": st.sampled_from([1, 2, 3, 5, 8]),
    "dense": st.booleans(),
    "edges": st.booleans(),
    "values": st.booleans(),
    "words": st.booleans(),
    "bans": st.sampled_from([0.0, 0.0, 0.2, 0.6]),
}


@settings(max_examples=80, deadline=None)
@given(**cases)
def test_every_search_finds_the_best_of_what_the_lists_allow(
    seed: int, length: int, most: int, dense: bool, edges: bool, values: bool, words: bool, bans: float
) -> None:
    rng = np.random.default_rng(seed)
    corpus = make_corpus(rng, (2, length), edges=edges, values=values, words=words)
    lists = make_lists(most, {0: [3], 2: [0, 4], 3: [1, 2, 3]})
    parameters = make_parameters(rng, lists, dense=dense, bans=bans)
    expected = enumerate_allowed(corpus, 1, parameters)
    assert expected is not None
    lattice = make_lattice(corpus, 1, parameters, exact=False)
    assert lattice.labels == LABELS
    ranked = sorted(expected.values(), reverse=True)
    with allow_limits(n=MANY):
        found = top_n(lattice, n=MANY)
    assert {tuple(path) for path in found.paths.tolist()} == expected.keys()
    np.testing.assert_allclose(found.scores, ranked, rtol=1e-4, atol=1e-4)
    for search in (astar(lattice, n=3), beam(lattice, n=3, width=MANY), top_n(lattice, n=3)):
        np.testing.assert_allclose(search.scores, ranked[:3], rtol=1e-4, atol=1e-4)
        for path, score in zip(search.paths.tolist(), search.scores, strict=True):
            assert expected[tuple(path)] == pytest.approx(score, rel=1e-4, abs=1e-4)
    if not expected:
        return
    for path in (viterbi(lattice).paths[0].tolist(), astar(lattice, n=1).paths[0].tolist()):
        assert expected[tuple(path)] == pytest.approx(ranked[0], rel=1e-4, abs=1e-4)
    tags = tag_corpus(corpus, parameters)[2:]
    assert expected[tuple(tags.tolist())] == pytest.approx(ranked[0], rel=1e-4, abs=1e-4)

    mass = np.exp(np.array(list(expected.values())) - ranked[0])
    marginal = np.zeros((length, LABELS))
    for path, share in zip(expected, mass / mass.sum(), strict=True):
        marginal[np.arange(length), list(path)] += share
    summed = distribution(lattice)
    np.testing.assert_allclose(summed.marginal, marginal, atol=1e-5)
    np.testing.assert_allclose(np.exp(summed.log_marginal()), marginal, atol=1e-5)
    assert summed.log_z == pytest.approx(ranked[0] + math.log(mass.sum()), rel=1e-4, abs=1e-4)
    assert sum(summed.probability(list(path)) for path in expected) == pytest.approx(1.0, abs=1e-4)
    assert lattice.path_score(list(max(expected, key=lambda path: expected[path]))) == pytest.approx(
        ranked[0], rel=1e-4, abs=1e-4
    )


def one_sentence(tokens: int = 3) -> tuple[EncodedCorpus, Parameters]:
    rng = np.random.default_rng(1)
    corpus = make_corpus(rng, (tokens,), edges=False, values=False, words=False)
    return corpus, make_parameters(rng, make_lists(2), dense=True, bans=0.0)


def test_where_all_that_is_left_is_forbidden_all_labels_are_looked_at() -> None:
    corpus, parameters = one_sentence()
    left = make_lattice(corpus, 0, parameters, exact=False)
    assert left.lists is not None
    for p in left.lists[0].tolist():
        parameters.bans[p] = -np.inf
    whole = make_lattice(corpus, 0, parameters, exact=False)
    assert whole.lists is None
    assert tag_corpus(corpus, parameters).tolist() == viterbi(whole).paths[0].tolist()


def test_where_a_tag_is_forced_all_labels_are_looked_at() -> None:
    corpus, parameters = one_sentence()
    lattice = make_lattice(corpus, 0, parameters, exact=False)
    assert lattice.lists is not None
    forced = next(y for y in range(LABELS) if y not in lattice.lists[1])
    bans = np.zeros((3, LABELS), np.float32)
    bans[1] = -np.inf
    bans[1, forced] = 0.0
    bound = dataclasses.replace(corpus, token_bans=bans)
    assert make_lattice(bound, 0, parameters, exact=False).lists is None
    assert tag_corpus(bound, parameters)[1] == forced


def test_a_bias_against_a_label_does_not_forbid_it_at_the_start() -> None:
    corpus, parameters = one_sentence()
    biased = with_bias(parameters, np.full(LABELS, -0.5, np.float32))
    before, after = (make_lattice(corpus, 0, each, exact=False) for each in (parameters, biased))
    assert before.lists is not None
    assert after.lists is not None
    assert after.lists.tolist() == before.lists.tolist()
    np.testing.assert_allclose(after.node[0], before.node[0] - 0.5, rtol=1e-5)


def test_an_empty_sentence_has_one_empty_tagging() -> None:
    corpus, parameters = one_sentence()
    empty = dataclasses.replace(corpus, offsets=np.array([0, 0, 3]))
    assert top_n(make_lattice(empty, 0, parameters, exact=False), n=2).paths.shape == (1, 0)
    assert tag_corpus(empty, parameters).tolist() == tag_corpus(corpus, parameters).tolist()
