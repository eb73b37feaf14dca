"""Gold tags that are missing, or sets: what is learned from them, and that nothing is where there are none."""

import dataclasses
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.chain import bind
from sapo.search.lattice import CANDIDATES, CORRECT, LOSS, TOKENS, UPDATES
from sapo.search.marginals import forward_backward
from sapo.training.choice import start_rate

MAY_BE = {-1: {0, 1, 2}, -2: {0, 2}, -3: {1, 2}, 0: {0}, 1: {1}, 2: {2}}
SETS = np.array([[y in MAY_BE[-2 - s] for y in range(3)] for s in range(2)])


def open_corpus(tiny: Any, gold: list[list[int]], *, weighted: bool = False) -> EncodedCorpus:
    corpus = tiny.corpus(3, lengths=tuple(map(len, gold)))
    importance = np.random.default_rng(2).uniform(0, 3, corpus.tokens if weighted else 0).astype(np.float32)
    flat = np.array([tag for tags in gold for tag in tags], np.int32)
    return dataclasses.replace(corpus, gold=flat, allowed=SETS, importance=importance)


def run(name: str, corpus: EncodedCorpus, weights: Weights, **how: Any) -> Doubles:
    totals = np.zeros(20)
    settings = Settings(**{"n": 4, "strength": 0.0, **how})
    list(LEARNERS[name].run(weights, corpus, np.arange(corpus.sentences), 0.5, settings, totals))
    return totals


def keeping(gold: list[int]) -> list[tuple[int, ...]]:
    return list(product(*(sorted(MAY_BE[tag]) for tag in gold)))


@pytest.mark.parametrize("stages", [1, 4])
@pytest.mark.parametrize("gold", [[-1, -1, -1, -1], [0, -2, -1, -3], [-3, -3, 2, -1], [1, 2, 0, 0], [-2, 1, -2, 1]])
def test_expectations_over_taggings_that_keep_to_the_tags_equal_enumeration(gold: list[int], stages: int) -> None:
    rng = np.random.default_rng(len(gold))
    node, edge = (rng.normal(0, 2, shape).astype(np.float32) for shape in ((4, 3), (stages, 3, 3)))
    bound = np.full_like(node, np.nan)
    bind(np.array(gold, np.int32), SETS, node, 4, bound)
    marginal, pairs = np.empty((4, 3)), np.empty((stages, 3, 3))
    log_z = forward_backward(bound, edge, 4, np.empty((4, 3)), np.empty((4, 3)), marginal, pairs)
    steps = np.arange(4) % stages
    paths = keeping(gold)
    scores = np.array(
        [
            sum(float(node[t, y]) for t, y in enumerate(path))
            + sum(float(edge[steps[t], p, y]) for t, (p, y) in enumerate(pairwise(path), 1))
            for path in paths
        ]
    )
    shares = np.exp(scores) / np.exp(scores).sum()
    wanted, wanted_pairs = np.zeros((4, 3)), np.zeros((stages, 3, 3))
    for share, path in zip(shares, paths, strict=True):
        for t, y in enumerate(path):
            wanted[t, y] += share
            if t:
                wanted_pairs[steps[t], path[t - 1], y] += share
    assert log_z == pytest.approx(np.log(np.exp(scores).sum()))
    np.testing.assert_allclose(marginal, wanted, atol=1e-9)
    np.testing.assert_allclose(pairs, wanted_pairs, atol=1e-9)


def test_the_crf_steps_along_the_gradient_of_the_marginal_log_likelihood_by_finite_differences(tiny: Any) -> None:
    gold = [0, -2, -1, -3]
    corpus = open_corpus(tiny, [gold])
    weights = tiny.weights(1, corpus)
    literal = tiny.literal(corpus, weights)
    paths, table = literal.table(0)
    kept = np.isin(np.arange(len(paths)), [paths.index(path) for path in keeping(gold)])

    def log_likelihood(w: Doubles) -> float:
        scores = np.exp(table @ w)
        return float(np.log(scores[kept].sum()) - np.log(scores.sum()))

    w = literal.flat
    gradient = [(log_likelihood(w + d) - log_likelihood(w - d)) / 2e-5 for d in 1e-5 * np.eye(len(w))]
    totals = run("crf", corpus, weights)
    np.testing.assert_allclose((tiny.literal(corpus, weights).flat - w) / 0.5, gradient, atol=2e-6)
    assert totals[LOSS] == pytest.approx(-log_likelihood(w), abs=1e-5)


@pytest.mark.parametrize("search", ["topn", "astar", "beam"])
def test_sapo_has_no_rivals_among_the_taggings_that_keep_to_the_tags(tiny: Any, search: str) -> None:
    """With all taggings: the best that keeps, less the mean of it and of those that do not, each by its share."""
    gold = [0, -2, -1]
    corpus = open_corpus(tiny, [gold])
    weights = tiny.weights(2, corpus)
    literal = tiny.literal(corpus, weights)
    paths, table = literal.table(0)
    scores = table @ literal.flat
    kept = [paths.index(path) for path in keeping(gold)]
    best = max(kept, key=lambda number: scores[number])
    rivals = [number for number in range(27) if number not in kept or number == best]
    mass = np.exp(scores[rivals])
    totals = run("sapo", corpus, weights, n=27, search=search, width=27)
    step = table[best] - mass / mass.sum() @ table[rivals]
    np.testing.assert_allclose(tiny.literal(corpus, weights).flat - literal.flat, 0.5 * step, atol=1e-5)
    assert totals[LOSS] == pytest.approx(np.log(mass.sum()) - scores[best], abs=1e-4)
    assert totals[CANDIDATES] == len(rivals)


def test_where_the_best_n_keep_to_the_tags_sapo_changes_nothing(tiny: Any) -> None:
    corpus = open_corpus(tiny, [[0, -2, -1]])
    weights = tiny.weights(0, corpus)
    weights.features[3 + np.arange(2), [0, 2]] += 50.0
    before = weights.true_weights().features
    totals = run("sapo", corpus, weights, n=3)  # they differ in the last tag only
    assert np.array_equal(weights.true_weights().features, before)
    assert totals[LOSS] == pytest.approx(0.0, abs=1e-5)
    assert totals[UPDATES] == 0


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_sentences_without_any_tag_change_no_weight(tiny: Any, name: str, threads: int, weighted: bool) -> None:
    corpus = open_corpus(tiny, [[-1, -1, -1], [-1], [-1, -1]], weighted=weighted)
    weights = tiny.weights(0, corpus)
    before = [block.copy() for block in weights.true_weights().blocks]
    if name.endswith("-avg"):
        weights.prepare(averaged=True, l1=False)
    totals = run(name, corpus, weights, threads=threads)
    for old, new in zip(before, weights.true_weights().blocks, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6)  # the average of the same thing is rounded
    assert totals[LOSS] == pytest.approx(0, abs=1e-6)
    assert totals[UPDATES] == 0
    assert totals[CORRECT] == totals[TOKENS] == corpus.tokens


@pytest.mark.parametrize("name", ["sapo", "crf"])
def test_sentences_without_any_tag_are_regularized(tiny: Any, name: str) -> None:
    corpus = open_corpus(tiny, [[-1, -1, -1], [-1]])
    weights = tiny.weights(0, corpus)
    before = weights.true_weights().features
    run(name, corpus, weights, strength=0.4)
    np.testing.assert_allclose(weights.true_weights().features, before * (1 - 0.5 * 0.4 / 2) ** 2, rtol=1e-6)


def test_a_token_is_right_where_its_tag_is_allowed(tiny: Any) -> None:
    corpus = open_corpus(tiny, [[-2, -3, 0, 1]])
    for name in ("sapo", "crf"):
        weights = tiny.weights(0, corpus)
        weights.features[3 + np.arange(4), [2, 0, 0, 0]] += 50.0  # allowed, not allowed, right, wrong
        assert run(name, corpus, weights)[CORRECT] == 2


def test_the_start_rate_is_that_of_the_sentences_with_tags(tiny: Any) -> None:
    tagged = tiny.corpus(5, lengths=(4,) * 30)
    fresh = Weights.zeros(3 + tagged.tokens, 3, transitions=True)
    rate = start_rate(tagged, fresh, seed=0)
    half = EncodedCorpus(
        np.concatenate([tagged.offsets, tagged.offsets[1:] + 120]),
        np.concatenate([tagged.row_offsets, tagged.row_offsets[1:] + tagged.row_offsets[-1]]),
        np.concatenate([tagged.rows, tagged.rows]),
        gold=np.concatenate([tagged.gold, np.full(120, -1, np.int32)]),
    )
    assert start_rate(half, fresh, seed=0) == rate
