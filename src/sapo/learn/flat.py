"""Weights as one vector: only features with labels, and pairs of labels, that training shows have a weight.

So it is in CRFsuite. With all pairs of a feature and a label a CRF can also learn what a feature speaks against, and
has many times more weights.
"""

from dataclasses import dataclass

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.pairs import Pairs
from sapo.errors import SapoError
from sapo.kernels.types import Bools, Doubles, Flat, Floats, Ints, Lists, Longs
from sapo.search.lattice import ALL_LABELS, Parameters
from sapo.search.rows import FeatureRows


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatOptions:
    """Which weights there are."""

    all_transitions: bool = False  # weights for pairs of labels that training does not show
    min_freq: float = 0.0  # leave out weights that training shows less often

    def __post_init__(self) -> None:
        if not self.min_freq >= 0:
            raise SapoError(f"min_freq must be 0 or more, not {self.min_freq!r}")


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
