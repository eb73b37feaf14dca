"""Hold the weights of a linear learner while they are learned.

w = scale * v, so that L2 shrinks one number instead of all of them. Where averages are wanted, `sums` is such that the
sum of w over all steps is clock * v - sums: exact, and paid for only where a weight changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo.features.encoded import Pairs
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Floats, Ints, Longs
from sapo.learn.rows import (
    DENSE_FROM,
    DENSE_LIMIT,
    DENSE_USED,
    FIXED,
    LIMIT,
    NAMES,
    USED,
    LearnedRows,
    LearningRows,
    Part,
    absolute_sum,
    fold_scale,
    penalize_all,
    squared_sum,
)
from sapo.search.lattice import (
    ALL_LABELS,
    Parameters,
    no_bans,
)
from sapo.search.weights import (
    COUNT,
    MOST,
    START,
    FeatureRows,
    Lists,
    Rows,
    TaggingWeights,
)


class Parts(NamedTuple):
    """All weights of a learner, which are scale * v; the rest is as in TaggingWeights."""

    nodes: LearnedRows
    edges: Part  # [labels, labels]
    pairs: Part  # [entries, 1]
    pair_offsets: Longs
    pair_codes: Ints
    with_edges: bool  # whether plain pairs of labels have weights
    bans: Floats
    lists: Lists
    bound: bool


# The state of a learner, by index.
SCALE, CLOCK, STEPS, PENALTY = 0, 1, 2, 3
STATE_SIZE = 4

SMALLEST_SCALE = 0.05  # below it v would be so large that the average, a difference, loses its digits


@kernel
def fold(parts: Parts, state: Doubles) -> None:
    """Make v the true weights; what the weights and their average are stays the same."""
    fold_scale(parts.nodes.entries, state[SCALE], state[CLOCK])
    fold_scale(parts.nodes.dense, state[SCALE], state[CLOCK])
    fold_scale(parts.edges, state[SCALE], state[CLOCK])
    fold_scale(parts.pairs, state[SCALE], state[CLOCK])
    state[SCALE] = 1.0
    if len(parts.edges.sums) > 0:
        state[CLOCK] = 0.0


@kernel
def tagging_weights(parts: Parts) -> TaggingWeights:
    """Return the weights of a learner as tagging needs them; they are still to be multiplied by the scale."""
    nodes = parts.nodes
    rows = Rows(nodes.head, nodes.labels, nodes.entries.v, nodes.dense.v)
    return TaggingWeights(
        rows,
        parts.edges.v,
        parts.pairs.v,
        parts.pair_offsets,
        parts.pair_codes,
        parts.bans,
        parts.lists,
        parts.bound,
    )


# The arrays of a checkpoint: those of features where all rows are dense, and the others.
FEATURES = {"features": "dense", "sums": "dense_sums", "received": "dense_received"}
OTHERS = ("edges", "pair_weights", "state", "edge_sums", "pair_sums", "edge_received", "pair_received")


def _none() -> Floats:
    return np.empty((0, 0), np.float32)


def _begin() -> Doubles:
    state = np.zeros(STATE_SIZE)
    state[SCALE] = 1.0
    return state


@dataclass(slots=True)
class Weights:
    """All weights of a linear learner, and what averaging and L1 need besides them."""

    rows: LearningRows  # v of features
    edges: Floats  # [labels, labels] v
    transitions: bool  # whether the edges are learned
    pairs: Pairs  # which pairs of labels edge features weigh
    pair_weights: Floats  # [entries, 1] v
    bans: Floats  # what is forbidden: see Parameters
    state: Doubles = field(
        default_factory=_begin
    )  # changed by kernels together with v, so that Ctrl-C finds both alike
    edge_sums: Floats = field(default_factory=_none)  # for averaging; empty where nothing is averaged
    pair_sums: Floats = field(default_factory=_none)
    edge_received: Floats = field(default_factory=_none)  # for L1; empty otherwise
    pair_received: Floats = field(default_factory=_none)
    lists: Lists = ALL_LABELS  # how many labels of a token are looked at

    own_rules: ClassVar[bool] = False
    converged: ClassVar[str] = ""

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
        matrix: bool | None = None,
    ) -> "Weights":
        """Return weights that are all zero; `matrix` says whether all rows are dense (by default few labels do)."""
        rows = LearningRows.zeros(features, labels, matrix=matrix)
        weights = cls._of_rows(rows, np.zeros((labels, labels), np.float32), transitions, pairs, bans)
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
        """Return learning that begins with this matrix; the weights of edge features begin with zero."""
        return cls._of_rows(LearningRows.of_matrix(features), edges, transitions, pairs, bans)

    @classmethod
    def _of_rows(
        cls, rows: LearningRows, edges: Floats, transitions: bool, pairs: Pairs | None, bans: Floats | None
    ) -> "Weights":
        pairs = pairs or Pairs.none()
        entries = np.zeros((len(pairs.codes), 1), np.float32)
        return cls(rows, edges, transitions, pairs, entries, no_bans(len(edges)) if bans is None else bans)

    @property
    def features(self) -> Floats:
        """The v of features as a matrix [features, labels]: the weights themselves where all rows are dense."""
        if self.rows.listed:
            return FeatureRows(self.rows.rows, self.rows.count).matrix()
        return self.rows.dense[:, : self.rows.count]

    @features.setter
    def features(self, matrix: Floats) -> None:
        self.rows.dense[:, : self.rows.count] = matrix

    def prepare(self, *, averaged: bool, l1: bool) -> None:
        """Make room for what a learner needs besides the weights."""
        self.rows.prepare(averaged=averaged, l1=l1)
        if averaged and not len(self.edge_sums):
            self.edge_sums, self.pair_sums = np.zeros_like(self.edges), np.zeros_like(self.pair_weights)
        if l1 and not len(self.edge_received):
            self.edge_received, self.pair_received = np.zeros_like(self.edges), np.zeros_like(self.pair_weights)

    def begin_average(self) -> None:
        """From now on the result is the average of the weights over all steps to come."""
        self.fold()
        self.prepare(averaged=True, l1=False)
        for sums in (self.rows.sums, self.rows.dense_sums, self.edge_sums, self.pair_sums):
            sums[:] = 0
        self.state[CLOCK] = self.state[STEPS] = 0

    @property
    def parts(self) -> Parts:
        """The same arrays as kernels take them."""
        return Parts(
            self.rows.arrays,
            Part(self.edges, self.edge_sums, self.edge_received),
            Part(self.pair_weights, self.pair_sums, self.pair_received),
            self.pairs.offsets,
            self.pairs.codes,
            self.transitions,
            self.bans,
            self.lists,
            bool(self.lists.most and self.bans.any()),
        )

    def _blocks(self) -> tuple[Part, Part, Part, Part]:
        """All weights: entries and dense rows of features, pairs of labels, edge features."""
        parts = self.parts
        return (*self.rows.parts, parts.edges, parts.pairs)

    def clear(self) -> None:
        """Set all weights to zero, as in the beginning."""
        self.rows.clear()
        for part in (self.parts.edges, self.parts.pairs):
            for array in part:
                array[:] = 0
        self.state[:] = _begin()

    def fold(self) -> None:
        """Make v the true weights; what the weights and their average are stays the same."""
        fold(self.parts, self.state)

    @property
    def scale(self) -> float:
        return float(self.state[SCALE])

    def current(self) -> Parameters:
        """Return w itself, in new arrays, also where the average is what counts in the end."""
        scale = np.float32(self.scale)
        return self._parameters(
            self.rows.v * scale, self.rows.dense * scale, self.edges * scale, self.pair_weights * scale
        )

    def true_weights(self) -> Parameters:
        """Return w itself, or its average, in new arrays."""
        if not len(self.edge_sums):
            return self.current()
        clock, steps = np.float32(self.state[CLOCK]), np.float32(max(1.0, self.state[STEPS]))

        def average(v: Floats, sums: Floats) -> Floats:
            now = v * clock
            now -= sums
            now /= steps
            return now

        return self._parameters(
            average(self.rows.v, self.rows.sums),
            average(self.rows.dense, self.rows.dense_sums),
            average(self.edges, self.edge_sums),
            average(self.pair_weights, self.pair_sums),
        )

    def final(self) -> Parameters:
        """Return the same as `true_weights`, and give the weights up: a copy would be the peak of memory."""
        if len(self.edge_sums):
            self._average_in_place()
        else:
            self.fold()
        return Parameters(self.rows.packed(), self.edges, self.pairs, self.pair_weights, self.bans, self.lists)

    def _average_in_place(self) -> None:
        clock, steps = np.float32(self.state[CLOCK]), np.float32(max(1.0, self.state[STEPS]))
        for part in self._blocks():
            np.multiply(part.v, clock, out=part.v)
            np.subtract(part.v, part.sums, out=part.v)
            np.divide(part.v, steps, out=part.v)
        self.rows.sums = self.rows.dense_sums = _none()

    def _parameters(self, entries: Floats, dense: Floats, edges: Floats, pair_weights: Floats) -> Parameters:
        rows = self.rows.frozen(entries, dense)
        return Parameters(rows, edges, self.pairs, pair_weights, self.bans, self.lists)

    def keep(self, now: Parameters) -> Parameters:
        """Return the true weights of a pass: they are all that is needed of it."""
        return now

    def finish(self, best: Parameters | None) -> Parameters:
        """Return the weights that were kept, or the last ones."""
        if best is not None:
            return best
        self.pay_penalties()
        return self.final()

    def arrays(self, best: Parameters | None) -> dict[str, NDArray[Any]]:
        """Return all that a run needs to go on, for a checkpoint."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in OTHERS}
        if self.rows.listed:
            arrays.update(self.rows.state())
        else:
            arrays.update((name, getattr(self.rows, own)) for name, own in FEATURES.items())
        if best is not None:
            arrays.update({"best_edges": best.edges, "best_pair_weights": best.pair_weights})
            if self.rows.listed:
                names = ("best_counts", "best_labels", "best_values")
                arrays.update(zip(names, best.rows.entries(), strict=True))
            else:
                arrays["best_features"] = best.features
        return arrays

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Parameters | None:
        """Go on from the arrays of a checkpoint; return the weights that were kept."""
        if len(arrays["edge_sums"]):  # where averaging begins later, it has begun
            self.prepare(averaged=True, l1=False)
        for name in OTHERS:
            setattr(self, name, _like(arrays[name], getattr(self, name), name))
        if not (0 < self.scale <= 1 and (self.state >= 0).all()):
            raise ValueError("its state is damaged")
        if self.rows.listed:
            self._load_rows(arrays)
        else:
            for name, own in FEATURES.items():
                setattr(self.rows, own, _like(arrays[name], getattr(self.rows, own), name))
        if "best_edges" not in arrays:
            return None
        edges, pair_weights = (
            _like(arrays[f"best_{name}"], getattr(self, name), f"best_{name}") for name in ("edges", "pair_weights")
        )
        if not self.rows.listed:
            rows = FeatureRows.of_matrix(_like(arrays["best_features"], self.rows.dense, "best_features"))
        else:
            counts, labels, values = (arrays[f"best_{name}"].copy() for name in ("counts", "labels", "values"))
            _check_entries(counts, labels, values, self.rows)
            rows = FeatureRows.of_entries(counts, labels, values, self.rows.count)
        return Parameters(rows, edges, self.pairs, pair_weights, self.bans, self.lists)

    def _load_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        loaded = {name: arrays[f"rows.{name}"].copy() for name in NAMES}
        own = self.rows
        for name, array in loaded.items():
            mine = getattr(own, name)
            if array.dtype != mine.dtype or array.shape[1:] != mine.shape[1:]:
                raise ValueError(f"its {name} do not fit the data")
        head, room = loaded["head"], loaded["room"]
        used, dense = int(room[USED]), int(room[DENSE_USED])
        sizes = (head >> COUNT) & MOST
        if len(room) > FIXED and not room[FIXED]:  # a list may fill its block
            sizes = np.maximum(sizes, np.int64(2) << (head & 15))
        ends, others = (head >> START) + sizes, ("sums", "received")
        if (
            len(head) != len(own.head)
            or len(room) != len(own.room)
            or not 0 <= used <= len(loaded["v"]) == len(loaded["labels"])
            or not 0 <= dense <= len(loaded["dense"])
            or (head < -dense).any()
            or (ends[head > 0] > used).any()
            or (loaded["labels"] >= own.count).any()
            or not 0 <= room[LIMIT] <= len(loaded["v"])
            or not 0 <= room[DENSE_LIMIT] <= len(loaded["dense"])
            or (room[DENSE_FROM:] != own.room[DENSE_FROM:]).any()
            or any(len(loaded[name]) != len(loaded["v"]) * (len(getattr(own, name)) > 0) for name in others)
            or any(
                len(loaded[f"dense_{name}"]) != len(loaded["dense"]) * (getattr(own, f"dense_{name}").shape[1] > 0)
                for name in others
            )
        ):
            raise ValueError("its rows do not fit together")
        for name, array in loaded.items():
            setattr(own, name, array)

    def pay_penalties(self) -> None:
        """Bring every weight up to date with L1, not only those of the last sentences."""
        if len(self.edge_received):
            clock, penalty = self.state[CLOCK], self.state[PENALTY]
            for part in self._blocks():
                penalize_all(part, clock, penalty)

    def w_complexity(self) -> float:
        """Return mean |w| over all weights, as the paper plots it."""
        return self.absolute_norm() / (self.rows.size + self.edges.size + self.pair_weights.size)

    def squared_norm(self) -> float:
        return float(sum(squared_sum(part.v) for part in self._blocks())) * self.scale**2

    def absolute_norm(self) -> float:
        return float(sum(absolute_sum(part.v) for part in self._blocks())) * self.scale


def _like(array: NDArray[Any], mine: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a copy of an array from outside, which must have the shape of mine."""
    if array.shape != mine.shape or array.dtype != mine.dtype:
        raise ValueError(f"its {name} do not fit the data")
    return array.copy()


def _check_entries(counts: Any, labels: Any, values: Any, rows: LearningRows) -> None:
    kinds = (counts.dtype, labels.dtype, values.dtype) == (np.int32, np.uint16, np.float32)
    fit = kinds and counts.shape == (rows.features,) and labels.shape == values.shape == (int(counts.sum()),)
    if not fit or not 0 <= counts.min() <= counts.max() <= rows.count or (labels >= rows.count).any():
        raise ValueError("its best weights do not fit the data")
