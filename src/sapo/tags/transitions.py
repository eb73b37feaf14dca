"""Gold tags in, how often each pair of neighbours occurs out, in the shape of bans; and where one of them occurs."""

import numpy as np

from sapo.kernels.types import Floats, Ints, Longs


def transition_counts(gold: Ints, offsets: Longs, labels: int) -> Longs:
    """[labels + 2, labels] y after p; y at the start; y at the end. Missing tags (-1) count nowhere.

    >>> transition_counts(np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), 2).tolist()
    [[0, 1], [0, 0], [1, 1], [0, 2]]
    """
    rows, tags, _ = _neighbours(gold, offsets, labels)
    counts: Longs = np.bincount(rows * labels + tags, minlength=(labels + 2) * labels).reshape(labels + 2, labels)
    return counts


def first_sentence_with(banned: Floats, gold: Ints, offsets: Longs) -> int:
    """The number, from 1, of the first sentence that has something forbidden; 0 where there is none."""
    rows, tags, sentences = _neighbours(gold, offsets, banned.shape[1])
    broken = banned[rows, tags] < 0
    return int(sentences[broken].min()) + 1 if broken.any() else 0


def _neighbours(gold: Ints, offsets: Longs, labels: int) -> tuple[Longs, Longs, Longs]:
    """Row and column of every pair of neighbours in the shape of bans, and its sentence."""
    sizes = np.diff(offsets)
    filled = np.flatnonzero(sizes > 0)
    starts, ends = offsets[:-1][filled], offsets[1:][filled] - 1
    sentence_of = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.ones(len(gold), bool)
    inside[starts] = False
    after = np.flatnonzero(inside)
    rows = np.concatenate([gold[after - 1], np.full(len(starts), labels), np.full(len(ends), labels + 1)])
    places = np.concatenate([after, starts, ends])
    tags = gold[places]
    known = (rows >= 0) & (tags >= 0)
    return rows[known].astype(np.int64), tags[known].astype(np.int64), sentence_of[places[known]]
