"""SAPO: search-based probabilistic online learning (Algorithm 1 of the paper).

    repeat
        draw a sample z = (x, y*) at random from the training set S
        search the top-n outputs Y_n = {y_1 ... y_n} under w
        P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
        w <- w - rate * P_k * F(x, y_k)             for every y_k in Y_n
        w <- w + rate * F(x, y*)
        w <- w - rate * strength / |S| * grad R(w)  with R(w) = |w|^2 / 2
    until convergence

The kernel does this for some hundred samples at a time; n = 1 is the structured perceptron, n = all taggings the
stochastic gradient of a CRF.
"""

import math
from collections.abc import Iterator

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import sapo as kernel
from sapo.kernels.types import Doubles, Longs
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

SAMPLES = 256  # learned from in one call; then Ctrl-C and the progress display have their turn


def sapo_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; say after each run of samples how many there were."""
    for samples in np.split(order, range(SAMPLES, len(order), SAMPLES)):
        weights.scale = kernel.sapo_samples(
            samples,
            corpus.offsets,
            corpus.row_offsets,
            corpus.rows,
            corpus.values,
            corpus.gold,
            weights.features,
            weights.edges,
            weights.transitions,
            weights.scale,
            settings.n,
            math.log(settings.stop_ratio),
            rate,
            rate * settings.strength / corpus.sentences,
            totals,
        )
        yield len(samples)
