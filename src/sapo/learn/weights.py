"""The weights while they are learned.

w = scale * v, so that L2 shrinks one number instead of all of them. Where averages are wanted, `sums` is such that the
sum of w over all steps is clock * v - sums: exact, and paid for only where a weight changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapo.encode.pairs import Pairs
from sapo.kernels import update
from sapo.kernels import weights as kernel
from sapo.kernels.types import Doubles, Floats, Part, Parts
from sapo.search.lattice import Parameters, no_bans


def _none() -> Floats:
    return np.empty((0, 0), np.float32)


def _begin() -> Doubles:
    state = np.zeros(update.STATE_SIZE)
    state[update.SCALE] = 1.0
    return state


BLOCKS = ("features", "edges", "pair_weights")
ARRAYS = (*BLOCKS, "state", "sums", "edge_sums", "pair_sums", "received", "edge_received", "pair_received")


def _like(array: NDArray[Any], mine: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a copy of an array from outside, which must have the shape of mine."""
    if array.shape != mine.shape or array.dtype != mine.dtype:
        raise ValueError(f"its {name} do not fit the data")
    return array.copy()


@dataclass(slots=True)
class Weights:
    features: Floats  # [features, labels] v
    edges: Floats  # [labels, labels] v
    transitions: bool  # whether the edges are learned
    pairs: Pairs  # which pairs of labels edge features weigh
    pair_weights: Floats  # [entries, 1] v
    bans: Floats  # what is forbidden: see Parameters
    state: Doubles = field(
        default_factory=_begin
    )  # changed by kernels together with v, so that Ctrl-C finds both alike
    sums: Floats = field(default_factory=_none)  # for averaging; empty where nothing is averaged
    edge_sums: Floats = field(default_factory=_none)
    pair_sums: Floats = field(default_factory=_none)
    received: Floats = field(default_factory=_none)  # for L1; empty otherwise
    edge_received: Floats = field(default_factory=_none)
    pair_received: Floats = field(default_factory=_none)

    @classmethod
    def zeros(
        cls,
        features: int,
        labels: int,
        *,
        transitions: bool = True,
        pairs: Pairs | None = None,
        bans: Floats | None = None,
        averaged: bool = False,
        l1: bool = False,
    ) -> "Weights":
        blocks = np.zeros((features, labels), np.float32), np.zeros((labels, labels), np.float32)
        weights = cls.of(*blocks, transitions=transitions, pairs=pairs, bans=bans)
        weights.prepare(averaged=averaged, l1=l1)
        return weights

    @classmethod
    def of(
        cls,
        features: Floats,
        edges: Floats,
        *,
        transitions: bool = True,
        pairs: Pairs | None = None,
        bans: Floats | None = None,
    ) -> "Weights":
        """Learning that begins with these weights; those of edge features begin with zero."""
        pairs = pairs or Pairs.none()
        entries = np.zeros((len(pairs.codes), 1), np.float32)
        return cls(features, edges, transitions, pairs, entries, no_bans(len(edges)) if bans is None else bans)

    def prepare(self, *, averaged: bool, l1: bool) -> None:
        """Make room for what a learner needs beside the weights."""
        if averaged and not len(self.sums):
            self.sums, self.edge_sums, self.pair_sums = map(np.zeros_like, self._blocks())
        if l1 and not len(self.received):
            self.received, self.edge_received, self.pair_received = map(np.zeros_like, self._blocks())

    @property
    def parts(self) -> Parts:
        """The same arrays as kernels take them."""
        return Parts(
            Part(self.features, self.sums, self.received),
            Part(self.edges, self.edge_sums, self.edge_received),
            Part(self.pair_weights, self.pair_sums, self.pair_received),
            self.pairs.offsets,
            self.pairs.codes,
            self.transitions,
            self.bans,
        )

    def _blocks(self) -> tuple[Floats, Floats, Floats]:
        return self.features, self.edges, self.pair_weights

    def clear(self) -> None:
        """As new: all weights are zero."""
        for part in (self.parts.nodes, self.parts.edges, self.parts.pairs):
            for array in part:
                array[:] = 0
        self.state[:] = _begin()

    def fold(self) -> None:
        """Make v the true weights; what the weights and their average are stays the same."""
        update.fold(self.parts, self.state)

    @property
    def scale(self) -> float:
        return float(self.state[update.SCALE])

    def current(self) -> Parameters:
        """w itself, in new arrays, also where the average is what counts in the end."""
        scale = np.float32(self.scale)
        return self._parameters(*(block * scale for block in self._blocks()))

    def true_weights(self) -> Parameters:
        """w itself, or its average, in new arrays."""
        if not len(self.sums):
            return self.current()
        clock, steps = self.state[update.CLOCK], max(1.0, self.state[update.STEPS])
        sums = (self.sums, self.edge_sums, self.pair_sums)
        averages = ((v * np.float32(clock) - s) / np.float32(steps) for v, s in zip(self._blocks(), sums, strict=True))
        return self._parameters(*averages)

    def final(self) -> Parameters:
        """As `true_weights`, in place where that can be: a copy would be the peak of memory."""
        if len(self.sums):
            return self.true_weights()
        self.fold()
        return self._parameters(*self._blocks())

    def _parameters(self, features: Floats, edges: Floats, pair_weights: Floats) -> Parameters:
        return Parameters(features, edges, self.pairs, pair_weights, self.bans)

    def keep(self, now: Parameters) -> Parameters:
        """The true weights of a pass are all that is needed of it."""
        return now

    def finish(self, best: Parameters | None) -> Parameters:
        """Return the weights that were kept, or the last ones."""
        if best is not None:
            return best
        self.pay_penalties()
        return self.final()

    def arrays(self, best: Parameters | None) -> dict[str, NDArray[Any]]:
        """Return all that a run needs to go on, for a checkpoint."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in ARRAYS}
        if best is not None:
            arrays.update((f"best_{name}", getattr(best, name)) for name in BLOCKS)
        return arrays

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Parameters | None:
        """Go on from the arrays of a checkpoint; return the weights that were kept."""
        for name in ARRAYS:
            setattr(self, name, _like(arrays[name], getattr(self, name), name))
        if "best_features" not in arrays:
            return None
        best = {name: _like(arrays[f"best_{name}"], getattr(self, name), f"best_{name}") for name in BLOCKS}
        return Parameters(pairs=self.pairs, bans=self.bans, **best)

    def pay_penalties(self) -> None:
        """L1: bring every weight up to date, not only those of the last sentences."""
        if len(self.received):
            clock, penalty = self.state[update.CLOCK], self.state[update.PENALTY]
            for part in (self.parts.nodes, self.parts.edges, self.parts.pairs):
                kernel.penalise_all(part, clock, penalty)

    def w_complexity(self) -> float:
        """Mean |w| over all weights, as the paper plots it."""
        return self.absolute_norm() / sum(block.size for block in self._blocks())

    def squared_norm(self) -> float:
        return sum(kernel.squared_sum(block) for block in self._blocks()) * self.scale**2

    def absolute_norm(self) -> float:
        return sum(kernel.absolute_sum(block) for block in self._blocks()) * self.scale
