"""Minimize a smooth function plus an L1 norm: L-BFGS, and OWL-QN if the L1 norm has a weight.

The function is f(x) + l1 |x|. L-BFGS (Liu and Nocedal 1989) estimates the curvature of f from the last few steps.
OWL-QN (Andrew and Gao 2007) is the same in the orthant that x is in, or that the pseudo-gradient points to from 0: a
step that would change a sign ends at 0. One call of `step` is one iteration.

The line search of Moré and Thuente (1994) says how far to go downhill. A step is good when the value has fallen enough
and the slope is flat enough. Until then the search keeps the best step so far and, once the value or the slope has
turned, a second one on the other side of a minimum; it fits cubic and quadratic curves through both, and tries where
these are lowest.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import copysign, inf, isfinite, sqrt

import numpy as np

from sapo.jit import kernel
from sapo.jit.arrays import Doubles


@kernel
def dot(a: Doubles, b: Doubles) -> float:
    """Return the inner product; four sums, as one would wait for each addition."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = len(a) - len(a) % 4
    for i in range(0, whole, 4):
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
    for i in range(whole, len(a)):
        first += a[i] * b[i]
    return (first + second) + (third + fourth)


@kernel
def add_times(a: Doubles, factor: float, b: Doubles) -> None:
    """a <- a + factor * b"""
    for i in range(len(a)):
        a[i] += factor * b[i]


Function = Callable[[Doubles, Doubles], float]  # x, gradient (out): f(x)

ENOUGH = 1e-4  # of the decrease that the slope promises, which a step must reach
FLATTER = 0.9  # of the slope, at most, that a step may leave
FARTHER = 4.0  # times the last stretch, at most, while no second step is known
NARROWER = 0.66  # of the bracket, at least, must be gone after two steps
LONGEST = 1e20


@dataclass(slots=True)
class Minimizer:
    """Where the search for the minimum is, and what it remembers.

    >>> def bowl(x, gradient):
    ...     gradient[:] = 2 * (x - 3)
    ...     return float(((x - 3) ** 2).sum())
    >>> smooth, sparse = Minimizer(np.zeros(2)), Minimizer(np.zeros(2), l1=10.0)
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
        descent = dot(direction, slope)
        if not descent < 0:
            return False
        length = 1.0 if self.steps else 1.0 / _norm(slope)
        if self.l1:
            return self._search_orthant(function, slope, direction, length)
        search, gradient = LineSearch(self.value, descent, length), np.empty_like(self.x)
        for _ in range(self.trials):
            x = self.x + search.step * direction
            smooth = function(x, gradient)
            if search.is_good(smooth, dot(direction, gradient)):
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
            if self._value(x, smooth) <= before + ENOUGH * dot(slope, x - self.x):
                self._move(x, smooth, gradient)
                return True
            length /= 2
        return False

    def _move(self, x: Doubles, smooth: float, gradient: Doubles) -> None:
        step, change = x - self.x, gradient - self.gradient
        if dot(step, change) > 1e-10 * dot(change, change):  # else the curvature is not that of a minimum
            self.steps, self.changes = [*self.steps, step][-self.memories :], [*self.changes, change][-self.memories :]
        self.x, self.smooth, self.gradient = x, smooth, gradient

    def _direction(self, slope: Doubles) -> Doubles:
        """Return minus the slope times the estimated inverse of the curvature, by the two loops of L-BFGS."""
        direction = -slope
        past = [(step, change, dot(step, change)) for step, change in zip(self.steps, self.changes, strict=True)]
        shares = []
        for step, change, product in reversed(past):
            share = dot(step, direction) / product
            add_times(direction, -share, change)
            shares.append(share)
        if past:
            _, change, product = past[-1]
            direction *= product / dot(change, change)
        for (step, change, product), share in zip(past, reversed(shares), strict=True):
            add_times(direction, share - dot(change, direction) / product, step)
        return direction


def _norm(x: Doubles) -> float:
    return sqrt(dot(x, x))


@dataclass(frozen=True, slots=True)
class Trial:
    """A step, the value there, and the slope along the way."""

    step: float
    value: float
    slope: float


class LineSearch:
    """Ask for a step with `step`, tell what was found there with `is_good`, until that is true.

    >>> search = LineSearch(value=9.0, slope=-6.0, step=10.0)  # of (step - 3) ** 2
    >>> while not search.is_good((search.step - 3) ** 2, 2 * (search.step - 3)):
    ...     pass
    >>> round(search.step, 6)
    3.0
    """

    def __init__(self, value: float, slope: float, step: float) -> None:
        self.step = step
        self._start = Trial(0.0, value, slope)
        self._best = self._other = self._start
        self._bracketed = False
        self._falling = True  # no trial has both fallen enough and a rising slope
        self._width = self._width_before = inf

    def is_good(self, value: float, slope: float) -> bool:
        """Return whether the step is good, given the value and the slope there; otherwise choose another step."""
        start, step = self._start, self.step
        if not (isfinite(value) and isfinite(slope)):  # too far
            self.step = self._best.step + (step - self._best.step) / 2
            return False
        promised = ENOUGH * start.slope
        enough = value <= start.value + step * promised
        if enough and abs(slope) <= FLATTER * -start.slope:
            return True
        if enough and slope >= min(ENOUGH, FLATTER) * start.slope:
            self._falling = False
        tilt = promised if self._falling and not enough and value <= self._best.value else 0.0
        best, other = (self._tilted(trial, -tilt) for trial in (self._best, self._other))
        now = self._tilted(Trial(step, value, slope), -tilt)
        try:
            best, other, step = self._choose(best, other, now)
        except ArithmeticError:  # two trials at the same place, or absurd values of a checkpoint
            step = best.step + (now.step - best.step) / 2
        self._best, self._other = self._tilted(best, tilt), self._tilted(other, tilt)
        self.step = self._narrowed(step)
        return False

    def _tilted(self, trial: Trial, tilt: float) -> Trial:
        return Trial(trial.step, trial.value + trial.step * tilt, trial.slope + tilt) if tilt else trial

    def _narrowed(self, step: float) -> float:
        """Return the step, or the middle of a bracket that became too little narrower."""
        if self._bracketed:
            low, width = self._best.step, abs(self._other.step - self._best.step)
            if width >= NARROWER * self._width_before:
                step = low + (self._other.step - low) / 2
            self._width_before, self._width = self._width, width
        return min(max(step, 0.0), LONGEST)

    def _choose(self, best: Trial, other: Trial, now: Trial) -> tuple[Trial, Trial, float]:
        """Return the best trial, the one across the minimum, and the next step."""
        turned = now.slope * copysign(1.0, best.slope) < 0
        stretch = now.step - best.step
        if now.value > best.value:  # a minimum lies between: nearer to the best, or between both guesses
            self._bracketed = True
            cubic = best.step + _cubic(best, now) * stretch
            quadratic = best.step + best.slope / ((best.value - now.value) / stretch + best.slope) / 2 * stretch
            closer = abs(cubic - best.step) < abs(quadratic - best.step)
            return best, now, cubic if closer else cubic + (quadratic - cubic) / 2
        secant = now.step - now.slope / (now.slope - best.slope) * stretch if now.slope != best.slope else inf
        if turned:  # a minimum lies between: take the guess that is farther from here
            self._bracketed = True
            cubic = now.step - _cubic(now, best) * stretch
            return now, best, cubic if abs(cubic - now.step) > abs(secant - now.step) else secant
        farthest = other.step if self._bracketed else min(now.step + FARTHER * stretch, LONGEST)
        if abs(now.slope) < abs(best.slope):  # it becomes flatter: the minimum lies ahead
            ahead = -_cubic(now, best, ahead=True) * stretch
            cubic = now.step + ahead if ahead * stretch > 0 else farthest
            if self._bracketed:
                step = cubic if abs(cubic - now.step) < abs(secant - now.step) else secant
                limit = now.step + NARROWER * (other.step - now.step)
                step = min(limit, step) if now.step > best.step else max(limit, step)
            else:
                step = cubic if abs(cubic - now.step) > abs(secant - now.step) else secant
                step = min(max(step, best.step), farthest)
            return now, other, step
        if self._bracketed:
            return now, other, now.step + _cubic(now, other) * (other.step - now.step)
        return now, other, farthest


def _cubic(a: Trial, b: Trial, *, ahead: bool = False) -> float:
    """Return where the cubic through a and b is lowest: 0 at a, 1 at b; `ahead` of a, seen from b, if it is there."""
    theta = 3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope
    size = max(abs(theta), abs(a.slope), abs(b.slope))
    square = (theta / size) ** 2 - (a.slope / size) * (b.slope / size)
    gamma = copysign(size * sqrt(max(0.0, square)), b.step - a.step)
    if ahead:
        if gamma == 0:
            return inf
        return ((gamma - a.slope) + theta) / ((gamma + (b.slope - a.slope)) + gamma)
    return ((gamma - a.slope) + theta) / (((gamma - a.slope) + gamma) + b.slope)
