"""Learn new sentences while changing existing weights as little as possible.

A new sentence should come out right, and the others as before. The first takes a change of weights, and the second is
hurt most by a change of those that many sentences share: of features that were seen often, which have large weights,
and of transitions. So features learn the more slowly the larger their weights are, and transitions by the share of the
new sentences in all that were learned from. Where most sentences are new, all learn alike.

A feature of value s and weight w / s scores as one of value 1 and weight w, but a step of the same rate moves w by s^2
times as much. That is all that a learner needs to know of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sapo.features.encoded import EncodedCorpus, Pairs, joined_pairs
from sapo.jit.arrays import Doubles, Floats, Growable, Ints
from sapo.learn.rows import SPARE_LABELS, LearningRows
from sapo.learn.samples import scales_of
from sapo.learn.weights import SMALLEST_SCALE, Weights
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows, put_rows, scale_rows

LAG = 1e-4  # that the shown weights may be too large by, relatively, before all of them are brought up to date

FOLDED = 10 * SMALLEST_SCALE  # below it a learner, in threads or not, may rewrite all weights


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
        put_rows(backup.rows, weights.rows.rows, backup.features)
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


GROWTH = 1.2  # of the rate from pass to pass, for a single sentence that does not come out right


def typical_weight(rows: FeatureRows, features: int | None = None) -> float:
    """Return the largest weight that a feature has, on average over all features.

    There may be more `features` than rows: a model file leaves out those without a weight.
    """
    count = len(rows) if features is None else features
    return float(rows.largest().sum(dtype=np.float64)) / count if count else 0.0


@dataclass(frozen=True, slots=True)
class Pacing:
    """How to pass over new sentences."""

    corpus: EncodedCorpus  # with values that slow down what is known
    rows: Ints  # the features of the new sentences, each once
    speeds: Floats  # [rows] s
    edge_speeds: Floats  # [labels, labels]

    @classmethod
    def of(cls, corpus: EncodedCorpus, weights: Weights, typical: float, *, share: float, known: int) -> Self:
        """`share` is that of the new sentences in all. Labels from `known` on are new."""
        rows, places = np.unique(corpus.rows, return_inverse=True)
        large = np.abs(weights.rows.gathered(rows)).max(axis=1, initial=0.0) * weights.scale
        slowed = typical / (typical + large) if typical > 0 else np.ones(len(rows))
        # powers of two: to divide by them and to multiply again changes no weight
        speeds = np.exp2(np.round(np.log2(share + (1 - share) * slowed) / 2)).astype(np.float32)
        numeric = scales_of(corpus, int(rows.max(initial=-1)) + 1)
        if len(numeric):
            speeds *= numeric[rows]
        edge_speeds = np.full(weights.edges.shape, share, np.float32)
        edge_speeds[known:], edge_speeds[:, known:] = 1.0, 1.0
        values = speeds[places.reshape(-1)]
        if len(corpus.values):
            values = values * corpus.values
        return cls(replace(corpus, values=values), rows, speeds, edge_speeds)

    @contextmanager
    def slowed(self, weights: Weights) -> Iterator[EncodedCorpus]:
        """The sentences for one pass of a learner over them; the weights are as usual again when it is made."""
        before, scale = weights.edges.copy(), weights.scale
        scale_rows(self.rows, np.reciprocal(self.speeds), weights.rows.rows)
        try:
            yield self.corpus
        finally:
            scale_rows(self.rows, self.speeds, weights.rows.rows)
            if weights.scale > scale:  # the learner has brought all weights up to date
                before *= np.float32(scale / weights.scale)
            weights.edges[:] = np.where(
                weights.edges == before, before, before + self.edge_speeds * (weights.edges - before)
            )


def growth(decay: float, sentences: int) -> float:
    """By what the rate changes from pass to pass: it grows for one sentence, and falls as in training for many.

    >>> growth(0.9, 1), round(growth(0.9, 1000), 2)
    (1.2, 0.9)
    """
    return float(GROWTH ** (1 / sentences) * decay ** (1 - 1 / sentences))
