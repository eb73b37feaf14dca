"""MIRA (Crammer & Singer 2003; McDonald et al. 2005): the smallest change that separates the oracle from its rivals.

    minimise |w' - w|^2 / 2  subject to  w'.F(x, y*) - w'.F(x, y_k) >= loss(y*, y_k)  for the candidates y_k

The loss is the Hamming loss: the number of wrong tags. `mira` has one candidate, the best tagging; `mira-nbest` has the
n best taggings, and each adds a constraint. There is no rate, no regulariser and no limit on the step (no C), so the
weights keep growing on data that cannot be separated, as the paper shows.
"""

import math
from collections.abc import Iterator

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import mira as kernel
from sapo.kernels.types import Doubles, Longs, Parts
from sapo.learn.passes import learn_run, runs_of, search_of
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def mira_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn with one candidate, the best tagging; yield the number of samples after each run of them."""
    return _pass(weights, corpus, order, 1, settings, totals)


def mira_nbest_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn with the n best taggings as candidates; yield the number of samples after each run of them."""
    return _pass(weights, corpus, order, settings.number, settings, totals)


def _pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, n: int, settings: Settings, totals: Doubles
) -> Iterator[int]:
    search = search_of(settings, n=n, margin=math.inf)
    samples, state = corpus.samples, weights.state

    def learn(run: Longs, parts: Parts) -> int:
        return kernel.mira_samples(run, samples, parts, state, search, totals)

    for run in runs_of(order):
        learn_run(weights, corpus, run, settings, learn)
        yield len(run)
