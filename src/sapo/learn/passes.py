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
from sapo.kernels.types import Doubles, Longs, Parts, Rates, Search
from sapo.learn.rows import LearningRows
from sapo.learn.settings import AUTO, Settings
from sapo.learn.weights import Weights

Pass = Callable[[Weights, EncodedCorpus, Longs, float, Settings, Doubles], Iterator[int]]
SAMPLES = 256  # of a run
STEPS = 50_000_000  # of a call of a kernel, each a pair of labels: about a tenth of a second


def runs_of(order: Longs) -> Iterator[Longs]:
    """Cut an order of samples into runs of some hundred: in between, Ctrl-C and the progress display get a turn."""
    for begin in range(0, len(order), SAMPLES):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES])


class NoRoomError(Exception):
    """A thread has no room for new weights; says how many samples it has done."""

    def __init__(self, done: int) -> None:
        super().__init__(done)
        self.done = done


def learn_run(
    weights: Weights, corpus: EncodedCorpus, run: Longs, settings: Settings, learn: Callable[[Longs, Parts], int]
) -> None:
    """Learn from a run of samples, in parts where it takes long."""
    before = 0
    for part in parts_of(run, weights, corpus, settings):
        try:
            _learn_part(weights, corpus, part, learn)
        except NoRoomError as error:
            raise NoRoomError(before + error.done) from None
        before += len(part)


def parts_of(run: Longs, weights: Weights, corpus: EncodedCorpus, settings: Settings) -> list[Longs]:
    """Cut a run where labels, n or sentences are large, so that Ctrl-C never has to wait long for a kernel."""
    few = weights.lists.most
    labels = few or len(weights.bans) - 2
    lengths = corpus.offsets[run + 1] - corpus.offsets[run]
    n = 1 if settings.n == AUTO else settings.n  # not used by this learner
    steps = np.cumsum(lengths * (labels * (labels + n)))
    if not len(run) or steps[-1] <= STEPS:
        return [run]
    if few and any((corpus.gold[corpus.offsets[i] : corpus.offsets[i + 1]] < 0).any() for i in run.tolist()):
        return [run]  # kernels look at all labels of a run in which some tag is open
    return np.split(run, np.flatnonzero(np.diff(steps // STEPS)) + 1)


def _learn_part(weights: Weights, corpus: EncodedCorpus, run: Longs, learn: Callable[[Longs, Parts], int]) -> None:
    """Call the kernel. Where it has no room for new weights, make some and go on."""
    done = learn(run, weights.parts)
    while done < len(run):
        if weights.rows.shared:
            raise NoRoomError(done)
        first, last = corpus.offsets[run[done] : run[done] + 2]
        weights.rows.grow(int(corpus.row_offsets[last] - corpus.row_offsets[first]))
        run = np.ascontiguousarray(run[done:])
        done = learn(run, weights.parts)


def search_of(settings: Settings, *, n: int, margin: float) -> Search:
    """The search for the n best taggings, without those that score less than the best one by more than `margin`."""
    return Search(
        n,
        margin,
        True if settings.search == "astar" else None,
        settings.width if settings.search == "beam" else None,
    )


def rates_of(rate: float, settings: Settings, sentences: int) -> Rates:
    """The rate of a pass with the regulariser's share of one sample."""
    penalty = rate * settings.strength / sentences
    return Rates(
        rate,
        penalty if settings.regulariser == "l2" else 0.0,
        penalty if settings.regulariser == "l1" else None,
    )


def threaded(one_pass: Pass) -> Pass:
    """A pass that uses as many threads as the settings say."""

    def run(
        weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
    ) -> Iterator[int]:
        if settings.threads == 1:
            yield from one_pass(weights, corpus, order, rate, settings, totals)
            return
        shrink = rate * settings.strength / corpus.sentences_in_all if settings.regulariser == "l2" else 0.0
        if (1 - shrink) ** SAMPLES < 4 * update.SMALLEST_SCALE:
            raise SapoError(f"the strength {settings.strength} is too large for {settings.threads} threads; use one")

        def work(samples: Longs, before: Doubles, rows: LearningRows) -> tuple[Weights, Doubles, Longs]:
            mine = replace(weights, state=before.copy(), rows=rows)
            counts = np.zeros_like(totals)
            done = 0
            try:
                for part in parts_of(samples, mine, corpus, settings):
                    if stopped:
                        break
                    for _ in one_pass(mine, corpus, part, rate, settings, counts):
                        pass
                    done += len(part)
            except NoRoomError as error:
                return mine, counts, samples[done + error.done :]
            return mine, counts, samples[:0]

        stopped: list[bool] = []
        runs = list(runs_of(order))
        arenas = weights.rows.arenas(settings.threads)
        try:
            with ThreadPoolExecutor(settings.threads) as pool:
                for begin in range(0, len(runs), settings.threads):
                    batch = runs[begin : begin + settings.threads]
                    if weights.scale < 8 * update.SMALLEST_SCALE:
                        weights.fold()  # while nobody else looks: a thread must not do it alone
                    before = weights.state.copy()
                    left = []
                    try:
                        for mine, counts, rest in pool.map(work, batch, [before] * len(batch), arenas):
                            _join(weights.state, before, mine.state)
                            totals += counts
                            left.append(rest)
                    except BaseException:
                        stopped.append(True)
                        raise
                    weights.rows.join(arenas)  # others look at all weights before the next run
                    waiting = np.concatenate(left)
                    if len(waiting):
                        arenas = []
                        for _ in one_pass(weights, corpus, waiting, rate, settings, totals):
                            pass
                        arenas = weights.rows.arenas(settings.threads)
                    yield sum(map(len, batch))
        finally:  # after Ctrl-C, too: nobody may take what a thread has used
            weights.rows.join(arenas)

    return run


def _join(state: Doubles, before: Doubles, mine: Doubles) -> None:
    """Add what one thread did: scales multiply, the rest adds up."""
    state[update.SCALE] *= mine[update.SCALE] / before[update.SCALE]
    for index in (update.CLOCK, update.STEPS, update.PENALTY):
        state[index] += mine[index] - before[index]
