"""The CRF: forward-backward against enumeration and log space, its step against the gradient written out."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles, Floats
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search import marginals
from sapo.search.lattice import CORRECT, LOSS, TOKENS, UPDATED_SAMPLES

ORDER = [0, 2, 1, 3, 2, 0, 3, 1]


def forward_backward(node: Floats, edge: Floats) -> tuple[float, Doubles, Doubles]:
    """log Z, the probability of each label at each token, the expected number of each pair of labels."""
    T, L = node.shape
    marginal, pairs = np.full((T, L), np.nan), np.full((1, L, L), np.nan)
    log_z = marginals.forward_backward(node, edge[np.newaxis], T, np.empty((T, L)), np.empty((T, L)), marginal, pairs)
    return float(log_z), marginal, pairs[0]


def enumerated(node: Floats, edge: Floats) -> tuple[float, Doubles, Doubles]:
    """The same over all taggings, one by one."""
    T, L = node.shape
    paths = list(product(range(L), repeat=T))
    scores = np.array(
        [
            sum(float(node[t, y]) for t, y in enumerate(path)) + sum(float(edge[p, y]) for p, y in pairwise(path))
            for path in paths
        ]
    )
    top = scores.max()
    if top == -np.inf:
        return -np.inf, np.zeros((T, L)), np.zeros((L, L))
    mass = np.exp(scores - top)
    marginal, pairs = np.zeros((T, L)), np.zeros((L, L))
    for path, probability in zip(paths, mass / mass.sum(), strict=True):
        marginal[np.arange(T), path] += probability
        for pair in pairwise(path):
            pairs[pair] += probability
    return float(top + np.log(mass.sum())), marginal, pairs


def log_sum(scores: Doubles, axis: int) -> Doubles:
    top = scores.max(axis=axis, keepdims=True)
    summed: Doubles = np.log(np.exp(scores - top).sum(axis=axis)) + top.squeeze(axis)
    return summed


def in_log_space(node: Floats, edge: Floats) -> tuple[float, Doubles, Doubles]:
    """The same by the recurrences, with logs all the way: slow, and never too small or too large."""
    nodes, edges = node.astype(np.float64), edge.astype(np.float64)
    marginals, backward = np.zeros_like(nodes), np.zeros_like(nodes)
    marginals[0] = nodes[0]
    for t in range(1, len(nodes)):
        marginals[t] = nodes[t] + log_sum(marginals[t - 1][:, None] + edges, axis=0)
    for t in range(len(nodes) - 2, -1, -1):
        backward[t] = log_sum(edges + nodes[t + 1] + backward[t + 1], axis=1)
    log_z = float(log_sum(marginals[-1], axis=0))
    later = (nodes + backward)[1:]
    pairs = np.exp(marginals[:-1, :, None] + edges + later[:, None, :] - log_z).sum(axis=0)
    return log_z, np.exp(marginals + backward - log_z), pairs


def random_lattice(rng: Any, tokens: int, labels: int, size: float) -> tuple[Floats, Floats]:
    node = rng.normal(0, size, (tokens, labels)).astype(np.float32)
    return node, rng.normal(0, size, (labels, labels)).astype(np.float32)


@given(
    seed=st.integers(0, 10_000),
    tokens=st.integers(1, 5),
    labels=st.integers(1, 3),
    size=st.sampled_from([0.0, 1.0, 10.0, 50.0]),
    forbidden=st.sampled_from([0.0, 0.2, 0.5]),
)
@hypothesis_settings(deadline=None, max_examples=120)
def test_forward_backward_equals_the_sum_over_all_taggings(
    seed: int, tokens: int, labels: int, size: float, forbidden: float
) -> None:
    rng = np.random.default_rng(seed)
    node, edge = random_lattice(rng, tokens, labels, size)
    node[rng.random(node.shape) < forbidden] = -np.inf
    edge[rng.random(edge.shape) < forbidden] = -np.inf
    log_z, marginal, pairs = forward_backward(node, edge)
    expected_z, expected_marginal, expected_pairs = enumerated(node, edge)
    assert log_z == pytest.approx(expected_z, rel=1e-12, abs=1e-9)
    if log_z > -np.inf:
        np.testing.assert_allclose(marginal, expected_marginal, atol=1e-9)
        np.testing.assert_allclose(pairs, expected_pairs, atol=1e-9)


@pytest.mark.parametrize("what", ["every node", "the nodes of a token", "every edge", "all ways through"])
def test_where_every_tagging_is_forbidden_log_z_is_minus_infinity(what: str) -> None:
    node, edge = random_lattice(np.random.default_rng(0), 3, 2, 1.0)
    if what == "every node":
        node[:] = -np.inf
    elif what == "the nodes of a token":
        node[1] = -np.inf
    elif what == "every edge":
        edge[:] = -np.inf
    else:
        node[1, 0] = node[2, 1] = edge[1, 0] = -np.inf
    assert enumerated(node, edge)[0] == -np.inf
    assert forward_backward(node, edge)[0] == -np.inf


def test_forbidden_edges_do_not_matter_to_a_single_token() -> None:
    node = np.array([[0.0, np.log(3.0)]], np.float32)
    log_z, marginal, pairs = forward_backward(node, np.full((2, 2), -np.inf, np.float32))
    assert log_z == pytest.approx(np.log(4.0), abs=1e-6)
    np.testing.assert_allclose(marginal, [[0.25, 0.75]], atol=1e-6)
    assert not pairs.any()


@pytest.mark.parametrize(("nodes", "edges"), [(1.0, 1.0), (300.0, 100.0)])
def test_ten_thousand_tokens_are_not_too_many(nodes: float, edges: float) -> None:
    rng = np.random.default_rng(int(nodes))
    node = rng.uniform(-nodes, nodes, (10_000, 3)).astype(np.float32)
    edge = rng.uniform(-edges, edges, (3, 3)).astype(np.float32)
    log_z, marginal, pairs = forward_backward(node, edge)
    expected_z, expected_marginal, expected_pairs = in_log_space(node, edge)
    assert log_z == pytest.approx(expected_z, rel=1e-11)
    np.testing.assert_allclose(marginal.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(marginal, expected_marginal, atol=1e-7)
    assert pairs.sum() == pytest.approx(9_999, abs=1e-6)
    np.testing.assert_allclose(pairs, expected_pairs, atol=1e-4)


def run(corpus: EncodedCorpus, weights: Weights, order: Any, rate: float, settings: Settings) -> Doubles:
    totals = np.zeros(20)
    list(LEARNERS["crf"].run(weights, corpus, np.asarray(order), rate, settings, totals))
    return totals


def loss_of(w: Doubles, table: Doubles, oracle: int) -> float:
    """-log P(y* | x), over all taggings."""
    scores = table @ w
    return float(log_sum(scores, axis=0) - scores[oracle])


def written_out(literal: Any, sentence: int, rate: float, shrink: float) -> None:
    """w <- w + rate * (F(x, y*) - E[F(x, y)]), then w <- (1 - shrink) * w."""
    paths, table = literal.table(sentence)
    oracle = paths.index(literal.oracle(sentence))
    literal.loss += loss_of(literal.flat, table, oracle)
    scores = table @ literal.flat
    mass = np.exp(scores - scores.max())
    step = rate * (table[oracle] - mass / mass.sum() @ table)
    literal.step(step - shrink * (literal.flat + step))


@given(
    seed=st.integers(0, 10_000),
    labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    values=st.booleans(),
    transitions=st.booleans(),
    rate=st.sampled_from([0.01, 0.1, 1.0]),
    strength=st.sampled_from([0.0, 0.5, 2.0]),
)
@hypothesis_settings(deadline=None, max_examples=60)
def test_a_pass_equals_the_stochastic_gradient_weight_for_weight(
    tiny: Any,
    seed: int,
    labels: int,
    lengths: tuple[int, ...],
    values: bool,
    transitions: bool,
    rate: float,
    strength: float,
) -> None:
    corpus = tiny.corpus(seed, lengths=lengths, labels=labels, values=values)
    weights, averaged = (tiny.weights(seed, corpus, labels=labels, transitions=transitions) for _ in range(2))
    averaged.prepare(averaged=True, l1=False)
    literal = tiny.literal(corpus, weights)
    order = np.random.default_rng(seed).integers(len(lengths), size=8)
    for sentence in order:
        written_out(literal, sentence, rate, rate * strength / len(lengths))
    totals = run(corpus, weights, order, rate, Settings(strength=strength))
    for mine, theirs in zip(weights.true_weights().blocks[:2], (literal.features, literal.edges), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=2e-5)
    assert totals[LOSS] == pytest.approx(literal.loss, rel=1e-4, abs=1e-4)
    assert totals[TOKENS] == sum(lengths[sentence] for sentence in order)
    assert totals[UPDATED_SAMPLES] == len(order)
    run(corpus, averaged, order, rate, Settings(strength=strength))
    for mine, theirs in zip(averaged.true_weights().blocks[:2], literal.average(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=5e-5)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
def test_the_step_is_the_gradient_by_finite_differences(tiny: Any, values: bool, transitions: bool) -> None:
    corpus = tiny.corpus(1, lengths=(4,), values=values)
    weights = tiny.weights(1, corpus, transitions=transitions)
    literal = tiny.literal(corpus, weights)
    paths, table = literal.table(0)
    oracle, w = paths.index(literal.oracle(0)), literal.flat
    small = 1e-5 * np.eye(len(w))
    gradient = [(loss_of(w + d, table, oracle) - loss_of(w - d, table, oracle)) / 2e-5 for d in small]
    run(corpus, weights, [0], 0.5, Settings(strength=0.0))
    np.testing.assert_allclose((tiny.literal(corpus, weights).flat - w) / 0.5, -np.array(gradient), atol=2e-6)


@pytest.mark.parametrize("strength", [0.0, 1.0, 3.6])
@pytest.mark.parametrize("transitions", [True, False])
def test_the_average_is_the_mean_of_the_weights_after_each_sample(
    tiny: Any, strength: float, transitions: bool
) -> None:
    """With the largest strength the scale falls to its bound within the run; the average goes on over passes."""
    corpus = tiny.corpus(7, values=True)
    weights = tiny.weights(7, corpus, transitions=transitions)
    literal = tiny.literal(corpus, weights)
    weights.prepare(averaged=True, l1=False)
    for sentence in ORDER * 3:
        written_out(literal, sentence, 1.0, strength / 4)
    for samples in (ORDER, ORDER * 2):
        run(corpus, weights, samples, 1.0, Settings(strength=strength))
    for mine, theirs in zip(weights.true_weights().blocks[:2], literal.average(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_token_is_right_where_its_most_probable_label_is_that_of_the_oracle(tiny: Any) -> None:
    corpus = tiny.corpus(3)
    weights = tiny.weights(3, corpus)
    literal = tiny.literal(corpus, weights)
    correct = 0
    for sentence in range(corpus.sentences):
        paths, table = literal.table(sentence)
        mass = np.exp(table @ literal.flat)
        choices = np.array([[mass[np.array(paths)[:, t] == y].sum() for y in range(3)] for t in range(len(paths[0]))])
        correct += int((choices.argmax(axis=1) == literal.oracle(sentence)).sum())
    totals = np.zeros(20)
    for sentence in range(corpus.sentences):  # each from the same weights
        totals += run(corpus, tiny.weights(3, corpus), [sentence], 0.1, Settings())
    assert totals[CORRECT] == correct
    assert 0 < correct < corpus.tokens / 2
