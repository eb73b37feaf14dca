"""Gold tags in, how often each pair of neighbours occurs out, in the shape of bans (see bans.py)."""

import numpy as np

from sapo.kernels.types import Floats, Ints, Longs

Transition = tuple[str | None, str | None]  # None is the border of a sentence


def transition_counts(gold: Ints, offsets: Longs, labels: int) -> Longs:
    """Return how often each label follows each other one, begins a sentence and ends one: [labels + 2, labels].

    Tags below 0, which are missing or open, are not counted.

    >>> transition_counts(np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), 2).tolist()
    [[0, 1], [0, 0], [1, 1], [0, 2]]
    """
    rows, tags, _ = _neighbours(gold, offsets, labels)
    counts: Longs = np.bincount(rows * labels + tags, minlength=(labels + 2) * labels).reshape(labels + 2, labels)
    return counts


def first_forbidden(bans: Floats, gold: Ints, offsets: Longs) -> int | None:
    """Return the number, from 0, of the first sentence with a forbidden transition; None if there is none.

    >>> bans = np.zeros((4, 2), np.float32)
    >>> bans[0, 1] = -np.inf  # label 1 may not follow label 0
    >>> first_forbidden(bans, np.array([1, 0, 0, 1], np.int32), np.array([0, 2, 4]))
    1
    """
    rows, tags, sentences = _neighbours(gold, offsets, bans.shape[1])
    broken = bans[rows, tags] < 0
    return int(sentences[broken].min()) if broken.any() else None


def _neighbours(gold: Ints, offsets: Longs, labels: int) -> tuple[Longs, Longs, Longs]:
    """Return row and column of every pair of neighbours in the shape of bans, and its sentence."""
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
