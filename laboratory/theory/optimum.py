"""Find the minimum of a convex function, and its curvature there."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.sparse.linalg import LinearOperator, eigsh

from sapo.errors import SapoError
from sapo.jit.arrays import Doubles

Function = Callable[[Doubles], tuple[float, Doubles]]  # w in, f(w) and its gradient out
MEMORY = 20  # pairs of steps and changes of the gradient
STEP = 1e-4  # between two gradients whose difference is a product with the Hessian


@dataclass(frozen=True, slots=True)
class Optimum:
    w: Doubles
    value: float
    gradient_norm: float
    iterations: int


def minimize(function: Function, start: Doubles, *, gradient_norm: float = 1e-7, iterations: int = 2000) -> Optimum:
    """Run L-BFGS until the gradient is shorter than `gradient_norm`, or as short as the digits of f allow.

    >>> found = minimize(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2))
    >>> found.w.round(6).tolist(), found.iterations <= 3
    ([3.0, 3.0], True)
    """
    found = optimize.minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        # scipy looks at the largest entry of the gradient, not at its length
        options={
            "gtol": gradient_norm / np.sqrt(len(start)),
            "ftol": 0.0,
            "maxcor": MEMORY,
            "maxiter": iterations,
            "maxfun": 10 * iterations,
        },
    )
    if found.nit >= iterations:
        raise SapoError(f"the optimum was not found in {iterations} steps; raise the strength")
    return Optimum(found.x, float(found.fun), float(np.linalg.norm(found.jac)), int(found.nit))


def largest_curvature(function: Function, w: Doubles) -> float:
    """Return the largest eigenvalue of the Hessian at w, from differences of the gradient.

    >>> scale = np.array([1.0, 5.0, 2.0])
    >>> round(largest_curvature(lambda w: (float(w @ (scale * w)) / 2, scale * w), np.zeros(3)), 6)
    5.0
    """

    def product(direction: Doubles) -> Doubles:
        step = STEP * np.ravel(direction)
        return (function(w + step)[1] - function(w - step)[1]) / (2 * STEP)

    hessian = LinearOperator((len(w), len(w)), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=len(w))  # the same digits on every call
    return float(eigsh(hessian, k=1, which="LA", v0=start, tol=1e-8, return_eigenvectors=False)[0])
