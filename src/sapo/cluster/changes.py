"""What a worker changed in its weights, and how the changes of several become one.

All weights have a place in one long vector: feature f and label y at f * labels + y, then the pairs of labels, then the
entries of edge features. A change lists the places that moved, in order, and by how much; the rest did not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo.kernels import changes as kernel
from sapo.kernels.types import Floats, Places, Shorts

NO_COUNTS: Shorts = np.empty(0, np.uint16)


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
    sums = [_Sum(*map(fixed, (change.places, change.values, NO_COUNTS))) for change in changes]
    while len(sums) > 1:  # neighbours together, so that each weight is added up in few steps
        pairs = [sums[at : at + 2] for at in range(0, len(sums), 2)]
        sums = [_merged(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    places, values, counts = sums[0]
    return Change(places, np.divide(values, counts, dtype=np.float32) if len(counts) else values, shrunk)


class _Sum(NamedTuple):
    """Changes of several workers, added up, and how many of them moved each weight; no counts if it is one worker."""

    places: Places
    values: Floats
    counts: Shorts


def _merged(one: _Sum, two: _Sum) -> _Sum:
    size = len(one.places) + len(two.places)
    places = np.empty(size, one.places.dtype)
    values, counts = np.empty(size, np.float32), np.empty(size, np.uint16)
    found = kernel.merge(*one, *two, places, values, counts)
    return _Sum(*(fixed(array[:found]) for array in (places, values, counts)))


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to, as arrays of the object store are: kernels are compiled only for these.

    >>> fixed(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view
