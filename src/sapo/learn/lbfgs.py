"""Minimise a smooth function plus an L1 norm: L-BFGS, and OWL-QN where the L1 norm has a weight.

The function is f(x) + l1 |x|. L-BFGS (Liu and Nocedal 1989) estimates the curvature of f from the last few steps.
OWL-QN (Andrew and Gao 2007) is the same in the orthant that x is in, or that the pseudo-gradient points to from 0: a
step that would change a sign ends at 0. One call of `step` is one iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from sapo.kernels import vectors
from sapo.kernels.types import Doubles
from sapo.learn.line_search import ENOUGH, LineSearch

Function = Callable[[Doubles, Doubles], float]  # x, gradient (out): f(x)


@dataclass(slots=True)
class Minimiser:
    """Where the search for the minimum is, and what it remembers.

    >>> def bowl(x, gradient):
    ...     gradient[:] = 2 * (x - 3)
    ...     return float(((x - 3) ** 2).sum())
    >>> smooth, sparse = Minimiser(np.zeros(2)), Minimiser(np.zeros(2), l1=10.0)
    >>> while smooth.step(bowl) or sparse.step(bowl):
    ...     pass
    >>> smooth.x.round(6).tolist(), sparse.x.tolist()
    ([3.0, 3.0], [0.0, 0.0])
    """

    x: Doubles
    l1: float = 0.0
    memories: int = 6  # steps to remember
    trials: int = 20  # of the length of a step, at most
    epsilon: float = 1e-5  # stop when |gradient| is less than this times max(1, |x|) (2-norms)
    smooth: float = np.nan  # f(x)
    gradient: Doubles = field(default_factory=lambda: np.empty(0))  # of f at x; empty before the first step
    steps: list[Doubles] = field(default_factory=list)
    changes: list[Doubles] = field(default_factory=list)  # of the gradient, by each step

    @property
    def value(self) -> float:
        """f(x) + l1 |x|"""
        return self._value(self.x, self.smooth)

    def _value(self, x: Doubles, smooth: float) -> float:
        return smooth + self.l1 * float(np.abs(x).sum()) if self.l1 else smooth

    def begin(self, function: Function) -> None:
        """Evaluate the function at the first x, if that has not been done."""
        if not len(self.gradient):
            gradient = np.empty_like(self.x)
            self.smooth = function(self.x, gradient)
            self.gradient = gradient

    def step(self, function: Function) -> bool:
        """Make one iteration; return whether x moved. If not, it is as good as a minimum."""
        self.begin(function)
        slope = self.slope()
        if self.is_flat(slope):
            return False
        if self._search(function, slope):
            return True
        if not self.steps:
            return False
        self.steps, self.changes = [], []  # what is remembered may mislead: try the steepest way
        return self._search(function, slope)

    def is_flat(self, slope: Doubles) -> bool:
        """Return whether x is as good as a minimum."""
        return _norm(slope) <= self.epsilon * max(1.0, _norm(self.x))

    def slope(self) -> Doubles:
        """Return the gradient; with L1 the pseudo-gradient, whose negative points downhill if any way leads down."""
        if not self.l1:
            return self.gradient
        g, l1 = self.gradient, self.l1
        # at x = 0 the L1 norm has all slopes from -l1 to l1: what is left of the gradient is what exceeds them
        at_zero = g - np.clip(g, -l1, l1)
        return np.where(self.x == 0, at_zero, g + l1 * np.sign(self.x))

    def _search(self, function: Function, slope: Doubles) -> bool:
        """Go downhill as far as is worth it; return whether that led anywhere."""
        direction = self._direction(slope)
        if self.l1:
            direction[direction * slope >= 0] = 0.0  # only ways that lead down stay in the orthant
        descent = vectors.dot(direction, slope)
        if not descent < 0:
            return False
        length = 1.0 if self.steps else 1.0 / _norm(slope)
        if self.l1:
            return self._search_orthant(function, slope, direction, length)
        search, gradient = LineSearch(self.value, descent, length), np.empty_like(self.x)
        for _ in range(self.trials):
            x = self.x + search.step * direction
            smooth = function(x, gradient)
            if search.is_good(smooth, vectors.dot(direction, gradient)):
                self._move(x, smooth, gradient)
                return True
        return False

    def _search_orthant(self, function: Function, slope: Doubles, direction: Doubles, length: float) -> bool:
        """The same with L1, where the way has corners: halve the step until the value has fallen enough."""
        orthant = np.where(self.x == 0, -slope, self.x)
        before, gradient = self.value, np.empty_like(self.x)
        for _ in range(self.trials):
            x = self.x + length * direction
            x[x * orthant <= 0] = 0.0
            smooth = function(x, gradient)
            if self._value(x, smooth) <= before + ENOUGH * vectors.dot(slope, x - self.x):
                self._move(x, smooth, gradient)
                return True
            length /= 2
        return False

    def _move(self, x: Doubles, smooth: float, gradient: Doubles) -> None:
        step, change = x - self.x, gradient - self.gradient
        if vectors.dot(step, change) > 1e-10 * vectors.dot(
            change, change
        ):  # else the curvature is not that of a minimum
            self.steps, self.changes = [*self.steps, step][-self.memories :], [*self.changes, change][-self.memories :]
        self.x, self.smooth, self.gradient = x, smooth, gradient

    def _direction(self, slope: Doubles) -> Doubles:
        """Return minus the slope times the estimated inverse of the curvature, by the two loops of L-BFGS."""
        direction = -slope
        past = [
            (step, change, vectors.dot(step, change)) for step, change in zip(self.steps, self.changes, strict=True)
        ]
        shares = []
        for step, change, product in reversed(past):
            share = vectors.dot(step, direction) / product
            vectors.add_times(direction, -share, change)
            shares.append(share)
        if past:
            _, change, product = past[-1]
            direction *= product / vectors.dot(change, change)
        for (step, change, product), share in zip(past, reversed(shares), strict=True):
            vectors.add_times(direction, share - vectors.dot(change, direction) / product, step)
        return direction


def _norm(x: Doubles) -> float:
    return sqrt(vectors.dot(x, x))
