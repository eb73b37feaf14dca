"""The L1 part of an elastic net, beside the L2 part of the learner.

Its proximal step, taken after each run of samples, moves every weight towards 0 by a constant and not past it.
"""

import numpy as np

from sapo.learn import Groups, Weights


class Lasso(Groups):
    """`ratio` is the strength of L1 over that of the settings."""

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def shrink(self, weights: Weights, penalty: float) -> None:
        owed = np.float32(self._ratio * penalty / weights.scale)
        for block in (weights.features, weights.edges, weights.pair_weights):
            block -= np.clip(block, -owed, owed)

    def penalty(self, weights: Weights) -> float:
        return self._ratio * weights.absolute_norm()
