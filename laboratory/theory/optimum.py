"""A convex function in, its minimum out: L-BFGS (Nocedal 1980) with a line search by halving."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sapo.errors import SapoError
from sapo.kernels.types import Doubles

MEMORY = 20  # pairs of steps and changes of the gradient
ENOUGH = 1e-4  # of the decrease that the slope promises


@dataclass(frozen=True, slots=True)
class Optimum:
    w: Doubles
    value: float
    gradient_norm: float
    iterations: int


def minimise(
    function: Callable[[Doubles], tuple[float, Doubles]],
    start: Doubles,
    *,
    gradient_norm: float = 1e-7,
    iterations: int = 2000,
) -> Optimum:
    """Go on until the gradient is shorter than `gradient_norm`.

    >>> found = minimise(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2))
    >>> found.w.round(6).tolist(), found.iterations <= 3
    ([3.0, 3.0], True)
    """
    w, (value, gradient) = start, function(start)
    memory: list[tuple[Doubles, Doubles]] = []
    for done in range(iterations):
        norm = float(np.linalg.norm(gradient))
        if norm < gradient_norm:
            return Optimum(w, value, norm, done)
        direction = _direction(gradient, memory)
        slope = float(direction @ gradient)
        step = 1.0 if memory else min(1.0, 1 / norm)
        while True:
            there = w + step * direction
            value_there, gradient_there = function(there)
            # the last digits of f are noise: where the decrease is below them, the slope decides
            if value_there <= value + ENOUGH * step * slope + 1e-13 * abs(value):
                break
            step /= 2
            if step < 1e-12:
                return Optimum(w, value, norm, done)
        change = gradient_there - gradient
        if change @ (there - w) > 0:
            memory = [*memory, (there - w, change)][-MEMORY:]
        w, value, gradient = there, value_there, gradient_there
    raise SapoError(f"the optimum was not found in {iterations} steps; raise the strength")


def _direction(gradient: Doubles, memory: list[tuple[Doubles, Doubles]]) -> Doubles:
    """Minus the inverse Hessian, as far as it is known, times the gradient (the two loops)."""
    direction = -gradient
    shares = []
    for step, change in reversed(memory):
        share = (step @ direction) / (step @ change)
        direction = direction - share * change
        shares.append(share)
    if memory:
        step, change = memory[-1]
        direction = direction * ((step @ change) / (change @ change))
    for (step, change), share in zip(memory, reversed(shares), strict=True):
        direction = direction + step * (share - (change @ direction) / (step @ change))
    return direction


def largest_curvature(
    function: Callable[[Doubles], tuple[float, Doubles]], w: Doubles, *, rounds: int = 30, seed: int = 0
) -> float:
    """The largest eigenvalue of the Hessian at w, by power iteration on differences of the gradient.

    >>> scale = np.array([1.0, 5.0])
    >>> round(largest_curvature(lambda w: (float(w @ (scale * w)) / 2, scale * w), np.zeros(2)), 6)
    5.0
    """
    direction = np.random.default_rng(seed).normal(size=len(w))
    found = 0.0
    for _ in range(rounds):
        direction /= np.linalg.norm(direction)
        ahead, behind = function(w + 1e-4 * direction)[1], function(w - 1e-4 * direction)[1]
        direction = (ahead - behind) / 2e-4
        found = float(np.linalg.norm(direction))
    return found
