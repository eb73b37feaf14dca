"""Group lasso: the weights of a template live or die together.

The penalty is strength * sum over the groups g of sqrt(|g|) * |w_g| (2-norms). Its proximal step, which is taken after
each run of samples, shortens each group by a constant and drops those that are shorter.
"""

import numpy as np

from sapo.kernels import blocks as kernel
from sapo.kernels import update
from sapo.kernels.types import Doubles, Ints, Part
from sapo.learn.weights import Weights


class Groups:
    """Which group each feature and each entry of an edge feature belongs to; the plain edges are one more."""

    def __init__(self, group_of: Ints, labels: int, pair_group_of: Ints | None = None) -> None:
        pair_group_of = np.empty(0, np.int32) if pair_group_of is None else pair_group_of
        count = max((int(groups.max()) + 1 for groups in (group_of, pair_group_of) if len(groups)), default=0)
        self._group_of = group_of
        self._edge_group = np.full(labels, count, np.int32)
        self._pair_group = pair_group_of
        sizes = np.bincount(group_of, minlength=count) * labels + np.bincount(pair_group_of, minlength=count)
        self._roots: Doubles = np.sqrt(np.append(sizes, labels * labels))

    def shrink(self, weights: Weights, penalty: float) -> None:
        norms = self._norms(weights)
        factors = np.maximum(0.0, 1.0 - penalty * self._roots / np.maximum(norms, 1e-30))
        for part, groups in self._blocks(weights):
            kernel.scale_groups(part, groups, factors, weights.state[update.CLOCK])

    def penalty(self, weights: Weights) -> float:
        return float(self._roots @ self._norms(weights))

    def _norms(self, weights: Weights) -> Doubles:
        squares = np.zeros(len(self._roots))
        for part, groups in self._blocks(weights):
            kernel.add_squares(part.v, groups, squares)
        return np.sqrt(squares) * weights.scale

    def _blocks(self, weights: Weights) -> list[tuple[Part, Ints]]:
        """All blocks of weights, with the group of each of their rows."""
        parts = weights.parts
        entries, dense = weights.rows.parts
        of_entries, of_dense = weights.rows.owners()
        return [
            (entries, self._group_of[of_entries]),
            (dense, self._group_of[of_dense]),
            (parts.edges, self._edge_group),
            (parts.pairs, self._pair_group),
        ]


class Lasso(Groups):
    """The L1 part of an elastic net, beside the L2 part of the learner; `ratio` is its share of the strength.

    Its proximal step moves every weight towards 0 by a constant and not past it.
    """

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def shrink(self, weights: Weights, penalty: float) -> None:
        owed = np.float32(self._ratio * penalty / weights.scale)
        for block in (weights.rows.v, weights.rows.dense, weights.edges, weights.pair_weights):
            block -= np.clip(block, -owed, owed)

    def penalty(self, weights: Weights) -> float:
        return self._ratio * weights.absolute_norm()
