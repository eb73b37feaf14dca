"""Gold tags and words in, how to leave few labels a token out (see kernels/short.py)."""

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Lists
from sapo.search.lattice import ALL_LABELS

MANY_LABELS = 100  # above it lists are short: see benchmarks/README.md, "Many labels"
MOST = 16  # labels of a token that are left, at most
FREQUENT = 50  # times that a word must occur, so that it is tagged with labels it was seen with alone


def label_lists(corpus: EncodedCorpus, labels: int, *, exact: bool = False) -> Lists:
    """Return the lists for this training data; with few labels, or if it is to be `exact`, all are looked at."""
    if exact or labels <= MANY_LABELS:
        return ALL_LABELS
    known = corpus.gold >= 0
    counts = np.bincount(corpus.gold[known], minlength=labels)
    order = np.argsort(-counts, kind="stable").astype(np.int32)
    if not len(corpus.words):
        return Lists(MOST, order, np.zeros(1, np.int64), np.empty(0, np.uint16))
    words, gold = corpus.words, corpus.gold
    size = int(words.max(initial=-1)) + 1
    times = np.bincount(words[known & (words >= 0)], minlength=size)
    open_words = np.unique(words[~known & (words >= 0)])  # a missing tag may be any
    times[open_words] = 0
    wanted = known & (words >= 0)
    wanted[wanted] = times[words[wanted]] >= FREQUENT
    pairs = np.unique(words[wanted].astype(np.int64) * labels + gold[wanted])
    offsets = np.append(0, np.cumsum(np.bincount(pairs // labels, minlength=size)))
    return Lists(MOST, order, offsets, (pairs % labels).astype(np.uint16))
