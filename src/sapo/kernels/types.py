"""The arrays that kernels take, by dtype, and the bundles of them that learners share. Shapes stand beside each.

A field that is None leaves out what is done with it, and that is not even compiled: numba drops a branch on
`argument is None`. It looks at arguments only, so such a field goes to a function of its own as an argument.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Reals = NDArray[np.float32] | NDArray[np.float64]  # compiled for each
Bools = NDArray[np.bool_]
Shorts = NDArray[np.uint16]
Places = NDArray[np.uint32] | NDArray[np.int64]  # of weights: see kernels/changes.py


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


class Rows(NamedTuple):
    """The weights of features. A feature has a short list of labels with weights, or a dense row of all labels."""

    head: Longs  # [features] where each has its weights (see kernels/weights.py); empty: feature f has the dense row f
    labels: Shorts  # [entries] the label of each entry of the short lists
    values: Floats  # [entries, 1] and its weight
    dense: Floats  # [dense rows, width] the first columns are the labels; the others are spare


class Lists(NamedTuple):
    """How to leave few labels a token, where there are many (see kernels/short.py)."""

    most: int | None  # labels that are left, at most; None: all of them
    order: Ints  # [labels] the labels by how often they occur, the most frequent first
    offsets: Longs  # [words + 1] the labels that each frequent word was seen with; no labels where it is not frequent
    labels: Shorts


class TaggingWeights(NamedTuple):
    """The weights as tagging needs them."""

    features: Rows
    edges: Floats  # [labels, labels]
    pairs: Floats  # [entries, 1] of edge features: see pair_offsets
    pair_offsets: Longs  # [edge features + 1] the entries of each edge feature
    pair_codes: Ints  # [entries] the pair p, y of an entry as p * labels + y, in order
    bans: Floats  # [labels + 2, labels] 0 or minus infinity: y after p; then y at the start; then y at the end
    lists: Lists
    bound: bool  # whether the bans say anything


class Part(NamedTuple):
    """One block of weights with what averaging and L1 need beside it; those are empty where they are not wanted."""

    v: Floats  # [rows, columns]
    sums: Floats
    received: Floats


class LearnedRows(NamedTuple):
    """The weights of features while they are learned: as in Rows, with room to grow."""

    head: Longs
    labels: Shorts
    entries: Part  # [entries, 1]
    dense: Part  # [dense rows, width]
    room: Longs  # [6] what is used, and of how much: see kernels/weights.py


class Parts(NamedTuple):
    """All weights of a learner, which are scale * v (see learn/weights.py); the rest is as in TaggingWeights."""

    nodes: LearnedRows
    edges: Part  # [labels, labels]
    pairs: Part  # [entries, 1]
    pair_offsets: Longs
    pair_codes: Ints
    with_edges: bool  # whether plain pairs of labels have weights
    bans: Floats
    lists: Lists
    bound: bool


class Flat(NamedTuple):
    """Which place of a vector each weight has: those of features come first, then pairs of labels, then edge features.

    Only what training shows has a weight (see learn/batch_crf.py).
    """

    offsets: Longs  # [features + 1] the places of each feature
    labels: Shorts  # [places of features] the label of each
    edges: Longs  # [labels, labels] the place of each pair of labels; -1 where it has no weight
    first_pair: int  # the first place of edge features
    pair_offsets: Longs  # as in TaggingWeights
    pair_codes: Ints
    bans: Floats


class Search(NamedTuple):
    """Which search to use, and what to ask it for."""

    n: int
    margin: float  # leave out taggings that score this much less than the best one
    astar: bool | None = None  # True: by A*
    width: int | None = None  # of the beam: by beam search


class Rates(NamedTuple):
    """How far a sample moves the weights."""

    rate: float
    shrink: float  # L2: rate * strength / |S|
    owed: float | None  # L1: rate * strength / |S|


class Rivals(NamedTuple):
    """The oracle, and the candidates that are weighed against it."""

    oracle: Ints  # [T]
    paths: Ints  # [found, T]
    coefficients: Doubles  # [found]
    found: int
    mass: float  # the sum of the coefficients
