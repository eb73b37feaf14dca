"""Represent an encoded corpus: all that a learner sees of it, as integers in flat arrays.

An edge feature joins an observation with a pair of labels. With 45 labels there are 2,025 pairs, most of which never
occur with most words: only pairs that training has seen get a weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sapo.jit.arrays import Bools, Floats, Ints, Longs


class Samples(NamedTuple):
    """The training set: the fields of an EncodedCorpus."""

    offsets: Longs  # [sentences + 1]
    row_offsets: Longs  # [tokens + 1]
    rows: Ints
    values: Floats  # one a row, or none at all where every value is 1
    gold: Ints  # [tokens] -1 where any tag will do, -2 - s where one of allowed[s] will
    edge_row_offsets: Longs  # [tokens + 1], or [1] where there are no edge features
    edge_rows: Ints
    importance: Floats  # [tokens], or none at all where every token counts alike
    allowed: Bools  # [sets, labels]
    words: Ints  # [tokens] the number of each word, -1 where it is not known; none at all where nobody looks at it
    cuts: Bools  # [tokens] where a piece of a sentence begins; none at all where sentences are whole


def _no_floats() -> Floats:
    return np.empty(0, np.float32)


def _no_ints() -> Ints:
    return np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """Sentence s has the tokens offsets[s] up to offsets[s+1]; token t has the features rows[row_offsets[t]:...]."""

    offsets: Longs  # [sentences + 1]
    row_offsets: Longs  # [tokens + 1]
    rows: Ints
    values: Floats = field(default_factory=_no_floats)  # one a row; empty if every value is 1
    gold: Ints = field(default_factory=_no_ints)  # [tokens] the oracle, or what is known of it; empty if unknown
    edge_row_offsets: Longs = field(default_factory=lambda: np.zeros(1, np.int64))  # [tokens + 1]; [1] where none
    edge_rows: Ints = field(default_factory=_no_ints)  # the edge features of each token
    importance: Floats = field(default_factory=_no_floats)  # [tokens]; empty if every token counts alike
    token_bans: Floats = field(
        default_factory=lambda: np.empty((0, 0), np.float32)
    )  # [tokens, labels] 0 or minus infinity, in tagging; empty where no token has a forced tag
    allowed: Bools = field(
        default_factory=lambda: np.empty((0, 0), np.bool_)
    )  # [sets, labels] gold is -1 where any tag will do, and -2 - s where one of allowed[s] will
    words: Ints = field(default_factory=_no_ints)  # [tokens] which word each is, -1 if unknown; empty where nobody asks
    cuts: Bools = field(default_factory=lambda: np.empty(0, np.bool_))  # [tokens] where pieces begin; empty: no pieces
    zero_offsets: Longs = field(default_factory=lambda: np.zeros(1, np.int64))  # [tokens + 1]; [1] where none
    zero_rows: Ints = field(default_factory=_no_ints)  # ready-made features of value 0: no score, but seen with a tag
    part_of: int = 0  # sentences of the corpus that this is a part of; 0 where it is the whole

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
        return Samples(
            self.offsets,
            self.row_offsets,
            self.rows,
            self.values,
            self.gold,
            self.edge_row_offsets,
            self.edge_rows,
            self.importance,
            self.allowed,
            self.words,
            self.cuts,
        )


def join_encoded(parts: Sequence[EncodedCorpus]) -> EncodedCorpus:
    """Return several encoded blocks as one corpus."""

    def ends(arrays: list[Longs]) -> Longs:
        return np.cumsum(np.concatenate([np.zeros(1, np.int64), *map(np.diff, arrays)]))

    gold: Ints = np.concatenate([part.gold for part in parts])
    return EncodedCorpus(
        ends([part.offsets for part in parts]),
        ends([part.row_offsets for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.values for part in parts]),
        gold,
        ends([part.edge_row_offsets for part in parts]),
        np.concatenate([part.edge_rows for part in parts]),
        words=np.concatenate([part.words for part in parts]),
    )


def subset(corpus: EncodedCorpus, sentences: Longs) -> EncodedCorpus:
    """Return some sentences of a corpus, in the order given."""
    tokens = _ranges(corpus.offsets, sentences)
    rows = _ranges(corpus.row_offsets, tokens)
    return EncodedCorpus(
        _offsets(corpus.offsets, sentences),
        _offsets(corpus.row_offsets, tokens),
        corpus.rows[rows],
        corpus.values[rows] if len(corpus.values) else corpus.values,
        corpus.gold[tokens],
        *_edge_rows(corpus, tokens),
        corpus.importance[tokens] if len(corpus.importance) else corpus.importance,
        allowed=corpus.allowed,
        words=corpus.words[tokens] if len(corpus.words) else corpus.words,
    )


def _edge_rows(corpus: EncodedCorpus, tokens: Longs) -> tuple[Longs, Ints]:
    if len(corpus.edge_row_offsets) == 1:
        return corpus.edge_row_offsets, corpus.edge_rows
    return _offsets(corpus.edge_row_offsets, tokens), corpus.edge_rows[_ranges(corpus.edge_row_offsets, tokens)]


def _ranges(offsets: Longs, chosen: Longs) -> Longs:
    """offsets[c] up to offsets[c + 1] for every c that is chosen, one after the other."""
    sizes = offsets[chosen + 1] - offsets[chosen]
    begins = np.repeat(offsets[chosen] - np.cumsum(sizes) + sizes, sizes)
    return np.asarray(begins + np.arange(sizes.sum()), np.int64)


def _offsets(offsets: Longs, chosen: Longs) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(offsets[chosen + 1] - offsets[chosen])])


@dataclass(frozen=True, slots=True)
class Pairs:
    """Edge feature e has the pairs codes[offsets[e]:offsets[e+1]], in order; p followed by y is p * labels + y."""

    offsets: Longs  # [edge features + 1]
    codes: Ints  # [entries]

    @classmethod
    def none(cls) -> "Pairs":
        """Return the pairs of no edge features."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32))

    @property
    def owners(self) -> Ints:
        """[entries] the edge feature of each entry."""
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
    code[corpus.offsets[:-1][np.diff(corpus.offsets) > 0]] = -1  # nothing stands before a sentence
    code = np.repeat(code, np.diff(corpus.edge_row_offsets))
    seen = code >= 0
    return _of_keys(
        np.unique(corpus.edge_rows[seen].astype(np.int64) * labels * labels + code[seen]), edge_features, labels
    )


def joined_pairs(old: Pairs, new: Pairs) -> tuple[Pairs, Longs]:
    """Return the pairs of both, and the entries of the old ones before which the added ones stand.

    Both must be of the same edge features. If nothing is added, the old pairs are returned as they are.
    """
    owners = new.owners
    places = _places(old, owners, new.codes)
    known = places < old.offsets[owners + 1]
    known[known] = old.codes[places[known]] == new.codes[known]
    places, added = places[~known], owners[~known]
    if not len(added):
        return old, places
    more = np.cumsum(np.bincount(added, minlength=len(old.offsets) - 1))
    offsets = old.offsets + np.concatenate([np.zeros(1, np.int64), more])
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


def _of_keys(keys: Longs, edge_features: int, labels: int) -> Pairs:
    owners, codes = np.divmod(keys, labels * labels)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(owners, minlength=edge_features))])
    return Pairs(offsets, codes.astype(np.int32))
