"""Bans in, whether there is a tagging at all out."""

import numpy as np

from sapo.kernels.types import Bools, Floats, Longs

LONGEST = 1000  # tokens up to which it is tried, if the sets of labels that can be reached never repeat


def impossible_length(bans: Floats) -> int:
    """The length of the shortest sentence that has no tagging; 0 where every sentence has one.

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
    """The first sentence, of those with a token that is chosen, where no tagging has only what is allowed.

    `allowed[t, y]` tells whether token t may have the label y; `chosen[t]` which tokens are worth the look.
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
