"""Choose the start rate for a corpus (`rate="auto"`).

The best start rate differs between tasks by a factor of ten or more: the more features the tokens share, the more one
step changes the scores of all sentences. But the good rates of different tasks overshoot by about the same amount: a
trial pass of SAPO over some sentences has a mean loss somewhat above log n, which is the loss of a model that knows
nothing. So we halve the rate until the loss of the trial is at most TARGET times log n, and then interpolate.
"""

import math

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import update
from sapo.kernels.types import Longs
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

SENTENCES = 2000  # length of a trial
TARGET = 1.55  # chosen on CoNLL-2000, JNLPBA and EWT; see benchmarks/README.md
LARGEST, SMALLEST = 0.1, 1e-4
TRIAL = Settings(n=5, strength=0.0, regulariser="none")


def start_rate(corpus: EncodedCorpus, weights: Weights, seed: int) -> float:
    """Return the start rate for this corpus. `weights` must all be zero, and are zero again afterwards."""
    rng = np.random.default_rng(seed)
    tagged = _tagged(corpus)
    sample = tagged[rng.permutation(len(tagged))[:SENTENCES]]
    target = TARGET * math.log(TRIAL.number)
    above: tuple[float, float] | None = None  # the last rate that was too large, and its loss
    rate = LARGEST
    while True:
        loss = _trial(corpus, weights, sample, rate)
        if loss <= target or rate <= SMALLEST:
            break
        above = rate, loss
        rate /= 2
    if above is not None and loss < target:
        part = (target - loss) / (above[1] - loss)
        rate *= 2**part
    return float(f"{rate:.2g}")


def _tagged(corpus: EncodedCorpus) -> Longs:
    """Return the numbers of the sentences to learn from; those without any tag are left out."""
    known = np.append(0, np.cumsum(corpus.gold != -1))
    untagged = (np.diff(corpus.offsets) > 0) & (np.diff(known[corpus.offsets]) == 0)
    return np.flatnonzero(~untagged)


def _trial(corpus: EncodedCorpus, weights: Weights, sample: np.ndarray, rate: float) -> float:
    totals = np.zeros(update.BY_RANK)
    try:
        for _ in sapo_pass(weights, corpus, sample, rate, TRIAL, totals):
            pass
    finally:
        weights.clear()
    loss = float(totals[update.LOSS]) / len(sample)
    return loss if math.isfinite(loss) else math.inf
