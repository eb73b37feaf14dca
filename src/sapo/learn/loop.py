"""Encoded corpus in, learned weights out: passes, dev set, early stop, Ctrl-C. The same for every learner."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.evaluate import Scores, score
from sapo.kernels import sapo as totals_of
from sapo.kernels import viterbi
from sapo.kernels.types import Floats, Ints
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What is measured of one pass. The seconds leave the evaluation out."""

    epoch: int
    objective: float  # mean loss of a sample, regulariser included, while the weights moved
    dev: float | None  # F1 or accuracy
    w_complexity: float  # mean |w|
    rate: float
    updated: float  # share of tokens whose features were updated
    candidates: float  # mean number of taggings found
    accuracy: float  # share of training tokens that were right when they came
    seconds: float
    tokens_per_second: float


@dataclass(slots=True)
class State:
    """Where training stands; enough to go on from a checkpoint as if nothing had happened."""

    weights: Weights
    history: list[PassRecord] = field(default_factory=list)
    best: tuple[Floats, Floats] | None = None  # true weights of the best pass on dev
    best_epoch: int = 0

    @property
    def epoch(self) -> int:
        return len(self.history)


@dataclass(frozen=True, slots=True)
class DevSet:
    """`labels` begins with the labels of training; gold may hold further ones that were never seen there."""

    corpus: EncodedCorpus
    labels: Sequence[str]

    def evaluate(self, weights: Floats, edges: Floats) -> Scores:
        return score(self.labels, self.corpus.gold, tag(self.corpus, weights, edges), self.corpus.offsets)


class Observer(Protocol):
    """Somebody who watches: a progress display, a log, a checkpoint."""

    def samples(self, epoch: int, done: int, of: int) -> None: ...

    def passed(self, record: PassRecord, state: State) -> None: ...


Learner = Callable[..., Iterator[int]]


def learn(
    learner: Learner,
    corpus: EncodedCorpus,
    settings: Settings,
    state: State,
    *,
    dev: DevSet | None = None,
    observers: Sequence[Observer] = (),
) -> str:
    """Bring `state` from where it stands to the end; return in words why training stopped."""
    try:
        while True:
            reason = _reason_to_stop(state, settings, dev)
            if reason:
                return reason
            record = _one_pass(learner, corpus, settings, state, dev, observers)
            state.history.append(record)
            for observer in observers:
                observer.passed(record, state)
    except KeyboardInterrupt:
        return "interrupted"


def final_weights(state: State) -> tuple[Floats, Floats]:
    """The best weights on dev, or the last ones where there is no dev set."""
    if state.best is not None:
        return state.best
    state.weights.fold_scale()  # in place: a copy would be the peak of memory
    return state.weights.features, state.weights.edges


def tag(corpus: EncodedCorpus, weights: Floats, edges: Floats) -> Ints:
    """The best label of every token."""
    tags = np.zeros(corpus.tokens, np.int32)
    viterbi.tag_sentences(corpus.offsets, corpus.row_offsets, corpus.rows, corpus.values, weights, edges, tags)
    return tags


def _one_pass(
    learner: Learner,
    corpus: EncodedCorpus,
    settings: Settings,
    state: State,
    dev: DevSet | None,
    observers: Sequence[Observer],
) -> PassRecord:
    epoch = state.epoch + 1
    # one generator a pass: a resumed run draws the same order as one that never stopped
    order = np.random.default_rng([settings.seed, epoch]).permutation(corpus.sentences)
    rate = settings.rate * settings.decay**state.epoch
    totals = np.zeros(8)
    done = 0
    seconds = 0.0
    started = time.perf_counter()
    for samples in learner(state.weights, corpus, order, rate, settings, totals):
        seconds += time.perf_counter() - started
        done += samples
        for observer in observers:
            observer.samples(epoch, done, corpus.sentences)
        started = time.perf_counter()

    weights = state.weights
    penalty = settings.strength / 2 * weights.squared_norm() / corpus.sentences
    value = None
    if dev is not None:
        true_weights = weights.true_weights()
        value = dev.evaluate(*true_weights).main[1]
        if value > max((record.dev or 0.0 for record in state.history), default=-math.inf):
            state.best, state.best_epoch = true_weights, epoch
    return PassRecord(
        epoch=epoch,
        objective=float(totals[totals_of.LOSS]) / corpus.sentences + penalty,
        dev=value,
        w_complexity=weights.w_complexity(),
        rate=rate,
        updated=float(totals[totals_of.UPDATES]) / corpus.tokens,
        candidates=float(totals[totals_of.CANDIDATES]) / corpus.sentences,
        accuracy=float(totals[totals_of.CORRECT]) / corpus.tokens,
        seconds=seconds,
        tokens_per_second=corpus.tokens / max(seconds, 1e-9),
    )


def _reason_to_stop(state: State, settings: Settings, dev: DevSet | None) -> str:
    if state.epoch >= settings.epochs:
        return f"all {settings.epochs} passes done"
    if dev is not None and state.epoch - state.best_epoch >= settings.patience:
        return f"no better dev score in {settings.patience} passes"
    if state.epoch >= 2:
        before, now = (record.objective for record in state.history[-2:])
        if abs(before - now) < settings.tolerance * abs(before):
            return "converged"
    return ""
