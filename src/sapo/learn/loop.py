"""The training loop that all learners share: passes, dev set, early stopping, Ctrl-C."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sapo import kernels
from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import update
from sapo.kernels.types import Doubles, Longs
from sapo.learn.choose_n import choose_n
from sapo.learn.chunks import Chunk, Corpus, chunks_of, sample_of
from sapo.learn.dev_set import DevSet
from sapo.learn.hiding import hide
from sapo.learn.pieces import cut
from sapo.learn.records import RANKS, PassCounts, PassRecord, make_record
from sapo.learn.settings import AUTO, Settings
from sapo.learn.state import Learned, Observer, State
from sapo.learn.stopping import INTERRUPTED, Stop, prefer_last, reason_to_stop
from sapo.search.lattice import Parameters

# at most this often is n measured: a small n makes flat weights, flat weights ask for a larger n, and so on
MEASUREMENTS = 6

# Weights, corpus, order of the samples, rate, settings, totals: learn, and yield the number of samples now and then.
LearnerPass = Callable[[Any, EncodedCorpus, Longs, float, Settings, Doubles], Iterator[int]]

# Makes a pass, as `run_pass` does here and sapo.cluster does elsewhere.
RunPass = Callable[..., PassCounts]


def learn(
    learner: LearnerPass,
    corpus: Corpus,
    settings: Settings,
    state: State,
    *,
    dev: DevSet | None = None,
    observers: Sequence[Observer] = (),
    passes: RunPass | None = None,
) -> Stop:
    """Train from `state` to the end, changing it in place; return why training stopped.

    `passes` makes the passes in the place of `run_pass`.
    """
    if not state.weights.own_rules:
        settings.shrink_of(corpus.sentences)  # raises if L2 would flip the sign of the weights
    try:
        while True:
            reason = reason_to_stop(state, settings, dev)
            if reason:
                if dev is not None and settings.average:
                    prefer_last(state, dev)
                return Stop(reason)
            record = _one_pass(learner, corpus, settings, state, dev, observers, passes or run_pass)
            state.history.append(record)
            for observer in observers:
                observer.passed(record, state)
    except KeyboardInterrupt:
        return INTERRUPTED


def final_weights(state: State) -> Parameters:
    """Return the weights that were best on the dev set, or the last ones if there is no dev set."""
    weights: Learned = state.weights
    return weights.finish(state.best)


def n_of_pass(corpus: Corpus, settings: Settings, state: State) -> int:
    """Return the n of the next pass.

    `auto` is measured before each pass until it stays the same. It depends only on the state, so that a resumed run
    continues in the same way.
    """
    if settings.n != AUTO:
        return settings.n
    used = [record.n for record in state.history]
    if len(used) >= MEASUREMENTS or (len(used) > 1 and used[-1] == used[-2]):
        return used[-1]
    return choose_n(sample_of(corpus), state.weights.current(), seed=settings.seed)


def _one_pass(
    learner: LearnerPass,
    corpus: Corpus,
    settings: Settings,
    state: State,
    dev: DevSet | None,
    observers: Sequence[Observer],
    passes: RunPass,
) -> PassRecord:
    epoch = state.epoch + 1
    weights: Learned = state.weights
    started = kernels.clock()
    settings = replace(settings, n=n_of_pass(corpus, settings, state))
    choosing = kernels.clock() - started
    done = passes(learner, corpus, settings, weights, epoch, observers=observers)
    record = make_record(done, corpus, settings, weights)
    record = replace(record, seconds=record.seconds + choosing)
    if dev is None:
        return record
    true_weights = weights.true_weights()
    value = dev.evaluate(true_weights).main[1]
    if value > max((record.dev or 0.0 for record in state.history), default=-math.inf):
        state.best, state.best_epoch = weights.keep(true_weights), epoch
    return replace(record, dev=value)


def run_pass(
    learner: LearnerPass,
    corpus: Corpus,
    settings: Settings,
    weights: Any,
    epoch: int,
    *,
    observers: Sequence[Observer] = (),
) -> PassCounts:
    """Learn from every sentence once, and return what was counted.

    Work that grows with the number of weights, not of sentences, is left to `make_record`.
    """
    if settings.average and epoch == settings.averaged_from:
        weights.begin_average()
    rate = settings.rate_of(epoch)
    totals = np.zeros(update.BY_RANK + RANKS)
    done = 0
    seconds = 0.0
    started = kernels.clock()
    for samples in _samples(learner, corpus, settings, weights, epoch, totals):
        seconds += kernels.clock() - started
        done += samples
        for observer in observers:
            observer.samples(epoch, done, corpus.sentences)
        started = kernels.clock()
    weights.pay_penalties()
    return PassCounts(epoch, rate, totals, seconds)


def _samples(
    learner: LearnerPass, corpus: Corpus, settings: Settings, weights: Any, epoch: int, totals: Doubles
) -> Iterator[int]:
    """Learn from one chunk after the other, and yield the number of samples now and then."""
    for chunk in chunks_of(corpus, settings, epoch):
        part = prepared(chunk, settings, weights, epoch)
        yield from learner(weights, part, chunk.order, settings.rate_of(epoch), settings, totals)
        del chunk, part  # before the next one is read: two would be the peak of memory


def prepared(chunk: Chunk, settings: Settings, weights: Any, epoch: int) -> EncodedCorpus:
    """Return the corpus of a chunk as a pass learns from it: without what is hidden, and cut into pieces."""
    part = chunk.corpus
    if settings.hide:
        part = hide(part, settings.hide, settings.seed, epoch, counts=chunk.counts, places=chunk.row_places)
    if settings.piece:
        part = cut(part, settings.piece, settings.seed, epoch, weights.bans, chunk.places)
    return part
