"""Numeric features of any size in, values of about 1 out, and back.

A feature of value x and weight w scores as one of value x * s and weight w / s. But a step of the same rate moves the
score by s^2 times as much: a feature whose values are in the hundreds, such as the index of a token, would drown all
others. So online learners see values that are at most about 1, and the weights are turned back when they are learned.
"""

from dataclasses import replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Floats

LARGEST = 100  # exponent of a factor: float32 must have room for it, for its reciprocal, and for weights times these


def scales_of(corpus: EncodedCorpus, features: int) -> Floats:
    """Return a factor for each feature that makes its largest value about 1; empty if all of them are 1.

    They are powers of two: to multiply by them and to divide again changes no number.

    >>> corpus = EncodedCorpus(np.array([0, 2]), np.arange(3), np.array([0, 1], np.int32), np.array([1, 40], "f4"))
    >>> scales_of(corpus, 2).tolist()
    [1.0, 0.03125]
    """
    if not len(corpus.values) or not features:
        return np.empty(0, np.float32)
    largest = np.zeros(features, np.float32)
    np.maximum.at(largest, corpus.rows, np.abs(corpus.values))
    largest[largest == 0] = 1.0
    exponents = np.round(np.log2(largest.astype(np.float64)))
    scales = np.exp2(-np.clip(exponents, -LARGEST, LARGEST)).astype(np.float32)
    return np.empty(0, np.float32) if (scales == 1).all() else scales


def scaled(corpus: EncodedCorpus, scales: Floats) -> EncodedCorpus:
    """Return the corpus with each value multiplied by the factor of its feature."""
    if not len(scales) or not len(corpus.rows):
        return corpus
    values = corpus.values if len(corpus.values) else np.ones(len(corpus.rows), np.float32)
    return replace(corpus, values=values * scales[corpus.rows])
