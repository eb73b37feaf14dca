"""Train a conditional random field (Lafferty et al. 2001) as a batch problem: the optimum itself.

All in double precision: a gradient over all sentences is a sum of millions, and a minimizer compares sums that differ
little.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapo.errors import OptionError
from sapo.features.encoded import EncodedCorpus, Pairs, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Bools, Doubles, Floats, Ints, Longs, Shorts
from sapo.learn.lbfgs import Minimizer, dot
from sapo.learn.settings import Settings
from sapo.search.chain import FULLY, UNTAGGED, allows, bind, how_tagged
from sapo.search.lattice import ALL_LABELS, CORRECT, LOSS, TOKENS, Parameters, path_score, stages_of
from sapo.search.marginals import forward_backward
from sapo.search.weights import FeatureRows, Lists


class Flat(NamedTuple):
    """Which place of a vector each weight has: those of features come first, then pairs of labels, then edge features.

    Only what training shows has a weight (see learn/batch_crf.py).
    """

    offsets: Longs  # [features + 1] the places of each feature
    labels: Shorts  # [places of features] the label of each
    edges: Longs  # [labels, labels] the place of each pair of labels; -1 where it has no weight
    first_pair: int  # the first place of edge features
    pair_offsets: Longs  # as in TaggingWeights
    pair_codes: Ints
    bans: Floats


@kernel
def flat_nodes(first: int, T: int, samples: Samples, flat: Flat, w: Doubles, node: Doubles) -> None:
    """Score the nodes of a sentence: node[t,y] = sum over the features f of token t of value[f] * w[f,y]."""
    L = node.shape[1]
    weighted = len(samples.values) > 0
    for t in range(T):
        for y in range(L):
            node[t, y] = 0.0
        for i in range(samples.row_offsets[first + t], samples.row_offsets[first + t + 1]):
            f = samples.rows[i]
            value = np.float64(samples.values[i]) if weighted else 1.0
            for k in range(flat.offsets[f], flat.offsets[f + 1]):
                node[t, flat.labels[k]] += value * w[k]
    for y in range(L):
        node[0, y] += flat.bans[L, y]
        node[T - 1, y] += flat.bans[L + 1, y]


@kernel
def flat_edges(first: int, T: int, samples: Samples, flat: Flat, w: Doubles, edge: Doubles) -> None:
    """Score the edges of a sentence. With one stage they are the same for every sentence."""
    L = edge.shape[1]
    many = edge.shape[0] > 1
    for t in range(1 if many else 0, T if many else 1):
        for p in range(L):
            for y in range(L):
                place = flat.edges[p, y]
                edge[t, p, y] = flat.bans[p, y] + (w[place] if place >= 0 else 0.0)
        if many:
            for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
                e = samples.edge_rows[i]
                for k in range(flat.pair_offsets[e], flat.pair_offsets[e + 1]):
                    code = flat.pair_codes[k]
                    edge[t, code // L, code % L] += w[flat.first_pair + k]


@kernel
def crf_gradient(
    begin: int,  # the first sentence
    end: int,
    samples: Samples,
    flat: Flat,
    w: Doubles,
    gradient: Doubles,  # changed: E[F(x, y)] - F(x, y*) of each sentence is added
    totals: Doubles,  # changed: the loss log Z - score(y*) of each, and what else is counted
) -> None:
    """Add up -log P(y* | x) and its gradient. Where tags of y* are open, y* is all taggings that keep to the others."""
    L = flat.edges.shape[0]
    longest = 1
    for s in range(begin, end):
        longest = max(longest, samples.offsets[s + 1] - samples.offsets[s])
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float64)
    bound = np.empty((longest, L), np.float64)
    edge = np.empty((stages, L, L), np.float64)
    alpha = np.empty((longest, L), np.float64)
    beta = np.empty((longest, L), np.float64)
    marginal = np.empty((longest, L), np.float64)
    kept = np.empty((longest, L), np.float64)
    pairs = np.empty((stages, L, L), np.float64)
    kept_pairs = np.empty((stages, L, L), np.float64)
    if stages == 1:
        flat_edges(0, 0, samples, flat, w, edge)
    for s in range(begin, end):
        first = samples.offsets[s]
        T = samples.offsets[s + 1] - first
        weight = np.float64(samples.importance[first]) if len(samples.importance) > 0 and T > 0 else 1.0
        gold = samples.gold[first : first + T]
        tagged = how_tagged(gold)
        if T == 0 or tagged == UNTAGGED or weight == 0.0:
            continue
        flat_nodes(first, T, samples, flat, w, node)
        if stages > 1:
            flat_edges(first, T, samples, flat, w, edge)
        log_z = forward_backward(node, edge, T, alpha, beta, marginal, pairs)
        if tagged == FULLY:
            log_kept = path_score(node, edge, gold, T)
        else:
            bind(gold, samples.allowed, node, T, bound)
            log_kept = forward_backward(bound, edge, T, alpha, beta, kept, kept_pairs)
        totals[TOKENS] += T
        totals[LOSS] += weight * (log_z - log_kept) if log_kept > -np.inf else np.nan
        for t in range(T):
            top = 0
            for y in range(L):
                if marginal[t, y] > marginal[t, top]:
                    top = y
            totals[CORRECT] += allows(gold[t], top, samples.allowed)
        if tagged == FULLY:
            for t in range(T):
                marginal[t, gold[t]] -= 1.0
                if t > 0:
                    pairs[t if stages > 1 else 0, gold[t - 1], gold[t]] -= 1.0
        else:
            for t in range(T):
                for y in range(L):
                    marginal[t, y] -= kept[t, y]
            for stage in range(1 if stages > 1 else 0, T if stages > 1 else 1):
                for p in range(L):
                    for y in range(L):
                        pairs[stage, p, y] -= kept_pairs[stage, p, y]
        add_expected(first, T, samples, flat, weight, marginal, pairs, gradient)


@kernel
def add_expected(
    first: int,
    T: int,
    samples: Samples,
    flat: Flat,
    weight: float,
    nodes: Doubles,  # [T, labels] how often each label is expected more than it is there
    pairs: Doubles,  # [stages, labels, labels] the same for pairs of labels
    gradient: Doubles,  # changed
) -> None:
    """Add what features and pairs of labels of a sentence are expected more often than they are there."""
    L = nodes.shape[1]
    weighted = len(samples.values) > 0
    many = pairs.shape[0] > 1
    for t in range(T):
        for i in range(samples.row_offsets[first + t], samples.row_offsets[first + t + 1]):
            f = samples.rows[i]
            value = weight * np.float64(samples.values[i]) if weighted else weight
            for k in range(flat.offsets[f], flat.offsets[f + 1]):
                gradient[k] += value * nodes[t, flat.labels[k]]
    for stage in range(1 if many else 0, T if many else 1):
        for p in range(L):
            for y in range(L):
                place = flat.edges[p, y]
                if place >= 0:
                    gradient[place] += weight * pairs[stage, p, y]
        if many:
            for i in range(samples.edge_row_offsets[first + stage], samples.edge_row_offsets[first + stage + 1]):
                e = samples.edge_rows[i]
                for k in range(flat.pair_offsets[e], flat.pair_offsets[e + 1]):
                    code = flat.pair_codes[k]
                    gradient[flat.first_pair + k] += weight * pairs[stage, code // L, code % L]


CRF_LBFGS = "crf-lbfgs"  # the name of this learner
SENTENCES = 256  # between which Ctrl-C gets a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Options of a batch CRF besides `Settings`. The values, and what they mean, are those of CRFsuite.

    Training stops when the objective fell by less than `Settings.tolerance` (CRFsuite: delta), relatively, in `period`
    passes, or when |gradient| < epsilon * max(1, |w|).
    """

    all_transitions: bool = False  # weights for pairs of labels that training does not show
    min_freq: float | None = None  # leave out weights whose values add up to less in training
    l1: float = 0.0  # strength of L1 in addition to the L2 of `Settings`: an elastic net
    epsilon: float = 1e-5
    period: int = 10
    memories: int = 6  # steps from which the curvature is estimated
    trials: int = 20  # of the length of a step, at most

    def __post_init__(self) -> None:
        if self.min_freq is not None and not self.min_freq >= 0:
            raise OptionError(f"min_freq must be 0 or more, not {self.min_freq!r}")
        for name, least in (("period", 1), ("memories", 1), ("trials", 1), ("epsilon", 0.0), ("l1", 0.0)):
            value = getattr(self, name)
            if not value >= least:
                raise OptionError(f"{name} must be at least {least}, not {value!r}")


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
    min_freq: float | None = None,  # leave out weights whose values add up to less in training
    lists: Lists = ALL_LABELS,
) -> FlatLayout:
    """Return the layout for this training data. Sentences of importance 0 are as if they were not there."""
    labels = bans.shape[1]
    known = corpus.gold >= 0
    if len(corpus.importance):
        known &= corpus.importance > 0
    keys = _states(corpus, known, features, labels, all_states=all_states, min_freq=min_freq)
    owners, of_label = np.divmod(keys, labels)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(owners, minlength=features))])
    codes = _transitions(corpus, known, labels, all_transitions=all_transitions, min_freq=min_freq)
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
    corpus: EncodedCorpus, known: Bools, features: int, labels: int, *, all_states: bool, min_freq: float | None
) -> Longs:
    """Return the pairs of a feature and a label that have a weight, as feature * labels + label, in order."""
    low = None if min_freq is None or (min_freq == 0 and not np.any(corpus.values < 0)) else min_freq
    if all_states and low is None:
        return np.arange(features * labels)
    keys, seen = _seen(corpus, corpus.row_offsets, corpus.rows, known, labels)
    found, places = np.unique(keys, return_inverse=True)
    values = corpus.values[seen] if len(corpus.values) else None
    times = np.bincount(places, values, minlength=len(found)) if low is not None else np.zeros(len(found))
    if low:
        return found[times >= low]
    # without a limit all weights, and with the limit 0 those whose values do not add up to less than 0
    if all_states:
        return np.setdiff1d(np.arange(features * labels), found[times < 0], assume_unique=True)
    zeros = (
        _seen(corpus, corpus.zero_offsets, corpus.zero_rows, known, labels)[0] if len(corpus.zero_rows) else keys[:0]
    )
    return np.union1d(found[times >= 0], np.setdiff1d(zeros, found[times < 0]))


def _seen(corpus: EncodedCorpus, offsets: Longs, rows: Ints, known: Bools, labels: int) -> tuple[Longs, Bools]:
    """Return features * labels + gold label wherever it is known, and which of the rows these are."""
    token = np.repeat(np.arange(corpus.tokens), np.diff(offsets))
    seen = known[token]
    return rows[seen].astype(np.int64) * labels + corpus.gold[token[seen]], seen


def _transitions(
    corpus: EncodedCorpus, known: Bools, labels: int, *, all_transitions: bool, min_freq: float | None
) -> Longs:
    """Return the pairs of labels that have a weight, as p * labels + y, in order."""
    if all_transitions and not min_freq:
        return np.arange(labels * labels)
    joined = known[1:] & known[:-1]
    starts = corpus.offsets[1:-1]
    joined[starts[(starts > 0) & (starts < corpus.tokens)] - 1] = False  # nothing leads from sentence to sentence
    codes = corpus.gold[:-1][joined].astype(np.int64) * labels + corpus.gold[1:][joined]
    times = np.bincount(codes, minlength=labels * labels)
    return np.flatnonzero(times >= max(min_freq or 0, 1))


@dataclass(slots=True)
class BatchWeights:
    """The weights of a batch CRF in training, as a `sapo.learn.records.Learned`."""

    layout: FlatLayout
    minimizer: Minimizer
    l2: float  # strength: l2 / 2 |w|^2
    period: int
    tolerance: float
    values: list[float] = field(default_factory=list)  # of the objective: before the first pass, and after each
    converged: str = ""  # why more passes are of no use

    own_rules: ClassVar[bool] = True

    def current(self) -> Parameters:
        return self.layout.parameters(self.minimizer.x)

    true_weights = current

    def keep(self, now: Parameters) -> Doubles:
        return self.minimizer.x

    def finish(self, best: Doubles | None) -> Parameters:
        return self.layout.parameters(self.minimizer.x if best is None else best)

    def arrays(self, best: Doubles | None) -> dict[str, NDArray[Any]]:
        own = self.minimizer
        found = {
            "x": own.x,
            "gradient": own.gradient,
            "steps": np.array(own.steps).reshape(-1, self.layout.size),
            "changes": np.array(own.changes).reshape(-1, self.layout.size),
            "values": np.array([own.smooth, *self.values]),
        }
        return found if best is None else {**found, "best": best}

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Doubles | None:
        own, size = self.minimizer, self.layout.size
        loaded = {name: np.array(array) for name, array in arrays.items()}
        for name, array in loaded.items():
            shape = {"values": (passes + 2,), "steps": (len(array), size), "changes": (len(array), size)}
            if array.dtype != np.float64 or array.shape != shape.get(name, (size,)):
                raise ValueError(f"its {name} do not fit the data")
        own.x, own.gradient = loaded["x"], loaded["gradient"]
        own.steps, own.changes = list(loaded["steps"]), list(loaded["changes"])
        if len(own.steps) != len(own.changes) or not all(
            dot(step, change) > 0 for step, change in zip(own.steps, own.changes, strict=True)
        ):
            raise ValueError("its parts do not fit together")
        own.smooth, *self.values = loaded["values"].tolist()
        self._judge(moved=True)
        return loaded.get("best")

    def pay_penalties(self) -> None:
        """Do nothing: the weights are always up to date."""

    def w_complexity(self) -> float:
        return float(np.abs(self.minimizer.x).mean()) if self.layout.size else 0.0

    def penalty(self) -> float:
        """Return the regularizer's part of the objective."""
        x = self.minimizer.x
        return self.l2 / 2 * dot(x, x) + self.minimizer.l1 * float(np.abs(x).sum())

    def iterate(self, corpus: EncodedCorpus, threads: int, totals: Doubles) -> None:
        """Make one step of the minimizer; what is counted at the new weights is added to `totals`."""
        counts = np.zeros_like(totals)

        def objective(x: Doubles, gradient: Doubles) -> float:
            counts[:] = 0
            total_gradient(corpus, self.layout, x, threads, gradient, counts)
            gradient += self.l2 * x
            return float(counts[LOSS]) + self.l2 / 2 * dot(x, x)

        own = self.minimizer
        own.begin(objective)
        if not self.values:
            self.values.append(own.value)
        moved = own.step(objective)
        self.values.append(own.value)
        totals += counts
        totals[LOSS] = own.value - self.penalty()
        self._judge(moved=moved)

    def _judge(self, *, moved: bool) -> None:
        own, values = self.minimizer, self.values
        if not moved or own.is_flat(own.slope()):
            self.converged = "converged"
        elif self.tolerance > 0 and len(values) > self.period:
            if values[-1 - self.period] - values[-1] < self.tolerance * abs(values[-1]):
                self.converged = "converged"


def batch_pass(
    weights: BatchWeights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Make one iteration, for which neither order nor rate matter; yield the number of sentences."""
    weights.iterate(corpus, settings.threads or 1, totals)
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
            crf_gradient(begin, end, samples, flat, w, own, counts)
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
