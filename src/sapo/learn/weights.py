"""The weights while they are learned.

w = scale * v, so that L2 shrinks one number instead of all of them. Where averages are wanted, `sums` is such that the
sum of w over all steps is clock * v - sums: exact, and paid for only where a weight changes.
"""

from dataclasses import dataclass, field

import numpy as np

from sapo.kernels import score, update
from sapo.kernels.types import Doubles, Floats


def _none() -> Floats:
    return np.empty((0, 0), np.float32)


def _begin() -> Doubles:
    state = np.zeros(update.STATE_SIZE)
    state[update.SCALE] = 1.0
    return state


@dataclass(slots=True)
class Weights:
    features: Floats  # [features, labels] v
    edges: Floats  # [labels, labels] v
    transitions: bool  # whether the edges are learned
    state: Doubles = field(
        default_factory=_begin
    )  # changed by kernels together with v, so that Ctrl-C finds both alike
    sums: Floats = field(default_factory=_none)  # for averaging; empty where nothing is averaged
    edge_sums: Floats = field(default_factory=_none)
    received: Floats = field(default_factory=_none)  # for L1; empty otherwise
    edge_received: Floats = field(default_factory=_none)

    @classmethod
    def zeros(
        cls, features: int, labels: int, *, transitions: bool = True, averaged: bool = False, l1: bool = False
    ) -> "Weights":
        weights = cls(np.zeros((features, labels), np.float32), np.zeros((labels, labels), np.float32), transitions)
        weights.prepare(averaged=averaged, l1=l1)
        return weights

    def prepare(self, *, averaged: bool, l1: bool) -> None:
        """Make room for what a learner needs beside the weights."""
        if averaged and not len(self.sums):
            self.sums, self.edge_sums = np.zeros_like(self.features), np.zeros_like(self.edges)
        if l1 and not len(self.received):
            self.received, self.edge_received = np.zeros_like(self.features), np.zeros_like(self.edges)

    def clear(self) -> None:
        """As new: all weights are zero."""
        for array in (self.features, self.edges, self.sums, self.edge_sums, self.received, self.edge_received):
            array[:] = 0
        self.state[:] = _begin()

    def fold(self) -> None:
        """Make v the true weights; what the weights and their average are stays the same."""
        scale, clock = self.state[update.SCALE], self.state[update.CLOCK]
        update.fold_scale(self.features, self.sums, scale, clock)
        update.fold_scale(self.edges, self.edge_sums, scale, clock)
        self.state[update.SCALE] = 1.0
        if len(self.sums):
            self.state[update.CLOCK] = 0.0

    @property
    def scale(self) -> float:
        return float(self.state[update.SCALE])

    def true_weights(self) -> tuple[Floats, Floats]:
        """w itself, or its average, in new arrays."""
        if not len(self.sums):
            scale = np.float32(self.scale)
            return self.features * scale, self.edges * scale
        clock, steps = self.state[update.CLOCK], max(1.0, self.state[update.STEPS])
        pairs = ((self.features, self.sums), (self.edges, self.edge_sums))
        features, edges = ((v * np.float32(clock) - sums) / np.float32(steps) for v, sums in pairs)
        return features, edges

    def final(self) -> tuple[Floats, Floats]:
        """As `true_weights`, in place where that can be: a copy would be the peak of memory."""
        if len(self.sums):
            return self.true_weights()
        self.fold()
        return self.features, self.edges

    def pay_penalties(self) -> None:
        """L1: bring every weight up to date, not only those of the last sentences."""
        if len(self.received):
            clock, penalty = self.state[update.CLOCK], self.state[update.PENALTY]
            update.penalise_all(self.features, self.received, self.sums, clock, penalty)
            update.penalise_all(self.edges, self.edge_received, self.edge_sums, clock, penalty)

    def w_complexity(self) -> float:
        """Mean |w| over all weights, as the paper plots it."""
        total = score.absolute_sum(self.features) + score.absolute_sum(self.edges)
        return self.scale * total / (self.features.size + self.edges.size)

    def squared_norm(self) -> float:
        return (score.squared_sum(self.features) + score.squared_sum(self.edges)) * self.scale**2

    def absolute_norm(self) -> float:
        return (score.absolute_sum(self.features) + score.absolute_sum(self.edges)) * self.scale
