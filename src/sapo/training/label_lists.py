"""Gold tags and words in, how to leave few labels a token out (see kernels/short.py)."""

import numpy as np

from sapo.kernels.types import Lists
from sapo.learn.chunks import Corpus, parts_of
from sapo.search.lattice import ALL_LABELS

# Above it lists are short (benchmarks/README.md, "Many labels"). A list is chosen without transitions, so it may lack
# the label that must follow in a span. Up to this many labels, an exact search is affordable and avoids that loss.
MANY_LABELS = 300
MOST = 16  # labels of a token that are left, at most
NEVER = -(1 << 62)
FREQUENT = 50  # times that a word must occur, so that it is tagged with labels it was seen with alone


def label_lists(source: Corpus, labels: int, *, exact: bool = False) -> Lists:
    """Return the lists for this training data; with few labels, or if it is to be `exact`, all are looked at."""
    if exact or labels <= MANY_LABELS:
        return ALL_LABELS
    counts = np.zeros(labels, np.int64)
    times = np.empty(0, np.int64)  # of each word; a missing tag may be any, and then the word is as if it were rare
    pairs = np.empty(0, np.int64)  # of a word and a label
    for part in parts_of(source):
        known = part.gold >= 0
        counts += np.bincount(part.gold[known], minlength=labels)
        if not len(part.words):
            continue
        words = part.words
        size = max(len(times), int(words.max(initial=-1)) + 1)
        times = np.append(times, np.zeros(size - len(times), np.int64))
        times += np.bincount(words[known & (words >= 0)], minlength=size)
        times[words[~known & (words >= 0)]] = NEVER
        seen = known & (words >= 0)
        pairs = np.union1d(pairs, words[seen].astype(np.int64) * labels + part.gold[seen])
    order = np.argsort(-counts, kind="stable").astype(np.int32)
    pairs = pairs[times[pairs // labels] >= FREQUENT]
    offsets = np.append(0, np.cumsum(np.bincount(pairs // labels, minlength=len(times))))
    return Lists(MOST, order, offsets, (pairs % labels).astype(np.uint16))
