"""The minimizer: against scipy on smooth functions; with L1 against the conditions of an optimum, and a slow method."""

from typing import Any

import numpy as np
import pytest

from sapo.learn.lbfgs import Function, LineSearch, Minimizer


def logistic(seed: int, *, samples: int = 60, size: int = 25, l2: float = 0.1) -> Function:
    """The loss of a logistic regression on random data, with L2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, size)) * np.exp(rng.normal(size=size))  # scales differ, as those of features do
    y = np.where(X @ (rng.normal(size=size) * (rng.random(size) < 0.3)) + rng.normal(size=samples) > 0, 1.0, -1.0)

    def function(x: Any, gradient: Any) -> float:
        margin = y * (X @ x)
        gradient[:] = -X.T @ (y / (1 + np.exp(margin))) + l2 * x
        return float(np.logaddexp(0, -margin).sum() + l2 / 2 * x @ x)

    return function


def minimized(function: Function, size: int, **options: Any) -> Minimizer:
    minimizer = Minimizer(np.zeros(size), **{"epsilon": 1e-8, **options})
    for _ in range(2000):
        if not minimizer.step(function):
            break
    return minimizer


def by_scipy(function: Function, size: int) -> Any:
    optimize = pytest.importorskip("scipy.optimize")

    def with_gradient(x: Any) -> tuple[float, Any]:
        gradient = np.empty_like(x)
        return function(x, gradient), gradient

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-14, "gtol": 1e-9}
    return optimize.minimize(with_gradient, np.zeros(size), jac=True, method="L-BFGS-B", options=options)


@pytest.mark.parametrize("seed", range(5))
def test_a_smooth_convex_function_has_the_minimum_that_scipy_finds(seed: int) -> None:
    function = logistic(seed)
    theirs = by_scipy(function, 25)
    ours = minimized(function, 25)
    assert ours.value == pytest.approx(theirs.fun, rel=1e-9)
    assert ours.x == pytest.approx(theirs.x, abs=1e-4)


def test_the_valley_of_rosenbrock_is_followed_to_its_end() -> None:
    def function(x: Any, gradient: Any) -> float:
        a, b = 1 - x[:-1], x[1:] - x[:-1] ** 2
        gradient[:] = 0
        gradient[:-1] += -2 * a - 400 * x[:-1] * b
        gradient[1:] += 200 * b
        return float((a**2 + 100 * b**2).sum())

    assert minimized(function, 6).x == pytest.approx(np.ones(6), abs=1e-5)


@pytest.mark.parametrize("l1", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_with_l1_the_conditions_of_an_optimum_hold(seed: int, l1: float) -> None:
    function = logistic(seed)
    found = minimized(function, 25, l1=l1)
    gradient = np.empty(25)
    function(found.x, gradient)
    is_zero = found.x == 0
    assert (np.abs(gradient[is_zero]) <= l1 + 1e-5).all()
    assert gradient[~is_zero] == pytest.approx(-l1 * np.sign(found.x[~is_zero]), abs=1e-4)
    assert is_zero.any()


@pytest.mark.parametrize("seed", range(3))
def test_with_l1_the_value_is_that_of_slow_proximal_steps(seed: int) -> None:
    function, l1, rate = logistic(seed, size=6), 2.0, 0.002
    x, gradient = np.zeros(6), np.empty(6)
    for _ in range(20000):
        function(x, gradient)
        x = x - rate * gradient
        x = np.sign(x) * np.maximum(0, np.abs(x) - rate * l1)
    slow = function(x, gradient) + l1 * np.abs(x).sum()
    found = minimized(function, 6, l1=l1)
    assert found.value == pytest.approx(slow, rel=1e-7)
    assert ((found.x == 0) == (x == 0)).all()


def test_a_large_l1_leaves_nothing_and_needs_no_step() -> None:
    minimizer = Minimizer(np.zeros(25), l1=1e6)
    assert not minimizer.step(logistic(0))
    assert not minimizer.x.any()


def test_the_value_falls_with_every_step() -> None:
    minimizer, function = Minimizer(np.zeros(25), l1=1.0), logistic(1)
    values = []
    while minimizer.step(function):
        values.append(minimizer.value)
    assert len(values) > 3
    assert (np.diff(values) < 0).all()


def test_a_function_that_is_not_finite_far_away_is_minimized_near_by() -> None:
    def function(x: Any, gradient: Any) -> float:
        if np.abs(x).max() > 2:
            gradient[:] = np.nan
            return np.nan
        gradient[:] = 2 * (x - 1.5) * 100
        return float(((x - 1.5) ** 2).sum() * 100)

    assert minimized(function, 3).x == pytest.approx(np.full(3, 1.5), abs=1e-6)


@pytest.mark.parametrize("step", [1e-3, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("seed", range(6))
def test_a_line_search_ends_where_the_value_fell_and_the_way_is_flat(seed: int, step: float) -> None:
    a, b, c = np.random.default_rng(seed).random(3) + 0.1

    def value(t: float) -> tuple[float, float]:
        """A function with several minima that falls at 0, and its slope."""
        return a * t * t / 50 - b * t + c * np.cos(t), a * t / 25 - b - c * np.sin(t)

    start, slope = value(0.0)
    search = LineSearch(start, slope, step)
    for _ in range(40):
        found, steepness = value(search.step)
        if search.is_good(found, steepness):
            break
    assert found <= start + 1e-4 * search.step * slope
    assert abs(steepness) <= 0.9 * abs(slope)
