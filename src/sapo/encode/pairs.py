"""Edge features and gold tags in, the pairs of labels that get a weight out.

An edge feature joins an observation with a pair of labels. With 45 labels there are 2,025 pairs, most of which never
occur with most words: only pairs that training has seen get a weight.
"""

from dataclasses import dataclass

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Ints, Longs


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
