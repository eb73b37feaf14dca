"""How far to go downhill: the line search of Moré and Thuente (1994).

A step is good when the value has fallen enough and the slope is flat enough. Until then the search keeps the best step
so far and, once the value or the slope has turned, a second one on the other side of a minimum; it fits cubic and
quadratic curves through both, and tries where these are lowest.
"""

from dataclasses import dataclass
from math import copysign, inf, isfinite, sqrt

ENOUGH = 1e-4  # of the decrease that the slope promises, which a step must reach
FLATTER = 0.9  # of the slope, at most, that a step may leave
FARTHER = 4.0  # times the last stretch, at most, while no second step is known
NARROWER = 0.66  # of the bracket, at least, must be gone after two steps
LONGEST = 1e20


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
