"""The structured perceptron (Collins 2002): find the best tagging; if it is wrong, move towards the oracle.

    w <- w + rate * (F(x, y*) - F(x, y))

The rate is 1, and there is no regulariser. `perceptron-avg` returns the average of w over all steps.
"""

from collections.abc import Iterator

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import perceptron as kernel
from sapo.kernels.types import Doubles, Longs, Parts
from sapo.learn.passes import learn_run, runs_of
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def perceptron_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them.

    What is counted on the way is added to `totals` (see kernels/update.py).
    """
    samples, state = corpus.samples, weights.state

    def learn(run: Longs, parts: Parts) -> int:
        return kernel.perceptron_samples(run, samples, parts, state, 1.0, totals)

    for run in runs_of(order):
        learn_run(weights, corpus, run, settings, learn)
        yield len(run)
