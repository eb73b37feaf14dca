"""The batch CRF: objective and gradient against enumeration and differences, threads, and the optimum with L1."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from literal_sapo import SHARED
from sapo.features.encoded import EncodedCorpus, observed_pairs
from sapo.jit.arrays import Doubles
from sapo.learn.batch_crf import BatchWeights, FlatLayout, flat_layout, total_gradient
from sapo.learn.lbfgs import Minimizer
from sapo.search.lattice import LOSS, no_bans

KINDS = ("plain", "values", "edge features", "bans", "open tags", "importance", "everything")


def problem(kind: str, seed: int, tiny: Any) -> tuple[EncodedCorpus, FlatLayout]:
    """A small corpus of this kind, with 3 labels."""
    every, rng = kind == "everything", np.random.default_rng([seed, 7])
    corpus = tiny.corpus(seed, values=every or kind == "values")
    fields: dict[str, Any] = {}
    bans = no_bans(3)
    if every or kind == "edge features":
        counts = rng.integers(3, size=corpus.tokens)
        fields["edge_row_offsets"] = np.cumsum([0, *counts])
        fields["edge_rows"] = rng.integers(4, size=counts.sum()).astype(np.int32)
    if every or kind == "importance":
        fields["importance"] = np.repeat(rng.random(corpus.sentences), np.diff(corpus.offsets)).astype(np.float32)
    if every or kind == "bans":
        bans[0, 1] = bans[3, 2] = -np.inf
        fields["gold"] = np.where(corpus.gold > 0, 0, corpus.gold).astype(np.int32)  # allowed everywhere
    if every or kind == "open tags":
        gold = fields.get("gold", corpus.gold).copy()
        gold[[0, 4]] = -1
        gold[2] = -2
        fields["gold"], fields["allowed"] = gold, np.array([[True, False, True]])
    corpus = EncodedCorpus(**{**{name: getattr(corpus, name) for name in corpus.__slots__}, **fields})
    pairs = observed_pairs(corpus, 4, 3)
    return corpus, flat_layout(corpus, SHARED + corpus.tokens, bans, pairs=pairs, all_states=seed % 2 == 1)


def evaluate(corpus: EncodedCorpus, layout: FlatLayout, w: Doubles, threads: int = 1) -> tuple[float, Doubles]:
    gradient, totals = np.full(layout.size, np.nan), np.zeros(20)
    total_gradient(corpus, layout, w, threads, gradient, totals)
    return float(totals[LOSS]), gradient


def enumerated(corpus: EncodedCorpus, layout: FlatLayout, w: Doubles) -> tuple[float, Doubles]:
    """The same over all taggings, one by one, each as a vector of counts."""
    flat, L = layout.flat, len(layout.flat.edges)
    loss, gradient = 0.0, np.zeros(layout.size)
    for first, last in pairwise(corpus.offsets):
        counts, fits = [], []
        for path in product(range(L), repeat=last - first):
            told = [corpus.gold[first + t] for t in range(len(path))]
            banned = [flat.bans[L, path[0]], flat.bans[L + 1, path[-1]], *(flat.bans[pair] for pair in pairwise(path))]
            if min(banned) < 0:
                continue
            fits.append(
                all(
                    g == -1 or (y == g if g >= 0 else corpus.allowed[-2 - g, y])
                    for g, y in zip(told, path, strict=True)
                )
            )
            counts.append(path_counts(corpus, layout, int(first), path))
        scores = np.array(counts) @ w
        inside = np.where(fits, scores, -np.inf)
        weight = corpus.importance[first] if len(corpus.importance) else 1.0
        loss += weight * (np.logaddexp.reduce(scores) - np.logaddexp.reduce(inside))
        expected = [np.exp(part - np.logaddexp.reduce(part)) @ np.array(counts) for part in (scores, inside)]
        gradient += weight * (expected[0] - expected[1])
    return loss, gradient


def path_counts(corpus: EncodedCorpus, layout: FlatLayout, first: int, path: tuple[int, ...]) -> Doubles:
    flat, L = layout.flat, len(layout.flat.edges)
    found = np.zeros(layout.size)
    for t, y in enumerate(path):
        for i in range(*corpus.row_offsets[first + t : first + t + 2]):
            begin, end = flat.offsets[corpus.rows[i] : corpus.rows[i] + 2]
            mine = begin + np.flatnonzero(flat.labels[begin:end] == y)
            found[mine] += corpus.values[i] if len(corpus.values) else 1.0
        if t > 0:
            place = flat.edges[path[t - 1], y]
            if place >= 0:
                found[place] += 1
            if len(corpus.edge_row_offsets) > 1:
                for i in range(*corpus.edge_row_offsets[first + t : first + t + 2]):
                    begin, end = flat.pair_offsets[corpus.edge_rows[i] : corpus.edge_rows[i] + 2]
                    mine = begin + np.flatnonzero(flat.pair_codes[begin:end] == path[t - 1] * L + y)
                    found[flat.first_pair + mine] += 1
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_loss_and_gradient_are_those_over_all_taggings(kind: str, seed: int, tiny: Any) -> None:
    corpus, layout = problem(kind, seed, tiny)
    w = np.random.default_rng(seed).normal(size=layout.size)
    loss, gradient = evaluate(corpus, layout, w)
    true_loss, true_gradient = enumerated(corpus, layout, w)
    assert loss == pytest.approx(true_loss, rel=1e-10)
    assert gradient == pytest.approx(true_gradient, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_numeric_differences(kind: str, tiny: Any) -> None:
    corpus, layout = problem(kind, 2, tiny)
    w = np.random.default_rng(1).normal(size=layout.size)
    _, gradient = evaluate(corpus, layout, w)
    for place in range(layout.size):
        step = np.zeros(layout.size)
        step[place] = 1e-5
        higher, lower = evaluate(corpus, layout, w + step)[0], evaluate(corpus, layout, w - step)[0]
        assert gradient[place] == pytest.approx((higher - lower) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_give_the_same_up_to_rounding_and_each_number_always_the_same(threads: int, tiny: Any) -> None:
    corpus, layout = problem("plain", 0, tiny)
    w = np.random.default_rng(0).normal(size=layout.size)
    loss, gradient = evaluate(corpus, layout, w, threads)
    assert (loss, gradient.tobytes()) == (
        evaluate(corpus, layout, w, threads)[0],
        evaluate(corpus, layout, w, threads)[1].tobytes(),
    )
    alone = evaluate(corpus, layout, w)
    assert loss == pytest.approx(alone[0], rel=1e-13)
    assert gradient == pytest.approx(alone[1], abs=1e-13)


@pytest.mark.parametrize("kind", ["plain", "edge features", "bans"])
def test_with_l1_the_optimum_is_sparse_and_is_one(kind: str, tiny: Any) -> None:
    corpus, layout = problem(kind, 1, tiny)
    minimizer = Minimizer(np.zeros(layout.size), l1=0.4, epsilon=1e-8)
    weights = BatchWeights(layout, minimizer, l2=0.2, period=10, tolerance=0.0)
    for _ in range(200):
        weights.iterate(corpus, 1, np.zeros(20))
        if weights.converged:
            break
    x = minimizer.x
    gradient = evaluate(corpus, layout, x)[1] + 0.2 * x
    assert 0 < np.count_nonzero(x) < layout.size
    assert (np.abs(gradient[x == 0]) <= 0.4 + 1e-6).all()
    assert gradient[x != 0] == pytest.approx(-0.4 * np.sign(x[x != 0]), abs=1e-5)
    parameters = weights.finish(None)
    assert parameters.rows.nonzero + np.count_nonzero(parameters.edges) + np.count_nonzero(
        parameters.pair_weights
    ) == np.count_nonzero(x)


def test_only_what_training_shows_has_a_weight() -> None:
    corpus = EncodedCorpus(
        offsets=np.array([0, 2, 3]),
        row_offsets=np.array([0, 1, 3, 4]),
        rows=np.array([0, 0, 1, 2], np.int32),
        gold=np.array([0, 1, 2], np.int32),
        zero_offsets=np.array([0, 0, 0, 1]),
        zero_rows=np.array([1], np.int32),  # of value 0, and still seen with label 2
    )
    layout = flat_layout(corpus, 3, no_bans(3))
    assert layout.flat.offsets.tolist() == [0, 2, 4, 5]
    assert layout.flat.labels.tolist() == [0, 1, 1, 2, 2]
    assert np.argwhere(layout.flat.edges >= 0).tolist() == [[0, 1]]
    assert layout.size == 6
    assert flat_layout(corpus, 3, no_bans(3), all_states=True, all_transitions=True).size == 9 + 9
    assert flat_layout(corpus, 3, no_bans(3), min_freq=2).size == 0
    assert flat_layout(corpus, 3, no_bans(3), transitions=False).size == 5
