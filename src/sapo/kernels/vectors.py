"""Arithmetic of long vectors, in one thread and one order: the same digits on every machine, whatever its BLAS does."""

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles


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
