"""The conditional random field (Lafferty et al. 2001), trained by stochastic gradient.

    w <- w + rate * (F(x, y*) - E[F(x, y)])     the expectation over all taggings, by forward-backward
    w <- w - rate * strength / |S| * grad R(w)

Rate and regulariser are those of SAPO; a CRF is SAPO with n = all taggings. If some tags of y* are missing, F(x, y*) is
the expectation over all taggings that agree with the known tags: the gradient of the log of their total probability.
"""

from collections.abc import Iterator

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import crf as kernel
from sapo.kernels.types import Doubles, Longs, Parts
from sapo.learn.passes import learn_run, rates_of, runs_of
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def crf_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them.

    What is counted on the way is added to `totals` (see kernels/update.py).
    """
    rates = rates_of(rate, settings, corpus.sentences_in_all)
    samples, state = corpus.samples, weights.state

    def learn(run: Longs, parts: Parts) -> int:
        return kernel.crf_samples(run, samples, parts, state, rates, totals)

    for run in runs_of(order):
        learn_run(weights, corpus, run, settings, learn)
        yield len(run)
