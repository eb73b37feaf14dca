"""Bans in, whether sentences have any tagging at all out."""

import numpy as np

from sapo.kernels.types import Bools, Floats, Longs

LONGEST = 1000  # tokens up to which lengths are tried, if the sets of labels that can be reached never repeat


def impossible_length(bans: Floats) -> int:
    """Return the length of the shortest sentence that has no tagging; 0 if every sentence has one.

    >>> bans = np.zeros((4, 2), np.float32)
    >>> impossible_length(bans)
    0
    >>> bans[:2] = -np.inf
    >>> impossible_length(bans)
    2
    """
    L = bans.shape[1]
    steps, reached, ends = bans[:L] == 0, bans[L] == 0, bans[L + 1] == 0
    seen = set()
    for length in range(1, LONGEST):
        if not (reached & ends).any():
            return length
        if reached.tobytes() in seen:
            return 0
        seen.add(reached.tobytes())
        reached = steps[reached].any(axis=0)
    return 0


def impossible_sentence(bans: Floats, allowed: Bools, chosen: Bools, offsets: Longs) -> int | None:
    """Return the number, from 0, of the first sentence that has no tagging; None if every sentence has one.

    `allowed[t, y]` says whether token t may have the label y. Only sentences with a token t where `chosen[t]` are
    examined.

    >>> bans, allowed = np.zeros((4, 2), np.float32), np.array([[True, True], [True, False], [False, True]])
    >>> bans[0, 1] = -np.inf  # label 1 may not follow label 0
    >>> impossible_sentence(bans, allowed, np.array([False, True, True]), np.array([0, 1, 3]))
    1
    """
    L = bans.shape[1]
    steps, starts, ends = bans[:L] == 0, bans[L] == 0, bans[L + 1] == 0
    so_far = np.append(0, np.cumsum(chosen))
    for sentence in np.flatnonzero(so_far[offsets[1:]] > so_far[offsets[:-1]]).tolist():
        first, last = offsets[sentence : sentence + 2].tolist()
        reached = starts & allowed[first]
        for token in range(first + 1, last):
            reached = steps[reached].any(axis=0) & allowed[token]
        if not (reached & ends).any():
            return sentence
    return None
