"""Weights that go on being learned: features, pairs of edge features and labels are added, and begin with zero."""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from sapo.encode.growable import Growable
from sapo.encode.pairs import Pairs, joined_pairs
from sapo.kernels import update
from sapo.kernels import weights as kernel
from sapo.kernels.types import Doubles, Floats, Ints
from sapo.learn.rows import SPARE_LABELS, LearningRows
from sapo.learn.weights import Weights
from sapo.search.lattice import Parameters, no_bans
from sapo.search.rows import FeatureRows

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
    """A copy of weights, with spare room for features and labels.

    L2 shrinks all weights at every sample, which is a pass over all of them that a single sentence should not pay for.
    So `shown` are the weights without the shrinking since the last such pass, and a pass is made when that comes to
    LAG. `true` are always exact.
    """

    def __init__(self, parameters: Parameters, *, transitions: bool) -> None:
        self._matrix: Growable | None = None  # of features, where all rows are dense
        self._head: Growable | None = None
        if len(parameters.rows.arrays.head):
            rows = LearningRows.of_rows(parameters.rows)
            self._head = Growable(rows.head)
            rows.head = self._head.used
        else:
            matrix = parameters.features
            spare = np.zeros((len(matrix), matrix.shape[1] + SPARE_LABELS), np.float32)
            spare[:, : matrix.shape[1]] = matrix
            self._matrix = Growable(spare)
            rows = LearningRows.of_matrix(self._matrix.used)
            rows.count = matrix.shape[1]
        self.weights = Weights(
            rows,
            parameters.edges.copy(),
            transitions,
            parameters.pairs,
            parameters.pair_weights.copy(),
            parameters.bans,
            lists=parameters.lists,
        )

    @property
    def labels(self) -> int:
        return len(self.weights.edges)

    @property
    def shown(self) -> Parameters:
        """The weights themselves, not a copy: they change with all that is learned."""
        weights = self.weights
        rows = FeatureRows(weights.rows.rows, weights.rows.count)
        return Parameters(rows, weights.edges, weights.pairs, weights.pair_weights, weights.bans, weights.lists)

    def true(self) -> Parameters:
        """Return a copy, exact."""
        return self.weights.true_weights()

    def settle(self) -> None:
        """Bring all weights up to date if they lag too far behind."""
        if self.weights.scale < 1.0 - LAG:
            self.weights.fold()

    def add_features(self, features: int, edge_features: int) -> None:
        """Make room for this many in all."""
        rows = self.weights.rows
        if self._head is not None:
            self._head.add(features - self._head.count)
            rows.head = self._head.used
        elif self._matrix is not None:
            if self._matrix.whole.shape[1] != rows.dense.shape[1]:  # it was widened for new labels
                self._matrix = Growable(rows.dense)
            self._matrix.add(features - self._matrix.count)
            rows.dense = self._matrix.used
        old = self.weights.pairs
        new = edge_features + 1 - len(old.offsets)
        if new:
            self.weights.pairs = Pairs(np.append(old.offsets, np.full(new, old.offsets[-1])), old.codes)

    def add_pairs(self, observed: Pairs) -> None:
        """Have weights for these pairs of labels, too."""
        if len(observed.codes):
            self.weights.pairs, places = joined_pairs(self.weights.pairs, observed)
            if len(places):
                self.weights.pair_weights = np.insert(self.weights.pair_weights, places, 0.0, axis=0)

    def with_labels(self, labels: int) -> "GrowingWeights":
        """Return weights with more labels, which share the rows of features; nothing is forbidden for the new ones."""
        old, known = self.weights, self.labels
        old.fold()
        edges = np.zeros((labels, labels), np.float32)
        edges[:known, :known] = old.edges
        before, after = np.divmod(old.pairs.codes, np.int32(known))
        pairs = Pairs(old.pairs.offsets, before * np.int32(labels) + after)
        bans = no_bans(labels)
        bans[:known, :known] = old.bans[:known]
        bans[labels:, :known] = old.bans[known:]
        rows = replace(old.rows)
        rows.add_labels(labels)
        new = copy(self)
        lists = old.lists._replace(order=np.append(old.lists.order, np.arange(known, labels, dtype=np.int32)))
        new.weights = replace(
            old,
            rows=rows,
            edges=edges,
            pairs=pairs,
            pair_weights=old.pair_weights.copy(),
            bans=bans,
            state=old.state.copy(),
            lists=lists if lists.most else old.lists,
        )
        return new

    def backup(self, rows: Ints, shrinking: float) -> Backup:
        """Return what learning from these features may change, if it shrinks all weights by this factor at most."""
        weights = self.weights
        touched = np.unique(rows)
        if weights.scale * shrinking < FOLDED:
            touched = np.arange(weights.rows.features, dtype=np.int32)
        blocks = weights.rows.gathered(touched), weights.edges.copy(), weights.pair_weights.copy()
        return Backup(touched, *blocks, weights.state.copy())

    def restore(self, backup: Backup) -> None:
        """Give everything back that a backup has."""
        weights = self.weights
        kernel.put_rows(backup.rows, weights.rows.rows, backup.features)
        weights.edges[:] = backup.edges
        weights.pair_weights[:] = backup.pair_weights
        weights.state[:] = backup.state

    def take_back(self, wider: "GrowingWeights") -> None:
        """Have the rows of features again that weights with more labels have learned with, and given back."""
        if wider is not self and wider.weights.rows.listed:
            rows = replace(wider.weights.rows)
            rows.drop_labels(self.labels)
            self.weights.rows = rows

    def finite(self, rows: Ints) -> bool:
        """Whether all that learning from these features may have changed are numbers."""
        weights = self.weights
        blocks = (weights.rows.gathered(rows), weights.edges, weights.pair_weights)
        return all(bool(np.isfinite(block).all()) for block in blocks)
