"""The randomization test agrees with plain enumeration and does not depend on which system comes first."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.evaluate.significance import SentenceCounts, holm, randomization_test

Rows = list[tuple[int, int, int, int, int]]  # a sentence: gold, found by A, correct, found by B, correct


def counts(rows: Rows) -> tuple[SentenceCounts, SentenceCounts]:
    gold, found_a, correct_a, found_b, correct_b = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return SentenceCounts(gold, found_a, correct_a), SentenceCounts(gold, found_b, correct_b)


@st.composite
def sentences(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    gold, found_a, found_b = (draw(st.integers(0, 4)) for _ in range(3))
    correct_a, correct_b = (draw(st.integers(0, min(gold, found))) for found in (found_a, found_b))
    return gold, found_a, correct_a, found_b, correct_b


def enumerated(rows: Rows) -> tuple[float, float]:
    """The difference and the p value, by really swapping the outputs of every set of sentences."""

    def f1(gold: int, found: int, correct: int) -> float:
        return 2 * correct / (gold + found) if gold + found else 0.0

    def difference(swaps: tuple[bool, ...]) -> float:
        totals = [0] * 5
        for row, swap in zip(rows, swaps, strict=True):
            gold, *outputs = row
            ordered = [gold, *outputs[2:], *outputs[:2]] if swap else row
            totals = [total + value for total, value in zip(totals, ordered, strict=True)]
        return f1(totals[0], totals[1], totals[2]) - f1(totals[0], totals[3], totals[4])

    observed = difference((False,) * len(rows))
    all_swaps = list(itertools.product((False, True), repeat=len(rows)))
    return observed, sum(abs(difference(swaps)) >= abs(observed) - 1e-12 for swaps in all_swaps) / len(all_swaps)


def random_rows(rng: np.random.Generator, size: int) -> Rows:
    rows = []
    for _ in range(size):
        gold, found_a, found_b = rng.integers(0, 6, 3).tolist()
        correct_a = int(rng.integers(0, min(gold, found_a) + 1))
        correct_b = int(rng.integers(0, min(gold, found_b) + 1))
        rows.append((gold, found_a, correct_a, found_b, correct_b))
    return rows


@given(st.lists(sentences(), max_size=8))
def test_the_exact_test_equals_enumeration(rows: Rows) -> None:
    result = randomization_test(*counts(rows))
    difference, p = enumerated(rows)
    assert result.exact
    assert result.difference == pytest.approx(difference, abs=1e-12)
    assert result.p == pytest.approx(p)


@pytest.mark.parametrize("seed", range(6))
def test_the_random_test_is_close_to_enumeration(seed: int) -> None:
    rows = random_rows(np.random.default_rng(seed), 10)
    result = randomization_test(*counts(rows), rounds=20_000, seed=seed, exact=0)
    assert (result.exact, result.rounds) == (False, 20_000)
    assert result.p == pytest.approx(enumerated(rows)[1], abs=0.02)  # more than five standard errors


def test_twelve_sentences_that_differ_are_tested_exactly() -> None:
    rows = [(2 * i, 2 * i, i, 2 * i, 0) for i in range(1, 13)]
    rows += [(3, 2, 1, 2, 1)] * 50
    result = randomization_test(*counts(rows))
    assert (result.exact, result.rounds) == (True, 2**12)
    assert result.p == 2 / 2**12  # A is better in every one: only all swaps or none give as much
    assert not randomization_test(*counts([*rows, (40, 40, 13, 40, 0)])).exact


def test_many_sentences_with_the_same_difference_are_tested_exactly() -> None:
    # 60 against 40 of 100: the sign test, two-sided
    rows = [(1, 1, 1, 1, 0)] * 60 + [(1, 1, 0, 1, 1)] * 40
    result = randomization_test(*counts(rows))
    assert result.exact
    assert result.p == pytest.approx(2 * sum(math.comb(100, k) for k in range(60, 101)) / 2**100)


@given(st.lists(sentences(), min_size=1, max_size=20), st.integers(0, 5), st.sampled_from([0, 1 << 12]))
def test_which_system_comes_first_makes_no_difference(rows: Rows, seed: int, exact: int) -> None:
    a, b = counts(rows)
    forth = randomization_test(a, b, rounds=50, seed=seed, exact=exact)
    back = randomization_test(b, a, rounds=50, seed=seed, exact=exact)
    assert back.p == forth.p
    assert back.difference == -forth.difference
    assert 0 < forth.p <= 1


@given(st.lists(sentences(), max_size=20), st.sampled_from([0, 1 << 12]))
def test_equal_systems_have_a_p_of_1(rows: Rows, exact: int) -> None:
    a, _ = counts(rows)
    result = randomization_test(a, a, rounds=20, exact=exact)
    assert (result.difference, result.p) == (0, 1)


def test_the_seed_decides_and_the_size_of_the_pieces_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = counts(random_rows(np.random.default_rng(3), 300))
    whole = randomization_test(a, b, rounds=500, seed=1)
    assert not whole.exact
    assert whole == randomization_test(a, b, rounds=500, seed=1)
    assert whole.p != randomization_test(a, b, rounds=500, seed=2).p
    monkeypatch.setattr("sapo.evaluate.significance._CELLS", 1000)
    assert randomization_test(a, b, rounds=500, seed=1) == whole


def test_the_p_of_systems_that_are_far_apart_is_the_smallest_there_is() -> None:
    rows = [(5 + i % 7, 5 + i % 7, 5 + i % 7, i % 5, 0) for i in range(400)]
    assert randomization_test(*counts(rows), rounds=999).p == 1 / 1000


def test_p_values_of_equally_good_systems_are_spread_evenly() -> None:
    rng = np.random.default_rng(8)
    found = np.array([randomization_test(*counts(random_rows(rng, 60)), rounds=199, seed=i).p for i in range(300)])
    for level in (0.1, 0.3, 0.5, 0.8):
        assert np.mean(found <= level) == pytest.approx(level, abs=0.1)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_rejects_what_its_steps_reject(p_values: list[float]) -> None:
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        # from the smallest p on, compare with level / m, level / (m - 1), ...; stop at the first that is larger
        rejected: set[int] = set()
        for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if p_values[i] * (len(p_values) - rank) > level:
                break
            rejected.add(i)
        assert {i for i, p in enumerate(corrected) if p <= level} == rejected


def test_what_does_not_fit_is_told() -> None:
    a, b = counts([(1, 1, 1, 1, 0), (2, 2, 1, 2, 2)])
    short, _ = counts([(1, 1, 1, 1, 0)])
    other_gold, _ = counts([(2, 1, 1, 1, 0), (2, 2, 1, 2, 2)])
    with pytest.raises(SapoError, match="counts of the same sentences"):
        randomization_test(a, short)
    with pytest.raises(SapoError, match="the same counts of gold"):
        randomization_test(a, other_gold)
    with pytest.raises(SapoError, match="rounds must be at least 1, found 0"):
        randomization_test(a, b, rounds=0)
    with pytest.raises(SapoError, match="seed must be 0 or more, found -1"):
        randomization_test(a, b, seed=-1)


def test_who_watches_is_told_of_all_rounds_and_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(1, 30, 300)
    a, b = (SentenceCounts(gold, gold, rng.integers(0, gold + 1)) for _ in range(2))
    told: list[int] = []
    assert randomization_test(a, b, rounds=9_000, watch=told.append) == randomization_test(a, b, rounds=9_000)
    assert len(told) > 1
    assert told == sorted(set(told))
    assert told[-1] == 9_000
