"""What the passes of all learners have in common: runs of samples, how far a sample moves the weights, and threads.

Threads learn without locks, as in the authors' release: they read and write the same arrays; now and then a change is
lost, which does little harm since changes are sparse. The result is not the same from run to run. Each thread keeps its
own scale for a run of samples; between runs these are joined.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import update
from sapo.kernels.types import Doubles, Longs, Rates
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

Pass = Callable[[Weights, EncodedCorpus, Longs, float, Settings, Doubles], Iterator[int]]
SAMPLES = 256  # of a run


def runs_of(order: Longs) -> Iterator[Longs]:
    """Cut an order of samples into runs of some hundred: in between, Ctrl-C and the progress display get a turn."""
    for begin in range(0, len(order), SAMPLES):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES])


def rates_of(rate: float, settings: Settings, sentences: int) -> Rates:
    """The rate of a pass with the regulariser's share of one sample."""
    penalty = rate * settings.strength / sentences
    return Rates(
        rate,
        penalty if settings.regulariser == "l2" else 0.0,
        penalty if settings.regulariser == "l1" else 0.0,
    )


def threaded(one_pass: Pass) -> Pass:
    """A pass that uses as many threads as the settings say."""

    def run(
        weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
    ) -> Iterator[int]:
        if settings.threads == 1:
            yield from one_pass(weights, corpus, order, rate, settings, totals)
            return
        shrink = rate * settings.strength / corpus.sentences if settings.regulariser == "l2" else 0.0
        if (1 - shrink) ** SAMPLES < 4 * update.SMALLEST_SCALE:
            raise SapoError(f"the strength {settings.strength} is too large for {settings.threads} threads; use one")

        def work(samples: Longs, before: Doubles) -> tuple[Weights, Doubles]:
            mine = replace(weights, state=before.copy())
            counts = np.zeros_like(totals)
            for _ in one_pass(mine, corpus, samples, rate, settings, counts):
                pass
            return mine, counts

        with ThreadPoolExecutor(settings.threads) as pool:
            runs = list(runs_of(order))
            for begin in range(0, len(runs), settings.threads):
                batch = runs[begin : begin + settings.threads]
                if weights.scale < 8 * update.SMALLEST_SCALE:
                    weights.fold()  # while nobody else looks: a thread must not do it alone
                before = weights.state.copy()
                for mine, counts in pool.map(work, batch, [before] * len(batch)):
                    _join(weights.state, before, mine.state)
                    totals += counts
                yield sum(map(len, batch))

    return run


def _join(state: Doubles, before: Doubles, mine: Doubles) -> None:
    """Add what one thread did: scales multiply, the rest adds up."""
    state[update.SCALE] *= mine[update.SCALE] / before[update.SCALE]
    for index in (update.CLOCK, update.STEPS, update.PENALTY):
        state[index] += mine[index] - before[index]
