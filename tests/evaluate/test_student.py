"""The p value of t equals what scipy gives, and the formulas where there are any."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.evaluate.student import incomplete_beta, two_sided_p


@pytest.mark.parametrize(
    ("t", "degrees", "expected"),
    [  # 2 * scipy.stats.t.sf(t, degrees), scipy 1.17.1
        (0.5, 1, 0.7048327646991335),
        (1.3, 4, 0.2634515964712241),
        (2.0, 9, 0.07655282377070101),
        (2.5, 30, 0.01811564906806669),
        (3.3, 199, 0.0011456617609507359),
        (1.1, 2011, 0.2714637800742864),
        (6.0, 50, 2.1889394850799978e-07),
        (0.01, 3999, 0.9920217861826279),
    ],
)
def test_p_equals_that_of_scipy(t: float, degrees: int, expected: float) -> None:
    assert two_sided_p(t, degrees) == pytest.approx(expected, rel=1e-9)
    assert two_sided_p(-t, degrees) == two_sided_p(t, degrees)


@given(st.floats(0, 1e4))
def test_p_equals_the_formulas_for_one_and_two_degrees(t: float) -> None:
    assert two_sided_p(t, 1) == pytest.approx(1 - 2 / math.pi * math.atan(t), abs=1e-12)
    assert two_sided_p(t, 2) == pytest.approx(1 - t / math.sqrt(2 + t * t), abs=1e-12)


@pytest.mark.parametrize("t", [0.3, 1.0, 1.96, 4.0])
def test_with_many_degrees_p_is_that_of_the_normal_distribution(t: float) -> None:
    assert two_sided_p(t, 10**7) == pytest.approx(math.erfc(t / math.sqrt(2)), rel=1e-5)


@given(st.floats(0, 50), st.floats(0, 50), st.integers(1, 5000))
def test_p_falls_as_t_rises(t: float, more: float, degrees: int) -> None:
    assert 0 <= two_sided_p(t + more, degrees) <= two_sided_p(t, degrees) + 1e-12
    assert two_sided_p(t, degrees) <= 1


@given(st.integers(1, 30), st.integers(0, 30), st.floats(0.01, 0.99))
def test_the_beta_function_sums_the_binomial_distribution(k: int, rest: int, x: float) -> None:
    # P(at least k of n) = I_x(k, n - k + 1)
    n = k + rest
    expected = sum(math.comb(n, i) * x**i * (1 - x) ** (n - i) for i in range(k, n + 1))
    assert incomplete_beta(k, n - k + 1, x, 1 - x) == pytest.approx(expected, abs=1e-12)


def test_the_beta_function_runs_from_0_to_1() -> None:
    assert incomplete_beta(2, 3, 0.0, 1.0) == 0
    assert incomplete_beta(2, 3, 1.0, 0.0) == 1
