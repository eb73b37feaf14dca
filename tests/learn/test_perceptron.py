"""The structured perceptron and its average against Collins (2002) written out over all taggings."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles, Floats
from sapo.learn import LEARNERS
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import CORRECT, LOSS, TOKENS, UPDATED_SAMPLES, UPDATES

RATHER_SURE = 1e-4  # a decision closer than this may fall otherwise in single precision
UNREGULARISED: dict[str, Any] = {"regularizer": "none", "strength": 0.0, "tolerance": 0.0}


def run(corpus: EncodedCorpus, weights: Weights, order: Any, settings: Settings, rate: float = 1.0) -> Doubles:
    totals = np.zeros(20)
    samples = list(LEARNERS["perceptron"].run(weights, corpus, np.asarray(order), rate, settings, totals))
    assert sum(samples) == len(order)
    return totals


def written_out(literal: Any, sentence: int) -> None:
    """Find the best tagging of all, and move by F(x, y*) - F(x, y); count as the learner counts."""
    score, best = literal.top_n(sentence, Settings(n=1))[0]
    oracle = literal.oracle(sentence)
    wrong = sum(a != b for a, b in zip(best, oracle, strict=True))
    literal.loss += score - literal.score(sentence, oracle)
    literal.correct += len(oracle) - wrong
    literal.updated += wrong
    literal.candidates += wrong > 0
    paths, table = literal.table(sentence)
    literal.step(table[paths.index(oracle)] - table[paths.index(best)])


def same(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@given(
    seed=st.integers(0, 10_000),
    labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    values=st.booleans(),
    transitions=st.booleans(),
)
@hypothesis_settings(deadline=None, max_examples=60)
def test_a_pass_equals_the_perceptron_weight_for_weight(
    tiny: Any, seed: int, labels: int, lengths: tuple[int, ...], values: bool, transitions: bool
) -> None:
    corpus = tiny.corpus(seed, lengths=lengths, labels=labels, values=values)
    weights, averaged = (tiny.weights(seed, corpus, labels=labels, transitions=transitions) for _ in range(2))
    averaged.prepare(averaged=True, l1=False)
    literal = tiny.literal(corpus, weights)
    order = np.random.default_rng(seed).integers(len(lengths), size=8)
    for sentence in order:
        written_out(literal, sentence)
    assume(literal.narrowest > RATHER_SURE)
    totals = run(corpus, weights, order, Settings())
    for mine, theirs in zip(weights.true_weights().blocks[:2], (literal.features, literal.edges), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    assert totals[LOSS] == pytest.approx(literal.loss, rel=1e-4, abs=1e-4)
    assert totals[UPDATES] == literal.updated
    assert totals[UPDATED_SAMPLES] == literal.candidates
    assert totals[CORRECT] == literal.correct
    assert totals[TOKENS] == sum(lengths[sentence] for sentence in order)
    # samples without a mistake count in the average too
    run(corpus, averaged, order, Settings())
    for mine, theirs in zip(averaged.true_weights().blocks[:2], literal.average(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_where_single_precision_is_exact_the_weights_are_equal_to_the_last_bit(tiny: Any) -> None:
    corpus = tiny.corpus(2)
    weights = Weights.zeros(3 + corpus.tokens, 3)
    # multiples of 1/8192, so that no two taggings score the same
    weights.features[3:] = np.random.default_rng(2).integers(-512, 512, size=(corpus.tokens, 3)) / 8192
    literal = tiny.literal(corpus, weights)
    order = [0, 2, 1, 3] * 8
    for sentence in order:
        written_out(literal, sentence)
    assert literal.narrowest > 0
    assert literal.updated > 10
    run(corpus, weights, order, Settings())
    assert same(weights.true_weights().blocks[:2], (literal.features, literal.edges))


def test_neither_the_rate_nor_the_settings_of_sapo_matter(tiny: Any) -> None:
    corpus = tiny.corpus(3)
    results = []
    for rate, settings in (
        (1.0, Settings()),
        (0.01, Settings(rate=0.01, strength=9.0, n=7, regularizer="l1", search="beam", width=1, stop_ratio=2.0)),
    ):
        weights = tiny.weights(3, corpus)
        run(corpus, weights, [0, 1, 2, 3, 2], settings, rate)
        results.append(weights.true_weights().blocks[:2])
    assert same(*results)
    assert not same(results[0], tiny.weights(3, corpus).true_weights().blocks[:2])


@pytest.mark.parametrize("transitions", [True, False])
def test_on_data_that_can_be_separated_it_ends_without_mistakes_and_changes_nothing_more(
    tiny: Any, transitions: bool
) -> None:
    corpus = tiny.corpus(4)
    weights = Weights.zeros(3 + corpus.tokens, 3, transitions=transitions)
    totals = run(corpus, weights, [0, 1, 2, 3] * 50, Settings())
    assert totals[UPDATED_SAMPLES] > 3
    before = weights.true_weights().blocks[:2]
    totals = run(corpus, weights, [0, 1, 2, 3], Settings())
    assert totals[UPDATES] == totals[UPDATED_SAMPLES] == totals[LOSS] == 0
    assert totals[CORRECT] == corpus.tokens
    assert same(weights.true_weights().blocks[:2], before)
    assert weights.edges.any() == transitions


def test_averaging_does_not_change_what_is_learned_but_what_is_given_back(tiny: Any) -> None:
    corpus = tiny.corpus(5, values=True)
    states = []
    for name in ("perceptron", "perceptron-avg"):
        state = State(tiny.weights(5, corpus))
        state.weights.prepare(averaged=LEARNERS[name].averaged, l1=False)
        learn(LEARNERS[name].run, corpus, Settings(epochs=3, seed=1, **UNREGULARISED), state)
        states.append(state)
    plain, averaged = states
    assert np.array_equal(plain.weights.features, averaged.weights.features)
    assert [record.objective for record in plain.history] == [record.objective for record in averaged.history]
    assert not np.allclose(final_weights(plain).features, final_weights(averaged).features)
