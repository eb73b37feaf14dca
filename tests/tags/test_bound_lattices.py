"""Small lattices with bans, forced tags and biases: every search finds the best taggings that are allowed."""

import dataclasses
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Floats
from sapo.search.astar import astar
from sapo.search.beam import beam
from sapo.search.chain import search_n
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Parameters, make_lattice, with_bias
from sapo.search.topn import top_n, viterbi
from sapo.tags.recognition import scheme_bans

LABELS = ["O", "B-X", "I-X", "E-X", "S-X"]
L = len(LABELS)


def corpus_of(lengths: list[int]) -> EncodedCorpus:
    """Every token has one feature, its own."""
    tokens = sum(lengths)
    return EncodedCorpus(np.cumsum([0, *lengths]), np.arange(tokens + 1), np.arange(tokens, dtype=np.int32))


def parameters_of(seed: int, tokens: int, scheme: str | None = "bioes") -> Parameters:
    rng = np.random.default_rng(seed)
    plain = Parameters.plain(
        rng.normal(size=(tokens, L)).astype(np.float32), rng.normal(size=(L, L)).astype(np.float32)
    )
    return plain if scheme is None else dataclasses.replace(plain, bans=scheme_bans(LABELS, scheme))


def enumerate_paths(
    parameters: Parameters, first: int, T: int, token_bans: Floats, bias: Floats
) -> list[tuple[float, tuple[int, ...]]]:
    """All allowed taggings with their scores, best first."""
    bans, found = parameters.bans, []
    for path in product(range(L), repeat=T):
        total = bans[L, path[0]] + bans[L + 1, path[-1]]
        for t, y in enumerate(path):
            total += parameters.features[first + t, y] + token_bans[first + t, y] + bias[y]
            if t:
                total += parameters.edges[path[t - 1], y] + bans[path[t - 1], y]
        if total > -np.inf:
            found.append((float(total), path))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("search", [top_n, astar, lambda lattice, n: beam(lattice, n=n, width=5**4)])
@pytest.mark.parametrize("seed", range(6))
def test_every_search_finds_the_best_allowed_taggings(seed: int, search: Callable[..., Any]) -> None:
    lengths = [1, 4, 3]
    corpus = corpus_of(lengths)
    rng = np.random.default_rng([seed, 9])
    token_bans = np.where(rng.random((8, L)) < 0.15, -np.inf, 0).astype(np.float32)
    bias = rng.normal(size=L).astype(np.float32)
    parameters = parameters_of(seed, 8)
    bound = dataclasses.replace(corpus, token_bans=token_bans)
    for sentence, T in enumerate(lengths):
        expected = enumerate_paths(parameters, int(corpus.offsets[sentence]), T, token_bans, bias)
        lattice = make_lattice(bound, sentence, with_bias(parameters, bias))
        found = search(lattice, n=9)
        assert [tuple(path) for path in found.paths.tolist()] == [path for _, path in expected[:9]]
        assert found.scores == pytest.approx([score for score, _ in expected[:9]], abs=1e-4)
        best = viterbi(lattice).paths
        assert best.tolist() == [list(path) for _, path in expected[:1]]


@pytest.mark.parametrize("seed", range(6))
def test_tagging_finds_the_best_allowed_tagging(seed: int) -> None:
    lengths = [2, 1, 4]
    corpus = corpus_of(lengths)
    token_bans = np.zeros((7, L), np.float32)
    token_bans[5, [0, 1, 4]] = -np.inf  # only in the last sentence, inside of a span
    parameters, bias = parameters_of(seed, 7), np.array([0.5, 0, 0, -1, 0], np.float32)
    expected: list[int] = []
    for sentence, T in enumerate(lengths):
        expected += enumerate_paths(parameters, int(corpus.offsets[sentence]), T, token_bans, bias)[0][1]
    bound = dataclasses.replace(corpus, token_bans=token_bans)
    assert tag_corpus(bound, with_bias(parameters, bias)).tolist() == expected


def test_a_beam_that_runs_into_what_is_forbidden_is_followed_by_an_exact_search() -> None:
    corpus = corpus_of([3])
    parameters = parameters_of(0, 3)
    token_bans = np.zeros((3, L), np.float32)
    token_bans[2, [0, 1, 2, 4]] = -np.inf  # E-X at the end
    parameters.features[1] = [9, 0, 0, 0, 0]  # O just before it, which the narrow beam holds to
    lattice = make_lattice(dataclasses.replace(corpus, token_bans=token_bans), 0, parameters)
    assert len(beam(lattice, n=1, width=1)) == 0
    found = search_n("beam", lattice, n=1, width=1)
    assert found.paths.tolist() == viterbi(lattice).paths.tolist()


def test_a_bias_is_added_once_a_token() -> None:
    corpus, parameters = corpus_of([3]), parameters_of(1, 3, None)
    biased = with_bias(parameters, np.array([2, 0, 0, 0, 0.5], np.float32))
    plain, lattice = make_lattice(corpus, 0, parameters), make_lattice(corpus, 0, biased)
    assert lattice.path_score([0, 4, 0]) - plain.path_score([0, 4, 0]) == pytest.approx(4.5, abs=1e-5)
    assert not parameters.bans.any()
