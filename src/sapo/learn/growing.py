"""Weights that go on being learned: features, pairs of edge features and labels are added, and begin with zero."""

from dataclasses import dataclass

import numpy as np

from sapo.encode.growable import Growable
from sapo.encode.pairs import Pairs, joined_pairs
from sapo.kernels import update
from sapo.kernels.types import Doubles, Floats, Ints
from sapo.learn.weights import Weights
from sapo.search.lattice import Parameters, no_bans

LAG = 1e-4  # that the shown weights may be too large by, relatively, before all of them are brought up to date

FOLDED = 10 * update.SMALLEST_SCALE  # below it a learner, in threads or not, may rewrite all weights


@dataclass(frozen=True, slots=True)
class Backup:
    """Weights as they were: those of some features, and all others that learning may change."""

    rows: Ints
    features: Floats
    edges: Floats
    pair_weights: Floats
    state: Doubles


class GrowingWeights:
    """A copy of weights, with spare room for features.

    L2 shrinks all weights at every sample, which is a pass over all of them that a single sentence should not pay for.
    So `shown` are the weights without the shrinking since the last such pass, and a pass is made when that comes to
    LAG. `true` are always exact.
    """

    def __init__(self, parameters: Parameters, *, transitions: bool) -> None:
        self._features = Growable(parameters.features)
        self.weights = Weights(
            self._features.used,
            parameters.edges.copy(),
            transitions,
            parameters.pairs,
            parameters.pair_weights.copy(),
            parameters.bans,
        )

    @property
    def labels(self) -> int:
        return len(self.weights.edges)

    @property
    def shown(self) -> Parameters:
        """The weights themselves, not a copy: they change with all that is learned."""
        weights = self.weights
        return Parameters(weights.features, weights.edges, weights.pairs, weights.pair_weights, weights.bans)

    def true(self) -> Parameters:
        """A copy, exact."""
        return self.weights.true_weights()

    def settle(self) -> None:
        """Bring all weights up to date if they lag too far behind."""
        if self.weights.scale < 1.0 - LAG:
            self.weights.fold()

    def add_features(self, features: int, edge_features: int) -> None:
        """Room for so many in all."""
        self._features.add(features - self._features.count)
        self.weights.features = self._features.used
        old = self.weights.pairs
        new = edge_features + 1 - len(old.offsets)
        if new:
            self.weights.pairs = Pairs(np.append(old.offsets, np.full(new, old.offsets[-1])), old.codes)

    def add_pairs(self, observed: Pairs) -> None:
        if len(observed.codes):
            self.weights.pairs, places = joined_pairs(self.weights.pairs, observed)
            if len(places):
                self.weights.pair_weights = np.insert(self.weights.pair_weights, places, 0.0, axis=0)

    def with_labels(self, labels: int) -> "GrowingWeights":
        """New weights, with more labels; nothing is forbidden for these."""
        old, known = self.true(), self.labels
        features = np.zeros((len(old.features), labels), np.float32)
        features[:, :known] = old.features
        edges = np.zeros((labels, labels), np.float32)
        edges[:known, :known] = old.edges
        before, after = np.divmod(old.pairs.codes, np.int32(known))
        pairs = Pairs(old.pairs.offsets, before * np.int32(labels) + after)
        bans = no_bans(labels)
        bans[:known, :known] = old.bans[:known]
        bans[labels:, :known] = old.bans[known:]
        parameters = Parameters(features, edges, pairs, old.pair_weights, bans)
        return GrowingWeights(parameters, transitions=self.weights.transitions)

    def backup(self, rows: Ints, shrinking: float) -> Backup:
        """What learning from these features may change, if it shrinks all weights by this factor at most."""
        weights = self.weights
        touched = np.unique(rows)
        if weights.scale * shrinking < FOLDED:
            touched = np.arange(len(weights.features), dtype=np.int32)
        blocks = weights.features[touched], weights.edges.copy(), weights.pair_weights.copy()
        return Backup(touched, *blocks, weights.state.copy())

    def restore(self, backup: Backup) -> None:
        weights = self.weights
        weights.features[backup.rows] = backup.features
        weights.edges[:] = backup.edges
        weights.pair_weights[:] = backup.pair_weights
        weights.state[:] = backup.state

    def finite(self, rows: Ints) -> bool:
        """Whether all that learning from these features may have changed are numbers."""
        weights = self.weights
        return all(
            bool(np.isfinite(block).all()) for block in (weights.features[rows], weights.edges, weights.pair_weights)
        )
