"""Represent an encoded corpus: all that a learner sees of it, as integers in flat arrays.

An edge feature joins an observation with a pair of labels. With 45 labels there are 2,025 pairs, most of which never
occur with most words. So only the pairs that training has seen get a weight (`Pairs`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sapo.jit.arrays import Bools, Floats, Ints, Longs, joined_offsets, offsets_of, pieces_of


class Samples(NamedTuple):
    """The fields of an EncodedCorpus that kernels take."""

    offsets: Longs
    row_offsets: Longs
    rows: Ints
    values: Floats
    gold: Ints
    edge_row_offsets: Longs
    edge_rows: Ints
    importance: Floats
    allowed: Bools
    words: Ints
    cuts: Bools


def _no_floats() -> Floats:
    return np.empty(0, np.float32)


def _no_ints() -> Ints:
    return np.empty(0, np.int32)


def _no_offsets() -> Longs:
    return np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """Sentence s has the tokens offsets[s], ..., offsets[s + 1] - 1; token t has the features rows[row_offsets[t]:...].

    Gold is -1 if any tag is correct, and -2 - s if each label in allowed[s] is.
    """

    offsets: Longs  # [sentences + 1]
    row_offsets: Longs  # [tokens + 1]
    rows: Ints
    values: Floats = field(default_factory=_no_floats)  # one for each row; empty if every value is 1
    gold: Ints = field(default_factory=_no_ints)  # [tokens] the oracle, or what is known of it; empty if unknown
    edge_row_offsets: Longs = field(default_factory=_no_offsets)  # [tokens + 1]; [1] if there are no edge features
    edge_rows: Ints = field(default_factory=_no_ints)  # the edge features of each token
    importance: Floats = field(default_factory=_no_floats)  # [tokens]; empty if all tokens are equally important
    # [tokens, labels] 0 or minus infinity, in tagging; empty if no token has a forced tag
    token_bans: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    allowed: Bools = field(default_factory=lambda: np.empty((0, 0), np.bool_))  # [sets, labels]
    words: Ints = field(default_factory=_no_ints)  # [tokens] the number of each word, -1 if unknown; empty if unused
    # [tokens] where a sample begins that is a later piece of a sentence; empty if all samples are sentences
    cuts: Bools = field(default_factory=lambda: np.empty(0, np.bool_))
    zero_offsets: Longs = field(default_factory=_no_offsets)  # [tokens + 1]; [1] if there are none
    zero_rows: Ints = field(default_factory=_no_ints)  # ready-made features of value 0: no score, but seen with a tag
    part_of: int = 0  # the number of sentences of the corpus that this is a part of; 0 if it is the whole

    @property
    def sentences(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        return int(self.offsets[-1])

    @property
    def sentences_in_all(self) -> int:
        """The number of sentences of the whole corpus: the regularizer is shared out among them."""
        return self.part_of or self.sentences

    @property
    def samples(self) -> Samples:
        """The corpus as kernels take it."""
        return Samples._make(getattr(self, name) for name in Samples._fields)


def join_encoded(parts: Sequence[EncodedCorpus]) -> EncodedCorpus:
    """Return several encoded blocks as one corpus."""
    return EncodedCorpus(
        joined_offsets(part.offsets for part in parts),
        joined_offsets(part.row_offsets for part in parts),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.gold for part in parts]),
        joined_offsets(part.edge_row_offsets for part in parts),
        np.concatenate([part.edge_rows for part in parts]),
        words=np.concatenate([part.words for part in parts]),
    )


def subset(corpus: EncodedCorpus, sentences: Longs) -> EncodedCorpus:
    """Return some sentences of a corpus, in the order given."""
    offsets, tokens = pieces_of(corpus.offsets, sentences)
    row_offsets, rows = pieces_of(corpus.row_offsets, tokens)
    edge_row_offsets, edge_rows = corpus.edge_row_offsets, corpus.edge_rows
    if len(edge_row_offsets) > 1:
        edge_row_offsets, places = pieces_of(edge_row_offsets, tokens)
        edge_rows = edge_rows[places]
    return EncodedCorpus(
        offsets,
        row_offsets,
        corpus.rows[rows],
        corpus.values[rows] if len(corpus.values) else corpus.values,
        corpus.gold[tokens],
        edge_row_offsets,
        edge_rows,
        corpus.importance[tokens] if len(corpus.importance) else corpus.importance,
        allowed=corpus.allowed,
        words=corpus.words[tokens] if len(corpus.words) else corpus.words,
    )


def without_rows(corpus: EncodedCorpus, dropped: Longs) -> EncodedCorpus:
    """Return the corpus without the features at these places of `rows`, which are in order."""
    return replace(
        corpus,
        row_offsets=corpus.row_offsets - np.searchsorted(dropped, corpus.row_offsets),
        rows=np.delete(corpus.rows, dropped),
        values=np.delete(corpus.values, dropped) if len(corpus.values) else corpus.values,
    )


def renumber_features(corpus: EncodedCorpus, numbers: Ints) -> EncodedCorpus:
    """Return the corpus with a new number for each feature, without the features whose number is -1.

    >>> corpus = EncodedCorpus(np.array([0, 2]), np.array([0, 2, 3]), np.array([4, 1, 1], np.int32))
    >>> few = renumber_features(corpus, np.array([-1, 0, -1, -1, -1], np.int32))
    >>> few.rows.tolist(), few.row_offsets.tolist()
    ([0, 0], [0, 1, 2])
    """
    corpus = replace(corpus, rows=numbers[corpus.rows])
    return without_rows(corpus, np.flatnonzero(corpus.rows < 0))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Edge feature e has the pairs codes[offsets[e]:offsets[e+1]], sorted; the code of y after p is p * labels + y."""

    offsets: Longs  # [edge features + 1]
    codes: Ints  # [entries]

    @classmethod
    def none(cls) -> "Pairs":
        """Return the pairs of no edge features."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32))

    @property
    def owners(self) -> Ints:
        """The edge feature of each entry, [entries]."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))


def observed_pairs(corpus: EncodedCorpus, edge_features: int, labels: int) -> Pairs:
    """Return the pairs of gold labels that each edge feature was seen with."""
    if len(corpus.edge_row_offsets) == 1:
        return Pairs.none()
    code = np.full(corpus.tokens, -1, np.int64)
    code[1:] = corpus.gold[:-1].astype(np.int64) * labels + corpus.gold[1:]
    unknown = corpus.gold < 0
    code[unknown] = -1
    code[1:][unknown[:-1]] = -1
    code[corpus.offsets[:-1][np.diff(corpus.offsets) > 0]] = -1  # the first token of a sentence follows no label
    code = np.repeat(code, np.diff(corpus.edge_row_offsets))
    seen = code >= 0
    keys = np.unique(corpus.edge_rows[seen].astype(np.int64) * labels * labels + code[seen])
    owners, codes = np.divmod(keys, labels * labels)
    return Pairs(offsets_of(np.bincount(owners, minlength=edge_features)), codes.astype(np.int32))


def joined_pairs(old: Pairs, new: Pairs) -> tuple[Pairs, Longs]:
    """Return the pairs of both, and the entries of the old ones before which the new ones were inserted.

    Both must be of the same edge features. If nothing is added, the old pairs are returned as they are.
    """
    owners = new.owners
    places = _places(old, owners, new.codes)
    known = places < old.offsets[owners + 1]
    known[known] = old.codes[places[known]] == new.codes[known]
    places, added = places[~known], owners[~known]
    if not len(added):
        return old, places
    offsets = old.offsets + offsets_of(np.bincount(added, minlength=len(old.offsets) - 1))
    return Pairs(offsets, np.insert(old.codes, places, new.codes[~known])), places


def _places(pairs: Pairs, owners: Ints, codes: Ints) -> Longs:
    """Return the first entry of each owner that is not before the code, by bisection: there are few owners."""
    low, high = pairs.offsets[owners], pairs.offsets[owners + 1]
    while (searched := low < high).any():
        middle = (low + high) // 2
        before = searched.copy()
        before[searched] = pairs.codes[middle[searched]] < codes[searched]
        low = np.where(before, middle + 1, low)
        high = np.where(searched & ~before, middle, high)
    return low
