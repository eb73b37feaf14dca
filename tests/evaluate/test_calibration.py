"""Reliability against a plain twin, and on answers whose numbers are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.evaluate.calibration import reliability, reliability_table

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40)


def twin(answers: list[tuple[float, bool]], bins: int) -> tuple[float, float]:
    """ECE and Brier score, bin by bin."""
    if not answers:
        return 0.0, 0.0
    error = 0.0
    for i in range(bins):
        here = [(p, right) for p, right in answers if i / bins < p <= (i + 1) / bins or (i == 0 and p == 0)]
        if here:
            gap = sum(p for p, _ in here) / len(here) - sum(right for _, right in here) / len(here)
            error += len(here) / len(answers) * abs(gap)
    return error, sum((p - right) ** 2 for p, right in answers) / len(answers)


@given(ANSWERS, st.sampled_from([1, 2, 4, 8]))  # borders that are exact
@settings(deadline=None)
def test_ece_and_brier_are_those_of_the_twin(answers: list[tuple[float, bool]], bins: int) -> None:
    found = reliability(np.array([p for p, _ in answers]), np.array([r for _, r in answers], np.bool_), bins=bins)
    assert (found.ece, found.brier) == pytest.approx(twin(answers, bins), abs=1e-12)
    assert sum(one.count for one in found.bins) == found.count == len(answers)
    assert all(one.low <= one.confidence <= one.high + 1e-12 for one in found.bins)


def test_honest_answers_have_an_error_near_0_and_boastful_ones_what_they_boast() -> None:
    rng = np.random.default_rng(0)
    chance = rng.uniform(size=200_000)
    right = rng.uniform(size=len(chance)) < chance
    honest = reliability(chance, right)
    assert honest.ece < 0.005
    assert honest.brier == pytest.approx(1 / 6, abs=0.002)  # the mean of p (1 - p)
    boastful = reliability(np.ones(len(chance)), right)
    assert boastful.ece == pytest.approx(1 - right.mean())
    assert boastful.brier == pytest.approx(1 - right.mean())


def test_without_answers_all_is_0() -> None:
    found = reliability(np.array([]), np.array([], np.bool_))
    assert (found.count, found.ece, found.brier, found.bins) == (0, 0.0, 0.0, ())
    assert "spans" in reliability_table({"spans": found})


@pytest.mark.parametrize(
    ("confidence", "correct", "bins", "complaint"),
    [
        ([0.5], [True, False], 5, "1 confidences but 2 answers"),
        ([1.5], [True], 5, "lie between 0 and 1, found 1.5 to 1.5"),
        ([float("nan")], [True], 5, "lie between 0 and 1"),
        ([0.5], [True], 0, "bins must be at least 1, not 0"),
    ],
)
def test_mistakes_are_told(confidence: list[float], correct: list[bool], bins: int, complaint: str) -> None:
    with pytest.raises(SapoError, match=complaint):
        reliability(np.array(confidence), np.array(correct), bins=bins)
