"""Run the training loop that all learners share: epochs, runs of samples, dev set, early stopping, Ctrl-C.

We want the score of a large n at the cost of a small one. The distance between SAPO's update and the gradient does not
help: at n = 5 it is still nearly as long as the gradient, and every doubling of n shortens it a little, without a knee
(docs/explanation/theory.md), while the score stopped improving long ago. What helps is how much one more tagging would
change. If the next tagging joins the n best, it takes the probability

    P_{n+1} = exp(w.F(x, y_{n+1})) / sum over Y_{n+1} of exp(w.F(x, y))

from them. This is exactly the total variation between the P_k of n and those of n + 1, and the update moves by at most
2 * P_{n+1} * max |F(x, y)|. So we take the smallest n for which the next tagging would get less than SHARE on average.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sapo import jit
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles, Longs
from sapo.learn.records import (
    INTERRUPTED,
    RANKS,
    DevSet,
    Learned,
    Observer,
    PassCounts,
    State,
    Stop,
    make_record,
    prefer_last,
    reason_to_stop,
)
from sapo.learn.samples import Corpus, Counts, chunks_of, counts_of, prepare, sample_of
from sapo.learn.settings import AUTO, Settings
from sapo.learn.update import Rates
from sapo.learn.weights import Parts, Weights
from sapo.search.chain import Search
from sapo.search.lattice import BY_RANK, Parameters, make_lattice
from sapo.search.topn import top_n

# Weights, corpus, order of the samples, rate, settings, totals: learn, and yield the number of samples now and then.
LearnerPass = Callable[[Any, EncodedCorpus, Longs, float, Settings, Doubles], Iterator[int]]
# Learn from a run of samples; return how many there were before there was no room for new weights.
Step = Callable[[Longs, Parts], int]
MakeStep = Callable[[Weights, EncodedCorpus, float, Settings, Doubles], Step]
# Makes a pass, as `run_pass` does here and sapo.apps.ray does elsewhere.
RunPass = Callable[..., PassCounts]

SAMPLES_PER_RUN = 1024  # between runs, Ctrl-C and the progress display get a turn
STEPS_PER_CALL = 50_000_000  # of a kernel, each a pair of labels: about a tenth of a second


def linear_pass(make_step: MakeStep) -> LearnerPass:
    """Return a pass over all samples, in runs that the step of a linear learner learns from."""

    def one_pass(
        weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
    ) -> Iterator[int]:
        step = make_step(weights, corpus, rate, settings, totals)
        for run in runs_of(order):
            learn_run(weights, corpus, run, settings, step)
            yield len(run)

    return one_pass


def runs_of(order: Longs) -> Iterator[Longs]:
    """Cut an order of samples into runs of some hundred."""
    for begin in range(0, len(order), SAMPLES_PER_RUN):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES_PER_RUN])


def learn_run(weights: Weights, corpus: EncodedCorpus, run: Longs, settings: Settings, step: Step) -> None:
    """Learn from a run of samples, in parts if it takes long. If there is no room for new weights, make some."""
    for part in parts_of(run, weights, corpus, settings):
        done = step(part, weights.parts)
        while done < len(part):
            part = np.ascontiguousarray(part[done:])
            features = np.diff(corpus.row_offsets[corpus.offsets])[part[: settings.block]]
            weights.rows.grow(int(features.sum()))
            done = step(part, weights.parts)


def parts_of(run: Longs, weights: Weights, corpus: EncodedCorpus, settings: Settings) -> list[Longs]:
    """Cut a run where labels, n or sentences are large, so that Ctrl-C never has to wait long for a kernel."""
    few = weights.lists.most
    labels = few or len(weights.bans) - 2
    lengths = corpus.offsets[run + 1] - corpus.offsets[run]
    n = 1 if settings.n == AUTO else settings.n  # not used by this learner
    steps = np.cumsum(lengths * (labels * (labels + n)))
    if not len(run) or steps[-1] <= STEPS_PER_CALL:
        return [run]
    if few and any((corpus.gold[corpus.offsets[i] : corpus.offsets[i + 1]] < 0).any() for i in run.tolist()):
        return [run]  # kernels look at all labels of a run in which some tag is open
    return np.split(run, np.flatnonzero(np.diff(steps // STEPS_PER_CALL)) + 1)


def search_of(settings: Settings, *, n: int, margin: float) -> Search:
    """The search for the n best taggings, without those that score less than the best one by more than `margin`."""
    return Search(
        n,
        margin,
        True if settings.search == "astar" else None,
        settings.width if settings.search == "beam" else None,
    )


def rates_of(rate: float, settings: Settings, sentences: int) -> Rates:
    """The rate of a pass with the regularizer's share of one sample."""
    penalty = rate * settings.strength / sentences
    return Rates(
        rate,
        penalty if settings.regularizer == "l2" else 0.0,
        penalty if settings.regularizer == "l1" else None,
    )


SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50)
SENTENCES = 200  # number of sentences to measure
SHARE = 0.05  # chosen on CoNLL-2000, JNLPBA and EWT; see docs/explanation/theory.md
FIRST = 5  # used while all weights are zero, when nothing can be measured


def choose_n(corpus: EncodedCorpus, parameters: Parameters, *, seed: int = 0) -> int:
    """Return the smallest n of SIZES at which one more tagging would change little, or the largest of SIZES."""
    if not parameters.nonzero:
        return FIRST
    shares = next_shares(corpus, parameters, SIZES, seed=seed)
    return next((n for n, share in zip(SIZES, shares.tolist(), strict=True) if share < SHARE), SIZES[-1])


def next_shares(corpus: EncodedCorpus, parameters: Parameters, sizes: Sequence[int], *, seed: int = 0) -> Doubles:
    """Return the mean of P_{n+1} over some sentences, for each n. Sentences with only n taggings count as 0."""
    chosen = np.random.default_rng(seed).permutation(corpus.sentences)[:SENTENCES].tolist()
    totals = np.zeros(len(sizes))
    for sentence in chosen:
        scores = top_n(make_lattice(corpus, sentence, parameters), n=max(sizes) + 1).scores
        odds = np.exp(scores - scores[:1])
        mass = np.cumsum(odds)
        totals += [odds[n] / mass[n] if n < len(odds) else 0.0 for n in sizes]
    return totals / max(1, len(chosen))


# at most this often is n measured: a small n makes flat weights, flat weights ask for a larger n, and so on
MEASUREMENTS = 6


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

    `passes` makes the passes instead of `run_pass`.
    """
    weights: Learned = state.weights
    if not weights.own_rules:
        settings.shrink_of(corpus.sentences)  # raises if L2 would flip the sign of the weights
    one_pass = passes or partial(run_pass, counts=counts_of(corpus, settings))
    try:
        while not (reason := reason_to_stop(state, settings, dev)):
            started = jit.clock()
            current = replace(settings, n=n_of_pass(corpus, settings, state))
            choosing = jit.clock() - started
            done = one_pass(learner, corpus, current, weights, state.epoch + 1, observers=observers)
            record = make_record(done, corpus, current, weights)
            record = replace(record, seconds=record.seconds + choosing)
            if dev is not None:
                record = replace(record, dev=_dev_score(state, dev))
            state.history.append(record)
            for observer in observers:
                observer.passed(record, state)
        if dev is not None and settings.average:
            prefer_last(state, dev)
        return Stop(reason)
    except KeyboardInterrupt:
        return INTERRUPTED


def _dev_score(state: State, dev: DevSet) -> float:
    """Return the score of the last pass on the dev set; keep the pass if it is the best one so far."""
    true_weights = state.weights.true_weights()
    tags, scores = dev.tag(true_weights)
    state.on_dev, value = (dev, tags), scores.main[1]
    if value > max((record.dev or 0.0 for record in state.history), default=-math.inf):
        state.best, state.best_epoch = state.weights.keep(true_weights), state.epoch + 1
    return value


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


def run_pass(
    learner: LearnerPass,
    corpus: Corpus,
    settings: Settings,
    weights: Any,
    epoch: int,
    *,
    observers: Sequence[Observer] = (),
    counts: Counts | None = None,
) -> PassCounts:
    """Learn from every sentence once, and return what was counted.

    Work that grows with the number of weights, not of sentences, is left to `make_record`. `counts` says how often each
    feature of a corpus in memory occurs, which is counted otherwise.
    """
    if settings.average and epoch == settings.averaged_from:
        weights.begin_average()
    rate = settings.rate_of(epoch)
    totals = np.zeros(BY_RANK + RANKS)
    done = 0
    seconds = 0.0
    started = jit.clock()
    for chunk in chunks_of(corpus, settings, epoch):
        part = prepare(chunk, settings, getattr(weights, "bans", None), epoch, counts)
        sentences, learned = len(chunk.order), 0
        for samples in learner(weights, part.corpus, part.order, rate, settings, totals):
            seconds += jit.clock() - started
            learned += samples
            for observer in observers:
                observer.samples(epoch, done + sentences * learned // len(part.order), corpus.sentences)
            started = jit.clock()
        done += sentences
        del chunk, part  # before the next one is read: two would be the peak of memory
    weights.pay_penalties()
    return PassCounts(epoch, rate, totals, seconds)
