"""Choose settings from the data: the start rate, candidate labels, and the trials of SAPO.

The best start rate differs between tasks by a factor of ten or more: the more features the tokens share, the more one
step changes the scores of all sentences. But the good rates of different tasks overshoot by about the same amount: a
trial pass of SAPO over some sentences has a mean loss somewhat above log n, which is the loss of a model that knows
nothing. So we halve the rate until the loss of the trial is at most TARGET times log n, and then interpolate.

Pieces, averages and the fall of the rate suit all data alike. How boldly to learn does not: where entities are rare or
never the same, large steps and a weak regularizer find more of them; where the same features mean many things, they
overfit. So a part of the sentences is learned with the whole schedule, carefully, as usual and boldly, and the other
sentences tell which is the best.
"""

import dataclasses
import math
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sapo.evaluate.scores import Scores
from sapo.features.encoded import EncodedCorpus, subset
from sapo.jit.arrays import Longs
from sapo.learn.loop import LearnerPass, run_pass
from sapo.learn.records import DevSet, Observer
from sapo.learn.samples import Corpus, parts_of
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import ALL_LABELS, BY_RANK, LOSS
from sapo.search.weights import Lists
from sapo.training.data import TrainingData

RATE_SENTENCES = 2000  # length of a trial
TARGET = 1.55  # chosen on CoNLL-2000, JNLPBA and EWT; see benchmarks/README.md
LARGEST, SMALLEST = 0.1, 1e-4
TRIAL = Settings(n=5, strength=0.0, regularizer="none")


def start_rate(corpus: EncodedCorpus, weights: Weights, seed: int) -> float:
    """Return the start rate for this corpus. `weights` must all be zero, and are zero again afterwards."""
    rng = np.random.default_rng(seed)
    tagged = _tagged(corpus)
    sample = tagged[rng.permutation(len(tagged))[:RATE_SENTENCES]]
    target = TARGET * math.log(TRIAL.number)
    above: tuple[float, float] | None = None  # the last rate that was too large, and its loss
    rate = LARGEST
    while True:
        loss = _rate_trial(corpus, weights, sample, rate)
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


def _rate_trial(corpus: EncodedCorpus, weights: Weights, sample: np.ndarray, rate: float) -> float:
    totals = np.zeros(BY_RANK)
    try:
        for _ in sapo_pass(weights, corpus, sample, rate, TRIAL, totals):
            pass
    finally:
        weights.clear()
    loss = float(totals[LOSS]) / len(sample)
    return loss if math.isfinite(loss) else math.inf


# Above it lists are short (benchmarks/README.md, "Many labels"). A list is chosen without transitions, so it may lack
# the label that must follow in a span. Up to this many labels, an exact search is affordable and avoids that loss.
MANY_LABELS = 300
LISTED_LABELS = 16  # labels of a token that are left, at most
NEVER = -(1 << 62)
FREQUENT = 50  # times that a word must occur, so that it is tagged with labels it was seen with alone


def label_lists(source: Corpus, labels: int, *, exact: bool = False) -> Lists:
    """Return the lists for this training data; with few labels, or if it is to be `exact`, all are looked at."""
    if exact or labels <= MANY_LABELS:
        return ALL_LABELS
    counts = np.zeros(labels, np.int64)
    times = np.empty(0, np.int64)  # of each word; a missing tag may be any, and then the word is as if it were rare
    pairs = np.empty(0, np.int64)  # of a word and a label
    for part in parts_of(source):
        known = part.gold >= 0
        counts += np.bincount(part.gold[known], minlength=labels)
        if not len(part.words):
            continue
        words = part.words
        size = max(len(times), int(words.max(initial=-1)) + 1)
        times = np.append(times, np.zeros(size - len(times), np.int64))
        times += np.bincount(words[known & (words >= 0)], minlength=size)
        times[words[~known & (words >= 0)]] = NEVER
        seen = known & (words >= 0)
        pairs = np.union1d(pairs, words[seen].astype(np.int64) * labels + part.gold[seen])
    order = np.argsort(-counts, kind="stable").astype(np.int32)
    pairs = pairs[times[pairs // labels] >= FREQUENT]
    offsets = np.append(0, np.cumsum(np.bincount(pairs // labels, minlength=len(times))))
    return Lists(LISTED_LABELS, order, offsets, (pairs % labels).astype(np.uint16))


Say = Callable[[str], None]

PIECE = 8  # tokens of a piece, on average
EPOCHS = 15  # 20 and 30 are no better,
EPOCHS_SMALL = 30  # but where there is little data, and each takes no time
AVERAGE = 0.5  # of the passes
HIDE = 0.5  # a third of the features that occur once, a sixth of those that occur three times
STOP_RATIO = 1000.0  # what is a thousand times less probable than the best tagging changes next to nothing
DROP = 0.003  # a score is a sum of some dozen weights of about 1
FALL = 0.1  # the rate of the last pass, as a share of the first
# Rate and strength, from careful to bold; those in the middle are tried first.
BOLDNESS = ((0.1, 3.0), (0.1, 1.0), (0.2, 0.3), (0.4, 0.03), (0.8, 0.01))
USUAL = 2
NO_TRIALS = 1000
FEWEST_TOKENS, MOST_TOKENS = 20_000, 60_000  # tokens to try on
JUDGED = 100_000  # tokens that a trial tags, at most
SHARE = 8  # of larger sets of sentences a part of this size
SMALL = 50_000  # tokens; a smaller set of sentences is divided twice, and learned longer
PASSES = 10  # of a trial, at most: enough to tell which is the best
FEWEST_SENTENCES = 40  # fewer are too few to tell anything
BETTER = 0.25  # standard errors by which another choice must be better than the usual one


def choose_settings(
    learner: LearnerPass, data: TrainingData, settings: Settings, automatic: Collection[str], say: Say
) -> Settings:
    """Return the settings with those that are automatic chosen for this data. `say` shows the user what was chosen."""
    rate, strength = BOLDNESS[USUAL]
    l2 = settings.regularizer == "l2"
    few = data.corpus.tokens < SMALL
    epochs = (EPOCHS_SMALL if few else EPOCHS) if "epochs" in automatic else settings.epochs
    usual = {
        "epochs": epochs,
        "rate": rate,
        "strength": strength if l2 else settings.strength,
        "decay": FALL ** (1 / epochs),
        "piece": PIECE,
        "average": 0.0 if settings.regularizer == "l1" else AVERAGE,  # an average has few zeros
        "hide": HIDE,
        "stop_ratio": STOP_RATIO,
        "drop": DROP,
    }
    settings = dataclasses.replace(settings, **{name: usual[name] for name in automatic})
    free = [name for name in ("rate", "strength") if name in automatic]
    if len(free) < 2 or not _can_be_tried(data.corpus):
        return settings
    trials = [
        dataclasses.replace(settings, rate=rate, strength=strength if l2 else settings.strength, threads=1)
        for rate, strength in BOLDNESS
    ]
    if settings.epochs > PASSES:  # the rate falls as far in the end
        faster = settings.decay ** (settings.epochs / PASSES)
        trials = [dataclasses.replace(trial, epochs=PASSES, decay=faster) for trial in trials]
    best = _best_of(learner, data, trials, say)
    return dataclasses.replace(settings, rate=best.rate, strength=best.strength)


def _can_be_tried(corpus: EncodedCorpus) -> bool:
    """Return whether there are enough sentences to divide, and all their tags are known."""
    return corpus.sentences >= FEWEST_SENTENCES and bool((corpus.gold >= 0).all())


class _Halt(Observer):
    """Ends all trials when one ends with an error."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def samples(self, epoch: int, done: int, of: int) -> None:
        if self.asked.is_set():
            raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class _Fold:
    train: EncodedCorpus
    unseen: list[DevSet]


def _best_of(learner: LearnerPass, data: TrainingData, trials: list[Settings], say: Say) -> Settings:
    """Return the best settings. The most careful and the boldest are tried only where this looks like the right way."""
    folds = list(_folds(data, trials[0].seed))
    say(f"choosing rate and strength by trials on {folds[0].train.sentences:,} of {data.corpus.sentences:,} sentences")
    if len(data.labels) > NO_TRIALS:
        say(f"  with {len(data.labels):,} labels this may take minutes; give a rate and a strength to do without")
    results: dict[int, list[Scores]] = {}
    halt = _Halt()

    def try_out(number: int) -> list[Scores]:
        return [score for fold in folds for score in _trial(learner, data, fold, trials[number], halt)]

    def note(number: int, scores: list[Scores]) -> None:
        results[number] = scores
        say(f"  rate {trials[number].rate}, strength {trials[number].strength}: {100 * _mean(scores):.2f}")

    middle = range(1, len(trials) - 1)
    with ThreadPoolExecutor(min(len(middle), os.cpu_count() or 1)) as pool:
        try:
            for number, scores in zip(middle, pool.map(try_out, middle), strict=True):
                note(number, scores)
        except BaseException:  # Ctrl-C reaches this thread alone
            halt.asked.set()
            raise
    further = {middle[0]: 0, middle[-1]: len(trials) - 1}.get(_best(results))
    if further is not None:
        note(further, try_out(further))
    return trials[_best(results)]


def _mean(scores: list[Scores]) -> float:
    return sum(score.main[1] for score in scores) / len(scores)


def _best(results: Mapping[int, list[Scores]]) -> int:
    """Return the number of the best result: the usual one, unless another is clearly better."""
    means = {number: _mean(scores) for number, scores in results.items()}
    best = max(means, key=means.__getitem__)
    usual = means[USUAL]
    error = math.sqrt(usual * (1 - usual) / max(1, sum(score.events for score in results[USUAL])))
    return best if means[best] > usual + BETTER * error else USUAL


def _folds(data: TrainingData, seed: int) -> Iterator[_Fold]:
    """Divide the sentences into some to learn from and some to tag.

    Settings are judged on the dev set; with little data on held-out sentences too, since a small dev set is noisy.
    """
    corpus = data.corpus
    lengths = np.diff(corpus.offsets)
    wanted = min(0.8 * corpus.tokens, max(FEWEST_TOKENS, min(MOST_TOKENS, corpus.tokens / SHARE)))
    rng = np.random.default_rng([seed, corpus.sentences])
    order = rng.permutation(corpus.sentences)
    for _ in range(2 if corpus.tokens < SMALL else 1):
        cut = int(np.searchsorted(np.cumsum(lengths[order]), wanted)) + 1
        cut = min(max(1, cut), corpus.sentences - 1)
        train = subset(corpus, np.sort(order[:cut]))
        unseen = [data.dev] if data.dev else []
        if corpus.tokens < SMALL or not unseen:
            rest = order[cut:]
            few = int(np.searchsorted(np.cumsum(lengths[rest]), JUDGED)) + 1
            unseen.append(_unseen(data, np.sort(rest[:few])))
        yield _Fold(train, unseen)
        order = order[::-1]


def _unseen(data: TrainingData, sentences: Longs) -> DevSet:
    part = subset(data.corpus, sentences)
    shown = data.gold.shown_places
    if shown is not None:
        part = dataclasses.replace(part, gold=shown[part.gold])
    return DevSet(part, data.gold.outer, shown)


def _trial(learner: LearnerPass, data: TrainingData, fold: _Fold, settings: Settings, halt: Observer) -> list[Scores]:
    """Learn with the whole schedule, and tag the sentences that were not learned."""
    weights = data.zero_weights(l1=settings.regularizer == "l1")
    weights.lists = label_lists(data.corpus, len(data.labels), exact=settings.exact)
    for epoch in range(1, settings.epochs + 1):
        run_pass(learner, fold.train, settings, weights, epoch, observers=[halt])
    learned = weights.true_weights()
    return [unseen.evaluate(learned) for unseen in fold.unseen]
