"""The weights while they are learned: w = scale * v, so that L2 shrinks one number instead of all of them."""

from dataclasses import dataclass

import numpy as np

from sapo.kernels import score
from sapo.kernels.types import Floats


@dataclass(slots=True)
class Weights:
    features: Floats  # [features, labels] v
    edges: Floats  # [labels, labels] v
    transitions: bool  # whether the edges are learned
    scale: float = 1.0

    @classmethod
    def zeros(cls, features: int, labels: int, *, transitions: bool = True) -> "Weights":
        return cls(np.zeros((features, labels), np.float32), np.zeros((labels, labels), np.float32), transitions)

    def true_weights(self) -> tuple[Floats, Floats]:
        """w itself, in new arrays."""
        scale = np.float32(self.scale)
        return self.features * scale, self.edges * scale

    def fold_scale(self) -> None:
        """Make v the true weights: the scale becomes 1."""
        self.features *= np.float32(self.scale)
        self.edges *= np.float32(self.scale)
        self.scale = 1.0

    def w_complexity(self) -> float:
        """Mean |w| over all weights, as the paper plots it."""
        total = score.absolute_sum(self.features) + score.absolute_sum(self.edges)
        return self.scale * total / (self.features.size + self.edges.size)

    def squared_norm(self) -> float:
        return (score.squared_sum(self.features) + score.squared_sum(self.edges)) * self.scale**2
