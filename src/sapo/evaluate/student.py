"""A t value and its degrees of freedom in, the two-sided p value of Student's distribution out.

A few lines of our own: it is the only thing we would need scipy for.
"""

import math

_TINY = 1e-300  # stands in for 0 where the fraction would divide by it
_CLOSE = 1e-15


def two_sided_p(t: float, degrees: int) -> float:
    """Return the probability that chance alone gives a value as far from 0 as t, or farther.

    >>> round(two_sided_p(2.228, 10), 4), two_sided_p(0.0, 10), two_sided_p(math.inf, 10)
    (0.05, 1.0, 0.0)
    """
    if math.isinf(t):
        return 0.0
    # p = I_x(degrees / 2, 1 / 2) with x = degrees / (degrees + t^2); 1 - x is kept apart, or it would lose its digits
    square = t * t
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square))


def incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), with rest = 1 - x.

    >>> round(incomplete_beta(2, 3, 0.25, 0.75), 6)  # 1 - P(at most 1 of 4 with chance 1/4)
    0.261719
    """
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    # the fraction converges fast below the mean; above it I_x(a, b) = 1 - I_rest(b, a) is used
    if x < (a + 1) / (a + b + 2):
        return scale * _fraction(a, b, x) / a
    return 1 - scale * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))), the continued fraction of I_x(a, b), by Lentz's method."""
    upper, lower = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = lower
    # d[2m] = m (b - m) x / ((a + 2m - 1)(a + 2m));  d[2m + 1] = -(a + m)(a + b + m) x / ((a + 2m)(a + 2m + 1))
    for m in range(1, 100 + 10 * math.isqrt(math.ceil(a + b))):  # it needs some sqrt(max(a, b)) rounds
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for d in (even, odd):
            lower = 1 / _not_zero(1 + d * lower)
            upper = _not_zero(1 + d / upper)
            step = lower * upper
            value *= step
        if abs(step - 1) < _CLOSE:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
