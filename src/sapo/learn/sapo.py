"""SAPO: search-based probabilistic online learning (Algorithm 1 of the paper).

    repeat
        draw a sample z = (x, y*) at random from the training set S
        search the top-n outputs Y_n = {y_1 ... y_n} under w
        P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
        w <- w - rate * P_k * F(x, y_k)             for every y_k in Y_n
        w <- w + rate * F(x, y*)
        w <- w - rate * strength / |S| * grad R(w)  with R(w) = |w|^2 / 2 for L2
    until convergence

The kernel does this for a few hundred samples at a time. With n = 1 this is the structured perceptron; with n = all
taggings it is the stochastic gradient of a CRF. If some tags of y* are missing, y* is the best tagging that agrees with
the tags that are known, and all other taggings that agree with them are removed from Y_n.
"""

import math
from collections.abc import Iterator

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import sapo as kernel
from sapo.kernels.types import Doubles, Longs, Parts
from sapo.learn.passes import learn_run, rates_of, runs_of, search_of
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def sapo_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them.

    What is counted on the way is added to `totals` (see kernels/update.py).
    """
    rates = rates_of(rate, settings, corpus.sentences_in_all)
    search = search_of(settings, n=settings.number, margin=math.log(settings.stop_ratio))
    samples, state = corpus.samples, weights.state

    def learn(run: Longs, parts: Parts) -> int:
        return kernel.sapo_samples(run, samples, parts, state, search, rates, totals)

    for run in runs_of(order):
        learn_run(weights, corpus, run, settings, learn)
        yield len(run)
