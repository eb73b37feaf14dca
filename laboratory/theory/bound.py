"""Compute the bound of Theorem 1 from its constants, in the paper's letters.

The theorem compares ∇f(w) with s(w) = E_z[s_z(w)]. As f is a sum over the training set, E_z[∇f_z(w)] is ∇f(w) / |S|; so
f stands here for the mean over the set, f / |S|, and c, q, τ and ε belong to that.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    c: float  # modulus of strong convexity, (eq30)
    q: float  # Lipschitz constant of the gradient, (eq31)
    kappa: float  # bound of ‖s_z(w)‖, (eq32)
    tau: float  # bound of [∇f(w) - s(w)]ᵀ(w - w*), (eq7)
    a_0: float  # ‖w_0 - w*‖²

    def a_infinity(self, gamma: float) -> float:
        """Return the squared distance from w* that the recursion ends with: (2τ + γκ²) / c.

        >>> Constants(c=0.5, q=2.0, kappa=2.0, tau=0.25, a_0=9.0).a_infinity(0.125)
        2.0
        """
        return (2 * self.tau + gamma * self.kappa**2) / self.c

    def excess(self, gamma: float, t: int) -> float:
        """Return the bound of E[f(w_t) - f(w*)] after t updates: q/2 times the bound of E‖w_t - w*‖².

        >>> Constants(c=0.5, q=2.0, kappa=2.0, tau=0.25, a_0=10.0).excess(1.0, 2)  # 9 / 1: (1 - 0.5)² (10 - 9) + 9
        9.25
        """
        floor = self.a_infinity(gamma)
        return self.q / 2 * ((1 - self.c * gamma) ** t * (self.a_0 - floor) + floor)

    @property
    def smallest_epsilon(self) -> float:
        """The theorem asks for τ <= cε / 2q, so no ε below 2qτ / c can be promised."""
        return max(0.0, 2 * self.q * self.tau / self.c)

    def rate(self, epsilon: float, beta: float = 1.0) -> float:
        """Return γ = (cε - 2τq) / (βqκ²); it is not positive if n is too small for this ε."""
        return (self.c * epsilon - 2 * self.tau * self.q) / (beta * self.q * self.kappa**2)

    def updates(self, epsilon: float, beta: float = 1.0) -> float:
        """Return the t of (eq43), after which ε is reached; infinite if n is too small for this ε.

        >>> round(Constants(c=0.5, q=2.0, kappa=2.0, tau=0.0, a_0=10.0).updates(1.0), 6)  # 8 log(20) / 0.25
        95.863433
        """
        rate = self.rate(epsilon, beta)
        return max(0.0, math.log(self.q * self.a_0 / epsilon) / (self.c * rate)) if rate > 0 else math.inf
