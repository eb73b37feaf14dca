"""The SAPO learner against Algorithm 1 written out, the structured perceptron and the gradient of a CRF."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from literal_sapo import Literal
from sapo.features.encoded import EncodedCorpus
from sapo.learn import loop
from sapo.learn.samples import draw_order
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import CANDIDATES, CORRECT, LOSS, TOKENS, UPDATES
from sapo.training.plan import make_plan
from sapo.training.run import start

RATHER_SURE = 1e-4  # a decision closer than this may fall otherwise in single precision


def run(
    corpus: EncodedCorpus, weights: Weights, order: Any, settings: Settings, rate: float | None = None
) -> np.ndarray:
    totals = np.zeros(20)
    samples = list(sapo_pass(weights, corpus, np.asarray(order), rate or settings.rate, settings, totals))
    assert sum(samples) == len(order)
    return totals


def assert_same_weights(weights: Weights, features: np.ndarray, edges: np.ndarray, atol: float = 2e-5) -> None:
    mine = weights.true_weights().blocks[:2]
    np.testing.assert_allclose(mine[0], features, rtol=1e-4, atol=atol)
    np.testing.assert_allclose(mine[1], edges, rtol=1e-4, atol=atol)


@given(
    seed=st.integers(0, 10_000),
    labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    values=st.booleans(),
    transitions=st.booleans(),
    n=st.sampled_from([1, 2, 3, 5, 10, 100]),
    strength=st.sampled_from([0.0, 0.1, 1.0, 3.0]),
    rate=st.sampled_from([0.01, 0.1, 1.0]),
    stop_ratio=st.sampled_from([math.inf, 100.0, 5.0, 1.5]),
)
@hypothesis_settings(deadline=None, max_examples=120)
def test_a_pass_equals_algorithm_1_weight_for_weight(
    tiny: Any,
    seed: int,
    labels: int,
    lengths: tuple[int, ...],
    values: bool,
    transitions: bool,
    n: int,
    strength: float,
    rate: float,
    stop_ratio: float,
) -> None:
    corpus = tiny.corpus(seed, lengths=lengths, labels=labels, values=values)
    weights = tiny.weights(seed, corpus, labels=labels, transitions=transitions)
    settings = Settings(n=n, strength=strength, rate=rate, stop_ratio=stop_ratio)
    literal = tiny.literal(corpus, weights)
    order = np.random.default_rng(seed).integers(len(lengths), size=8)
    for sentence in order:
        literal.sample(sentence, rate, settings)
    assume(literal.narrowest > RATHER_SURE)
    totals = run(corpus, weights, order, settings)
    assert_same_weights(weights, literal.features, literal.edges)
    assert totals[LOSS] == pytest.approx(literal.loss, rel=1e-4, abs=1e-4)
    assert totals[CANDIDATES] == literal.candidates
    assert totals[UPDATES] == literal.updated
    assert totals[CORRECT] == literal.correct
    assert totals[TOKENS] == sum(lengths[sentence] for sentence in order)


def best_path(node: np.ndarray, edge: np.ndarray) -> list[int]:
    """Viterbi; among equals the first label wins."""
    best, back = node[0], []
    for row in node[1:]:
        steps = best[:, None] + edge
        back.append(steps.argmax(axis=0))
        best = row + steps.max(axis=0)
    path = [int(best.argmax())]
    for choices in reversed(back):
        path.append(int(choices[path[-1]]))
    return path[::-1]


@pytest.mark.parametrize("transitions", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_n_1_rate_1_strength_0_is_the_structured_perceptron(tiny: Any, seed: int, transitions: bool) -> None:
    # all weights stay whole numbers, so that the two must agree to the last bit, ties and all
    corpus = tiny.corpus(seed, lengths=(3, 1, 6, 2, 5, 4))
    weights = Weights.zeros(3 + corpus.tokens, 3, transitions=transitions)
    w, edge = np.zeros(weights.features.shape), np.zeros((3, 3))
    order = np.random.default_rng(seed).integers(corpus.sentences, size=40)
    mistakes = 0
    for sentence in order:
        tokens = range(corpus.offsets[sentence], corpus.offsets[sentence + 1])
        features = [corpus.rows[corpus.row_offsets[t] : corpus.row_offsets[t + 1]] for t in tokens]
        gold = corpus.gold[tokens.start : tokens.stop].tolist()
        found = best_path(np.array([w[rows].sum(axis=0) for rows in features]), edge)
        mistakes += gold != found
        for rows, right, wrong in zip(features, gold, found, strict=True):
            np.add.at(w, (rows, right), 1)
            np.add.at(w, (rows, wrong), -1)
        if transitions:
            for path, step in ((gold, 1), (found, -1)):
                for pair in pairwise(path):
                    edge[pair] += step
    run(corpus, weights, order, Settings(n=1, rate=1.0, strength=0.0))
    assert mistakes > 5
    assert np.array_equal(weights.true_weights().features, w)
    assert np.array_equal(weights.true_weights().edges, edge)


def log_sum(scores: np.ndarray, axis: int) -> np.ndarray:
    top = scores.max(axis=axis, keepdims=True)
    summed: np.ndarray = np.log(np.exp(scores - top).sum(axis=axis)) + top.squeeze(axis)
    return summed


def marginals(node: np.ndarray, edge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forward and backward: how probable each label, and each pair of labels, is at each token."""
    forward, backward = np.zeros_like(node), np.zeros_like(node)
    forward[0] = node[0]
    for t in range(1, len(node)):
        forward[t] = node[t] + log_sum(forward[t - 1][:, None] + edge, axis=0)
    for t in range(len(node) - 2, -1, -1):
        backward[t] = log_sum(edge + node[t + 1] + backward[t + 1], axis=1)
    total = log_sum(forward[-1], axis=0)
    pairs = [np.exp(forward[t - 1][:, None] + edge + node[t] + backward[t] - total) for t in range(1, len(node))]
    return np.exp(forward + backward - total), np.array(pairs).reshape(-1, *edge.shape)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_n_all_taggings_is_one_step_along_the_gradient_of_a_crf(tiny: Any, length: int, values: bool) -> None:
    corpus = tiny.corpus(length, lengths=(length,), values=values)
    weights = tiny.weights(length, corpus)
    w, edge = (array.astype(np.float64) for array in weights.true_weights().blocks[:2])
    value = corpus.values.astype(np.float64) if values else np.ones(len(corpus.rows))
    spans = [slice(a, b) for a, b in pairwise(corpus.row_offsets.tolist())]
    node = np.array([value[span] @ w[corpus.rows[span]] for span in spans])
    labels, pairs = marginals(node, edge)
    for t, span in enumerate(spans):
        step = np.eye(3)[corpus.gold[t]] - labels[t]
        np.add.at(w, corpus.rows[span], 0.3 * value[span][:, None] * step)
    for t, pair in enumerate(pairwise(corpus.gold.tolist())):
        edge -= 0.3 * pairs[t]
        edge[pair] += 0.3
    run(corpus, weights, [0], Settings(n=3**length, rate=0.3, strength=0.0))
    np.testing.assert_allclose(weights.true_weights().features, w, atol=1e-5)
    np.testing.assert_allclose(weights.true_weights().edges, edge, atol=1e-5)


def taught(tiny: Any, seed: int, *, margin: float) -> tuple[EncodedCorpus, Weights]:
    """A corpus whose oracles win by a margin at every token."""
    corpus = tiny.corpus(seed)
    weights = tiny.weights(seed, corpus)
    weights.features[3 + np.arange(corpus.tokens), corpus.gold] += margin
    return corpus, weights


def test_where_all_candidates_agree_with_the_oracle_nothing_changes(tiny: Any) -> None:
    corpus, weights = taught(tiny, 0, margin=50)
    before = [array.copy() for array in weights.true_weights().blocks[:2]]
    totals = run(corpus, weights, [0, 1, 2, 3], Settings(n=1, strength=0.0))
    assert totals[UPDATES] == 0
    assert totals[CORRECT] == corpus.tokens
    assert all(np.array_equal(a, b) for a, b in zip(weights.true_weights().blocks[:2], before, strict=True))


def test_a_token_at_which_all_agree_keeps_its_weights_though_others_change(tiny: Any) -> None:
    corpus, weights = taught(tiny, 1, margin=50)
    weights.features[3 + 1] = weights.features[3 + 1].mean()  # the second token of the first sentence is in doubt
    before = weights.true_weights().features
    # the other sentences, and with n = 3 the other tokens, are 50 ahead: exp(-50) is nothing in single precision
    totals = run(corpus, weights, [0], Settings(n=3, strength=0.0))
    changed = (weights.true_weights().features != before).any(axis=1)
    assert totals[UPDATES] == 1
    assert changed[3 + 1]
    assert not changed[3:][[0, 2, *range(3, corpus.tokens)]].any()


@pytest.mark.parametrize("strength", [0.5, 4.0])
def test_the_regularizer_shrinks_all_weights_also_those_that_are_not_touched(tiny: Any, strength: float) -> None:
    corpus, weights = taught(tiny, 2, margin=50)
    features, edges = (array.astype(np.float64) for array in weights.true_weights().blocks[:2])
    run(corpus, weights, [0, 1, 2, 3, 0], Settings(n=1, strength=strength, rate=0.2))
    shrunk = (1 - 0.2 * strength / 4) ** 5
    np.testing.assert_allclose(weights.true_weights().features, features * shrunk, rtol=1e-6)
    np.testing.assert_allclose(weights.true_weights().edges, edges * shrunk, rtol=1e-6)


@pytest.mark.parametrize(
    ("shrink", "n"), [(0.5, 1), (0.5, 4), (0.5, 81), (0.9, 81), (0.999999, 81), (1.0, 81), (1.5, 81)]
)
def test_bringing_back_a_tiny_scale_changes_nothing(tiny: Any, shrink: float, n: int) -> None:
    """So strong a regularizer that the scale falls below any bound several times in a pass."""
    corpus = tiny.corpus(3)
    weights = tiny.weights(3, corpus)
    settings = Settings(n=n, rate=1.0, strength=4 * shrink)
    literal = tiny.literal(corpus, weights)
    order = [0, 2, 1, 3, 2, 0, 3, 1] * 6
    for sentence in order:
        literal.sample(sentence, 1.0, settings)
    assert n == 81 or literal.narrowest > 1e-6  # with all 81 taggings there is no border to fall on
    run(corpus, weights, order, settings)
    assert 1e-7 < weights.scale <= 1
    assert_same_weights(weights, literal.features, literal.edges, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_how_many_samples_are_learned_in_one_call_does_not_matter(
    tiny: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tiny.corpus(seed)
    order = np.random.default_rng(seed).integers(4, size=23)
    settings = Settings(n=3, strength=2.0, rate=0.5)
    results = []
    for samples in (256, 1, 7):
        monkeypatch.setattr(loop, "SAMPLES_PER_RUN", samples)
        weights = tiny.weights(seed, corpus)
        totals = run(corpus, weights, order, settings)
        results.append((weights.scale, weights.features.tobytes(), weights.edges.tobytes(), totals.tolist()))
    assert results[0] == results[1] == results[2]


def test_transitions_that_are_not_learned_stay_zero(tiny: Any) -> None:
    corpus = tiny.corpus(4)
    weights = tiny.weights(4, corpus, transitions=False)
    run(corpus, weights, [0, 1, 2, 3], Settings())
    assert not weights.edges.any()
    assert weights.features.any()


def test_the_corpus_stays_as_it_is(tiny: Any) -> None:
    corpus, again = tiny.corpus(5, values=True), tiny.corpus(5, values=True)
    run(corpus, tiny.weights(5, corpus), [0, 1, 2, 3], Settings())
    for name in ("offsets", "row_offsets", "rows", "values", "gold"):
        assert np.array_equal(getattr(corpus, name), getattr(again, name))


def plain_sentences(seed: int) -> list[tuple[list[dict[str, float]], list[str]]]:
    """Sentences of three tokens and of one; random values, so that no two taggings of a trained model tie."""
    rng = np.random.default_rng(seed)
    names = ["O", "B-NP", "I-NP"]  # I-NP after O breaks IOB2
    return [
        ([dict(zip("abc", rng.uniform(0.5, 1.0, 3).tolist(), strict=True)) for _ in range(length)], tags)
        for length in rng.permutation([1, 1, 1, 1, 3, 3, 3]).tolist()
        for tags in [[names[tag] for tag in rng.integers(3, size=length)]]
    ]


@pytest.mark.parametrize("schedule", ["exponential", "fixed"])
@pytest.mark.parametrize("seed", [1, 3, 7])  # the first sample has one token: its taggings tie, and all are among the n
def test_sapo_plain_is_algorithm_1_from_the_data_to_the_model(schedule: str, seed: int) -> None:
    given = {"rate": 0.3, "strength": 0.5, "epochs": 4, "seed": seed, "tolerance": 0.0, "schedule": schedule}
    run = start(make_plan(plain_sentences(seed), learner="sapo-plain", settings=given))
    data, settings = run.data, run.settings
    assert (settings.piece, settings.average, settings.hide, settings.drop) == (0, 0.0, 0.0, 0.0)
    assert settings.stop_ratio == math.inf
    assert not data.gold.shown  # labels as they are
    assert not data.gold.bans.any()
    assert not len(data.scales)
    literal = Literal(data.corpus, np.zeros((data.encoder.features, 3)), np.zeros((3, 3)), transitions=True)
    for epoch in range(1, settings.epochs + 1):
        order = draw_order(data.corpus.sentences, settings, epoch).tolist()
        for place, sentence in enumerate(order):
            if epoch == 1 and place == 0:  # all weights are 0
                assert len(literal.oracle(sentence)) == 1
            if epoch == 1 and place == 1:
                literal.narrowest = np.inf
            literal.sample(sentence, settings.rate_of(epoch), settings)
    assert literal.narrowest > RATHER_SURE
    learned = run.finish().tagger.model.parameters
    np.testing.assert_allclose(learned.features, literal.features, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(learned.edges, literal.edges, rtol=1e-4, atol=2e-5)
