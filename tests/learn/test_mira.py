"""MIRA against a solver that tries every set of active constraints, and against what a smallest change must fulfil."""

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles, Ints
from sapo.learn import LEARNERS, mira
from sapo.learn.settings import Settings
from sapo.learn.weights import STEPS, Weights
from sapo.search.lattice import CANDIDATES, CORRECT, LOSS, TOKENS, UPDATED_SAMPLES, UPDATES

RATHER_SURE = 1e-4  # a decision closer than this may fall otherwise in single precision


def subsets(count: int) -> Any:
    return chain.from_iterable(combinations(range(count), size) for size in range(count + 1))


def smallest_change(gram: Doubles, wanted: Doubles, close: float = 1e-9) -> Doubles:
    """a >= 0 with which |sum_k a_k D_k| is smallest while gram @ a >= wanted: try every set of active constraints.

    Sets of dependent constraints are left out: a smaller set among them does as well.
    """
    for active in map(list, subsets(len(wanted))):
        inner = gram[np.ix_(active, active)]
        if np.linalg.matrix_rank(inner, tol=1e-7) < len(active):
            continue
        a = np.zeros(len(wanted))
        a[active] = np.linalg.solve(inner, wanted[active])
        if (a >= -close).all() and (gram @ a >= wanted - close * max(1.0, np.abs(gram @ a).max())).all():
            return a
    raise AssertionError("the constraints contradict each other")


def solved(gram: Doubles, wanted: Doubles) -> Doubles:
    dual = np.full(len(wanted), np.nan)
    mira.solve_dual(gram, wanted, len(wanted), dual)
    return dual


def make_corpus(tiny: Any, seed: int, **options: Any) -> EncodedCorpus:
    """Without values near 0: then it takes enormous weights to fulfil a constraint."""
    corpus: EncodedCorpus = tiny.corpus(seed, **options)
    corpus.values[:] += np.sign(corpus.values) * np.float32(0.5)
    return corpus


def run(corpus: EncodedCorpus, weights: Weights, order: Any, n: int, **settings: Any) -> Doubles:
    totals = np.zeros(20)
    learner = LEARNERS["mira-nbest"] if n > 1 else LEARNERS["mira"]
    # `mira` looks at no n, and neither of them at a rate
    list(learner.run(weights, corpus, np.asarray(order), 0.3, Settings(n=max(n, 2), **settings), totals))
    return totals


def problem(literal: Any, sentence: int, n: int) -> tuple[Doubles, Doubles, Doubles]:
    """D_k and the Hamming loss of each of the n best taggings, and by how much its constraint is broken."""
    paths, table = literal.table(sentence)
    oracle = literal.oracle(sentence)
    found = [path for _, path in literal.top_n(sentence, Settings(n=n))]
    differences = table[paths.index(oracle)] - table[[paths.index(path) for path in found]]
    losses = (np.array(found) != oracle).sum(axis=1).astype(np.float64)
    return differences, losses, losses - differences @ literal.flat


def written_out(literal: Any, sentence: int, n: int) -> None:
    differences, losses, wanted = problem(literal, sentence, n)
    literal.loss += max(0.0, wanted.max())
    literal.candidates += len(losses)
    literal.step(smallest_change(differences @ differences.T, wanted) @ differences)


@pytest.mark.parametrize("count", range(1, 7))
@pytest.mark.parametrize("seed", range(8))
def test_the_dual_equals_that_of_the_best_set_of_active_constraints(count: int, seed: int) -> None:
    rng = np.random.default_rng([seed, count])
    rows = rng.normal(size=(count, count + 2))
    gram, wanted = rows @ rows.T, rng.normal(0.5, 1.0, size=count)
    np.testing.assert_allclose(solved(gram, wanted), smallest_change(gram, wanted), atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_dependent_constraints_give_the_one_smallest_change(seed: int) -> None:
    """More constraints than dimensions, one of them twice, and the oracle among the candidates: the dual is not unique,
    but the change is."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(6, 3)).astype(np.float64)
    rows[4], rows[5] = rows[1], 0
    # whatever fulfils them all shows that they do not contradict each other
    wanted = rows @ rng.normal(size=3) - rng.uniform(0, 0.5, size=6)
    wanted[5] = 0
    gram = rows @ rows.T
    dual = solved(gram, wanted)
    assert (dual >= 0).all()
    assert dual[5] == 0
    np.testing.assert_allclose(dual @ rows, smallest_change(gram, wanted) @ rows, atol=1e-5)


@given(size=st.floats(1e-3, 1e3), wanted=st.floats(-10, 10))
@hypothesis_settings(deadline=None, max_examples=50)
def test_one_constraint_has_a_closed_form(size: float, wanted: float) -> None:
    assert solved(np.array([[size]]), np.array([wanted])) == pytest.approx([max(0.0, wanted / size)], rel=1e-9)


def test_constraints_that_hold_already_change_nothing() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 6))
    assert solved(rows @ rows.T, np.array([-1.0, 0.0, -0.3, -1e-12])).tolist() == [0, 0, 0, 0]


def differences_of(corpus: EncodedCorpus, sentence: int, paths: Ints, features: int, with_edges: bool) -> Doubles:
    """What the kernel says, as dense rows; keys that are met twice would add up to something else than they should."""
    first, last = (int(offset) for offset in corpus.offsets[sentence : sentence + 2])
    oracle = corpus.gold[first:last]
    found, labels = len(paths), 3
    room = mira.difference_room(first, last - first, corpus.samples, oracle, paths, found)
    size = 4
    while size < 2 * room:
        size *= 2
    keys, places = np.empty(room, np.int64), np.empty(room, np.int32)
    entries, slots = np.full((room, found), np.nan), np.zeros(size + 1, np.int32)
    slots[size] = mira.SEED
    count = mira.differences(
        first,
        last - first,
        corpus.samples,
        Weights.zeros(features, labels, transitions=with_edges).parts,
        oracle,
        paths,
        found,
        mira.Differences(slots, keys, places, entries),
    )
    assert sorted(np.flatnonzero(slots[:size]).tolist()) == sorted(places[:count].tolist())
    assert len(set(keys[:count].tolist())) == count
    dense = np.zeros((found, (features + labels) * labels))
    dense[:, keys[:count]] = entries[:count].T
    return np.roll(dense, -labels * labels, axis=1)  # the kernel numbers pairs of labels before features


@given(
    seed=st.integers(0, 10_000),
    values=st.booleans(),
    transitions=st.booleans(),
    n=st.integers(1, 6),
    length=st.integers(1, 4),
)
@hypothesis_settings(deadline=None, max_examples=60)
def test_differences_equal_dense_vectors(
    tiny: Any, seed: int, values: bool, transitions: bool, n: int, length: int
) -> None:
    """Features that several tokens have, or one token twice, real values, candidates twice, the oracle among them."""
    corpus = tiny.corpus(seed, lengths=(2, length), values=values)
    weights = tiny.weights(seed, corpus, transitions=transitions)
    literal = tiny.literal(corpus, weights)
    paths, table = literal.table(1)
    oracle = paths.index(literal.oracle(1))
    chosen = np.random.default_rng(seed).integers(len(paths), size=n)
    chosen[-1] = oracle
    mine = differences_of(corpus, 1, np.array(paths, np.int32)[chosen], len(weights.features), transitions)
    dense = table[oracle] - table[chosen]
    np.testing.assert_allclose(mine, dense, atol=1e-12)
    np.testing.assert_allclose(mine @ mine.T, dense @ dense.T, atol=1e-12)


@given(
    seed=st.integers(0, 10_000),
    labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple),
    values=st.booleans(),
    transitions=st.booleans(),
    n=st.sampled_from([1, 2, 3, 5]),
    search=st.sampled_from(["topn", "astar", "beam"]),
)
@hypothesis_settings(deadline=None, max_examples=60)
def test_a_pass_equals_mira_weight_for_weight(
    tiny: Any,
    seed: int,
    labels: int,
    lengths: tuple[int, ...],
    values: bool,
    transitions: bool,
    n: int,
    search: str,
) -> None:
    corpus = make_corpus(tiny, seed, lengths=lengths, labels=labels, values=values)
    weights, averaged = (tiny.weights(seed, corpus, labels=labels, transitions=transitions) for _ in range(2))
    averaged.prepare(averaged=True, l1=False)
    literal = tiny.literal(corpus, weights)
    order = np.random.default_rng(seed).integers(len(lengths), size=6)
    for sentence in order:
        written_out(literal, sentence, n)
    assume(literal.narrowest > RATHER_SURE)
    totals = run(corpus, weights, order, n, search=search)
    for mine, theirs in zip(weights.true_weights().blocks[:2], (literal.features, literal.edges), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=5e-5)
    assert totals[LOSS] == pytest.approx(literal.loss, rel=1e-4, abs=1e-4)
    assert totals[CANDIDATES] == literal.candidates
    assert totals[TOKENS] == sum(lengths[sentence] for sentence in order)
    # samples that change nothing count in the average too
    run(corpus, averaged, order, n, search=search)
    for mine, theirs in zip(averaged.true_weights().blocks[:2], literal.average(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=5e-5)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_after_an_update_all_constraints_hold_and_no_smaller_change_would_do(
    tiny: Any, seed: int, transitions: bool, values: bool, n: int
) -> None:
    corpus = make_corpus(tiny, seed, values=values)
    weights = tiny.weights(seed, corpus, transitions=transitions)
    for sentence in range(corpus.sentences):
        before = tiny.literal(corpus, weights)
        differences, losses, wanted = problem(before, sentence, n)
        run(corpus, weights, [sentence], n)
        after = tiny.literal(corpus, weights)
        slack = differences @ after.flat - losses
        assert slack.min() >= -1e-4
        # KKT: the change is a sum of the tight constraints' differences, none of them with a factor below 0
        change = after.flat - before.flat
        tight = differences[(np.abs(slack) <= 1e-4) & differences.any(axis=1)]
        assert change.any() == (wanted.max() > 0)
        assert any(is_sum_of(change, tight[list(subset)]) for subset in subsets(len(tight)))


def is_sum_of(change: Doubles, rows: Doubles) -> bool:
    factors = np.linalg.lstsq(rows.T, change, rcond=None)[0] if len(rows) else np.zeros(0)
    return bool((factors >= 0).all() and np.abs(factors @ rows - change).max() <= 1e-5)


def one_token(rows: list[int], gold: int) -> EncodedCorpus:
    return EncodedCorpus(
        np.array([0, 1]), np.array([0, len(rows)]), np.array(rows, np.int32), gold=np.array([gold], np.int32)
    )


def test_one_candidate_moves_by_the_closed_form() -> None:
    corpus = one_token([0, 2, 2], gold=1)
    weights = Weights.zeros(3, 2)
    weights.features[0, 0] = 3.0
    # the margin is -3, the loss 1, and D = (-1, 1), (0, 0), (-2, 2) with |D|^2 = 10
    totals = run(corpus, weights, [0], 1)
    np.testing.assert_allclose(weights.features, np.array([[2.6, 0.4], [0.0, 0.0], [-0.8, 0.8]]), atol=1e-6)
    assert totals[LOSS] == 4
    assert totals[UPDATES] == totals[UPDATED_SAMPLES] == 1
    before = weights.features.copy()
    assert run(corpus, weights, [0], 1)[UPDATED_SAMPLES] == 0
    assert np.array_equal(weights.features, before)


@pytest.mark.parametrize("features", [160, 170, 300, 700, 2000])
def test_a_token_may_have_many_more_features_than_there_is_room_for_at_first(features: int) -> None:
    """Between two small samples, which must find the larger table as clean as the first one."""
    wide = list(range(features))
    small = [0, 1]
    corpus = EncodedCorpus(
        np.array([0, 1, 2, 3]),
        np.cumsum([0, 2, features, 2]),
        np.array([*small, *wide, *small], np.int32),
        gold=np.array([1, 2, 0], np.int32),
    )
    weights = Weights.zeros(features, 3)
    weights.features[:] = np.random.default_rng(0).normal(0, 0.05, size=(features, 3))
    w = weights.features.astype(np.float64)
    for sentence, rows in enumerate((small, wide, small)):
        gold = int(corpus.gold[sentence])
        scores = w[rows].sum(axis=0)
        ranked = np.argsort(-scores)
        # D_k has len(rows) ones at the oracle, and as many -1 at the candidate
        gram = len(rows) * ((ranked != gold)[:, None] & (ranked != gold)[None, :]) * (1.0 + np.eye(3))
        wanted = (ranked != gold) - (scores[gold] - scores[ranked])
        a = smallest_change(gram, wanted)
        assert a.any()
        w[rows, gold] += a.sum()
        w[np.array(rows)[:, None], ranked] -= a
    run(corpus, weights, [0, 1, 2], 3)
    np.testing.assert_allclose(weights.features, w, atol=1e-5)


@pytest.mark.parametrize("n", [2, 4])
def test_constraints_that_contradict_each_other_do_not_blow_the_weights_up(n: int) -> None:
    """Two tokens with the same feature and different oracles, and no transitions: no weights fulfil A A and B B."""
    corpus = EncodedCorpus(
        np.array([0, 2]), np.array([0, 1, 2]), np.zeros(2, np.int32), gold=np.array([0, 1], np.int32)
    )
    weights = Weights.zeros(1, 2, transitions=False)
    totals = run(corpus, weights, [0] * 20, n)
    assert np.abs(weights.features).max() <= 2
    assert np.isfinite(totals).all()


def test_an_oracle_that_wins_by_its_margin_changes_nothing(tiny: Any) -> None:
    corpus = tiny.corpus(1)
    weights = tiny.weights(1, corpus)
    weights.features[3 + np.arange(corpus.tokens), corpus.gold] += 50
    before = weights.true_weights().blocks[:2]
    for n in (1, 5):
        totals = run(corpus, weights, [0, 1, 2, 3], n)
        assert totals[LOSS] == totals[UPDATES] == totals[UPDATED_SAMPLES] == 0
        assert totals[CORRECT] == corpus.tokens
    assert all(np.array_equal(a, b) for a, b in zip(weights.true_weights().blocks[:2], before, strict=True))
    assert weights.state[STEPS] == 8


def test_many_candidates_leave_each_sample_separated_from_all_of_them(tiny: Any) -> None:
    corpus = tiny.corpus(6, lengths=(3,))
    weights = tiny.weights(6, corpus)
    differences, losses, _ = problem(tiny.literal(corpus, weights), 0, 27)
    run(corpus, weights, [0], 27)
    assert (differences @ tiny.literal(corpus, weights).flat - losses).min() >= -1e-3
