"""Weights and new sentences in, passes over these that spoil little of what is known out.

A new sentence should come out right, and the others as before. The first takes a change of weights, and the second is
hurt most by a change of those that many sentences share: of features that were seen often, which have large weights,
and of transitions. So features learn the more slowly the larger their weights are, and transitions by the share of the
new sentences in all that were learned from. Where most sentences are new, all learn alike.

A feature of value s and weight w / s scores as one of value 1 and weight w, but a step of the same rate moves w by s^2
times as much. That is all that a learner needs to know of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.scales import scales_of
from sapo.kernels import weights as kernel
from sapo.kernels.types import Floats, Ints
from sapo.learn.weights import Weights
from sapo.search.rows import FeatureRows

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
        """`share` is that of the new sentences in all. Labels from `known` on are new, and nobody else's."""
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
        kernel.scale_rows(self.rows, np.reciprocal(self.speeds), weights.rows.rows)
        try:
            yield self.corpus
        finally:
            kernel.scale_rows(self.rows, self.speeds, weights.rows.rows)
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
