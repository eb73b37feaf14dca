"""What a worker changed in its weights, and how the changes of several become one.

All weights have a place in one long vector: feature f and label y at f * labels + y, then the pairs of labels, then the
entries of edge features. A change lists the places that moved, in order, and by how much; the rest did not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo.kernels.types import Floats

Places = NDArray[np.uint32] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Change:
    """Places of v (w = scale * v, see learn/weights.py), what is added to each, and how far all weights shrank."""

    places: Places
    values: Floats
    shrunk: float  # the scale after the change, as a share of the one before

    @property
    def nbytes(self) -> int:
        """Return how many bytes travel."""
        return self.places.nbytes + self.values.nbytes

    def rescaled(self, factor: float) -> "Change":
        """Return the same change where v was multiplied by `factor` since."""
        return self if factor == 1.0 else Change(self.places, self.values * np.float32(factor), self.shrunk)


def mix(changes: Sequence[Change]) -> Change:
    """Return one change for several that began with the same weights.

    A weight moves by the mean over those that moved it, not over all: what only one worker has seen is learned in full.

    >>> one = Change(np.array([1, 4], np.uint32), np.array([1, 1], np.float32), 1.0)
    >>> two = Change(np.array([4, 9], np.uint32), np.array([3, 5], np.float32), 0.5)
    >>> mixed = mix([one, two])
    >>> mixed.places.tolist(), mixed.values.tolist(), mixed.shrunk
    ([1, 4, 9], [1.0, 2.0, 5.0], 0.75)
    """
    shrunk = float(np.mean([change.shrunk for change in changes]))
    if len(changes) == 1:
        return Change(changes[0].places, changes[0].values, shrunk)
    places = np.concatenate([change.places for change in changes])
    order = np.argsort(places, kind="stable")  # merges runs that are in order, and keeps the order of the workers
    places = places[order]
    first = np.flatnonzero(np.diff(places, prepend=places[:1] + 1)) if len(places) else np.empty(0, np.int64)
    if not len(first):
        return Change(places, np.empty(0, np.float32), shrunk)
    values = np.concatenate([change.values for change in changes])[order]
    counts = np.diff(first, append=len(places))
    return Change(places[first], (np.add.reduceat(values, first) / counts).astype(np.float32), shrunk)
