"""Learn in several threads at once, without locks, on shared weights.

As in the authors' release, all threads read and write the same arrays. Now and then a change is lost, which does little
harm because changes are sparse; but the result differs from run to run. Each thread keeps its own scale while it works
on a run of samples, and the scales are joined after each run.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import update
from sapo.kernels.types import Doubles, Longs
from sapo.learn.loop import LearnerPass
from sapo.learn.runs import SAMPLES, runs_of
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


def threaded(one_pass: LearnerPass) -> LearnerPass:
    """Return a pass that does the same in as many threads as the settings ask for.

    Raises SapoError if L2 shrinks the weights too fast for several threads.
    """

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
                    weights.fold()  # now, while no thread is working: it changes all weights
                before = weights.state.copy()
                for mine, counts in pool.map(work, batch, [before] * len(batch)):
                    _join(weights.state, before, mine.state)
                    totals += counts
                yield sum(map(len, batch))

    return run


def _join(state: Doubles, before: Doubles, mine: Doubles) -> None:
    """Add the work of one thread to the shared state: scales multiply, the other numbers add up."""
    state[update.SCALE] *= mine[update.SCALE] / before[update.SCALE]
    for index in (update.CLOCK, update.STEPS, update.PENALTY):
        state[index] += mine[index] - before[index]
