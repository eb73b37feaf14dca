"""The conditional random field (Lafferty et al. 2001) as a batch problem: the optimum itself, by L-BFGS or OWL-QN.

    minimize over w   sum over the sentences of -log P(y* | x)  +  c1 |w|  +  c2 |w|^2

This is the objective of CRFsuite. A pass is an iteration: all sentences are looked at, mostly once, before the weights
move. Threads share out the sentences; each adds up a gradient of its own.

The weights are one vector. As in CRFsuite, only features with labels, and pairs of labels, that training shows have a
weight. With all pairs of a feature and a label a CRF can also learn what a feature speaks against, and has many times
more weights.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.pairs import Pairs
from sapo.errors import SapoError
from sapo.kernels import flat as kernel
from sapo.kernels import update, vectors
from sapo.kernels.types import Bools, Doubles, Flat, Floats, Ints, Lists, Longs
from sapo.learn.lbfgs import Minimiser
from sapo.learn.settings import Settings
from sapo.search.lattice import ALL_LABELS, Parameters
from sapo.search.rows import FeatureRows

CRF_LBFGS = "crf-lbfgs"  # the name of this learner
SENTENCES = 256  # between which Ctrl-C gets a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """What a batch CRF has beside `Settings`. The values, and what they mean, are those of CRFsuite.

    Training stops when the objective fell by less than `Settings.tolerance` (CRFsuite: delta), relatively, in `period`
    passes, or when |gradient| < epsilon * max(1, |w|).
    """

    all_transitions: bool = False  # weights for pairs of labels that training does not show
    min_freq: float = 0.0  # leave out weights that training shows less often
    l1: float = 0.0  # strength of L1 in addition to the L2 of `Settings`: an elastic net
    epsilon: float = 1e-5
    period: int = 10
    memories: int = 6  # steps from which the curvature is estimated
    trials: int = 20  # of the length of a step, at most

    def __post_init__(self) -> None:
        if not self.min_freq >= 0:
            raise SapoError(f"min_freq must be 0 or more, not {self.min_freq!r}")
        for name, least in (("period", 1), ("memories", 1), ("trials", 1), ("epsilon", 0.0), ("l1", 0.0)):
            value = getattr(self, name)
            if not value >= least:
                raise SapoError(f"{name} must be at least {least}, not {value!r}")


@dataclass(frozen=True, slots=True)
class FlatLayout:
    """The places of all weights in a vector."""

    flat: Flat
    pairs: Pairs
    size: int
    lists: Lists = ALL_LABELS

    def parameters(self, w: Doubles) -> Parameters:
        """Return the weights for tagging, in new arrays."""
        flat, labels = self.flat, len(self.flat.edges)
        values = w[: len(flat.labels)].astype(np.float32)
        kept = values != 0
        owners = np.repeat(np.arange(len(flat.offsets) - 1), np.diff(flat.offsets))
        counts = np.bincount(owners[kept], minlength=len(flat.offsets) - 1).astype(np.int32)
        rows = FeatureRows.of_entries(counts, flat.labels[kept], values[kept], labels)
        edges = np.where(flat.edges >= 0, w[flat.edges], 0.0).astype(np.float32)
        pair_weights = w[flat.first_pair :].astype(np.float32).reshape(-1, 1)
        return Parameters(rows, edges, self.pairs, pair_weights, flat.bans, self.lists)


def flat_layout(
    corpus: EncodedCorpus,
    features: int,
    bans: Floats,  # [labels + 2, labels]
    *,
    pairs: Pairs | None = None,  # of edge features
    transitions: bool = True,  # whether pairs of labels have weights
    all_states: bool = False,  # every feature has a weight for every label
    all_transitions: bool = False,  # every pair of labels has a weight
    min_freq: float = 0.0,  # leave out weights that training shows less often
    lists: Lists = ALL_LABELS,
) -> FlatLayout:
    """Return the layout for this training data. Sentences of importance 0 are as if they were not there."""
    labels = bans.shape[1]
    told = corpus.gold >= 0
    if len(corpus.importance):
        told &= corpus.importance > 0
    keys = _states(corpus, told, features, labels, all_states=all_states, min_freq=min_freq)
    owners, of_label = np.divmod(keys, labels)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(owners, minlength=features))])
    codes = _transitions(corpus, told, labels, all_transitions=all_transitions, min_freq=min_freq)
    edges = np.full(labels * labels, -1, np.int64)
    if transitions:
        edges[codes] = len(keys) + np.arange(len(codes))
    first_pair = len(keys) + (len(codes) if transitions else 0)
    pairs = pairs or Pairs.none()
    flat = Flat(
        offsets,
        of_label.astype(np.uint16),
        edges.reshape(labels, labels),
        first_pair,
        pairs.offsets,
        pairs.codes,
        bans,
    )
    return FlatLayout(flat, pairs, first_pair + len(pairs.codes), lists)


def _states(
    corpus: EncodedCorpus, told: Bools, features: int, labels: int, *, all_states: bool, min_freq: float
) -> Longs:
    """Return the pairs of a feature and a label that have a weight, as feature * labels + label, in order."""
    if all_states and min_freq <= 0:
        return np.arange(features * labels)
    keys, seen = _seen(corpus, corpus.row_offsets, corpus.rows, told, labels)
    if min_freq <= 0:
        zeros = (
            _seen(corpus, corpus.zero_offsets, corpus.zero_rows, told, labels)[0] if len(corpus.zero_rows) else keys[:0]
        )
        return np.unique(np.concatenate([keys, np.unique(zeros)]))
    found, places = np.unique(keys, return_inverse=True)
    times = np.bincount(places, weights=corpus.values[seen] if len(corpus.values) else None, minlength=len(found))
    return found[times >= min_freq]


def _seen(corpus: EncodedCorpus, offsets: Longs, rows: Ints, told: Bools, labels: int) -> tuple[Longs, Bools]:
    """Return features * labels + gold label wherever it is known, and which of the rows these are."""
    token = np.repeat(np.arange(corpus.tokens), np.diff(offsets))
    seen = told[token]
    return rows[seen].astype(np.int64) * labels + corpus.gold[token[seen]], seen


def _transitions(corpus: EncodedCorpus, told: Bools, labels: int, *, all_transitions: bool, min_freq: float) -> Longs:
    """Return the pairs of labels that have a weight, as p * labels + y, in order."""
    if all_transitions and min_freq <= 0:
        return np.arange(labels * labels)
    joined = told[1:] & told[:-1]
    starts = corpus.offsets[1:-1]
    joined[starts[(starts > 0) & (starts < corpus.tokens)] - 1] = False  # nothing leads from sentence to sentence
    codes = corpus.gold[:-1][joined].astype(np.int64) * labels + corpus.gold[1:][joined]
    times = np.bincount(codes, minlength=labels * labels)
    return np.flatnonzero(times >= max(min_freq, 1))


@dataclass(slots=True)
class BatchWeights:
    """The weights of a batch CRF in training, as a `sapo.learn.state.Learned`."""

    layout: FlatLayout
    minimiser: Minimiser
    l2: float  # strength: l2 / 2 |w|^2
    period: int
    tolerance: float
    values: list[float] = field(default_factory=list)  # of the objective: before the first pass, and after each
    converged: str = ""  # why more passes are of no use

    own_rules: ClassVar[bool] = True

    def current(self) -> Parameters:
        return self.layout.parameters(self.minimiser.x)

    true_weights = current

    def keep(self, now: Parameters) -> Doubles:
        return self.minimiser.x

    def finish(self, best: Doubles | None) -> Parameters:
        return self.layout.parameters(self.minimiser.x if best is None else best)

    def arrays(self, best: Doubles | None) -> dict[str, NDArray[Any]]:
        own = self.minimiser
        found = {
            "x": own.x,
            "gradient": own.gradient,
            "steps": np.array(own.steps).reshape(-1, self.layout.size),
            "changes": np.array(own.changes).reshape(-1, self.layout.size),
            "values": np.array([own.smooth, *self.values]),
        }
        return found if best is None else {**found, "best": best}

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Doubles | None:
        own, size = self.minimiser, self.layout.size
        loaded = {name: np.array(array) for name, array in arrays.items()}
        for name, array in loaded.items():
            shape = {"values": (passes + 2,), "steps": (len(array), size), "changes": (len(array), size)}
            if array.dtype != np.float64 or array.shape != shape.get(name, (size,)):
                raise ValueError(f"its {name} do not fit the data")
        own.x, own.gradient = loaded["x"], loaded["gradient"]
        own.steps, own.changes = list(loaded["steps"]), list(loaded["changes"])
        if len(own.steps) != len(own.changes) or not all(
            vectors.dot(step, change) > 0 for step, change in zip(own.steps, own.changes, strict=True)
        ):
            raise ValueError("its parts do not fit together")
        own.smooth, *self.values = loaded["values"].tolist()
        self._judge(moved=True)
        return loaded.get("best")

    def pay_penalties(self) -> None:
        """Do nothing: the weights are always up to date."""

    def w_complexity(self) -> float:
        return float(np.abs(self.minimiser.x).mean()) if self.layout.size else 0.0

    def penalty(self) -> float:
        """Return the regulariser's part of the objective."""
        x = self.minimiser.x
        return self.l2 / 2 * vectors.dot(x, x) + self.minimiser.l1 * float(np.abs(x).sum())

    def iterate(self, corpus: EncodedCorpus, threads: int, totals: Doubles) -> None:
        """Make one step of the minimiser; what is counted at the new weights is added to `totals`."""
        counts = np.zeros_like(totals)

        def objective(x: Doubles, gradient: Doubles) -> float:
            counts[:] = 0
            total_gradient(corpus, self.layout, x, threads, gradient, counts)
            gradient += self.l2 * x
            return float(counts[update.LOSS]) + self.l2 / 2 * vectors.dot(x, x)

        own = self.minimiser
        own.begin(objective)
        if not self.values:
            self.values.append(own.value)
        moved = own.step(objective)
        self.values.append(own.value)
        totals += counts
        totals[update.LOSS] = own.value - self.penalty()
        self._judge(moved=moved)

    def _judge(self, *, moved: bool) -> None:
        own, values = self.minimiser, self.values
        if not moved or own.is_flat(own.slope()):
            self.converged = "converged"
        elif self.tolerance > 0 and len(values) > self.period:
            if values[-1 - self.period] - values[-1] < self.tolerance * abs(values[-1]):
                self.converged = "converged"


def batch_pass(
    weights: BatchWeights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Make one iteration, for which neither order nor rate matter; yield the number of sentences."""
    weights.iterate(corpus, settings.threads, totals)
    yield corpus.sentences


def total_gradient(
    corpus: EncodedCorpus, layout: FlatLayout, w: Doubles, threads: int, gradient: Doubles, totals: Doubles
) -> None:
    """Write the gradient of -log P(y* | x), summed over all sentences, and add to `totals` what is counted.

    For a given number of threads the result is the same in every run; for another it differs by rounding.
    """
    samples, flat = corpus.samples, layout.flat
    gradient[:] = 0.0
    ends = np.searchsorted(corpus.offsets, np.linspace(0, corpus.tokens, threads + 1)[1:-1])
    bounds = [0, *ends.tolist(), corpus.sentences]
    stopped: list[bool] = []

    def work(thread: int) -> tuple[Doubles, Doubles]:
        own = gradient if thread == 0 else np.zeros_like(gradient)
        counts = np.zeros_like(totals)
        for begin in range(bounds[thread], bounds[thread + 1], SENTENCES):
            if stopped:
                break
            end = min(begin + SENTENCES, bounds[thread + 1])
            kernel.crf_gradient(begin, end, samples, flat, w, own, counts)
        return own, counts

    if threads == 1:
        totals += work(0)[1]
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for own, counts in pool.map(work, range(threads)):
                totals += counts
                if own is not gradient:
                    gradient += own
        except BaseException:
            stopped.append(True)
            raise
