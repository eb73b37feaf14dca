"""Choose settings and features from the data: the start rate, candidate labels, and the trials of SAPO.

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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapo import jit
from sapo.corpus.blocks import LABEL, Block
from sapo.evaluate.significance import SentenceCounts, difference_error
from sapo.features.building import build_encoder
from sapo.features.encoded import EncodedCorpus, renumber_features, subset
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates, template_text
from sapo.jit.arrays import Longs
from sapo.learn.loop import LearnerPass, run_pass
from sapo.learn.records import DevSet, Halt
from sapo.learn.samples import Corpus, counts_of, parts_of
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import ALL_LABELS, BY_RANK, LOSS
from sapo.search.weights import Lists
from sapo.training.data import (
    FEWEST_SENTENCES,
    PHRASES_OUTSIDE,
    TrainingData,
    default_template,
    encoded_dev_set,
    held_out,
    input_columns,
)
from sapo.training.gold import make_gold
from sapo.training.plan import Plan

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


# Above it lists are short (benchmarks/README.md, "Many labels"). Up to this many labels, an exact search is affordable.
MANY_LABELS = 300
LISTED_LABELS = 16  # labels of a token that are left, at most
LISTED_SPANS = 32  # the same if labels mark spans: the right one depends more on the labels around it
NEVER = -(1 << 62)
FREQUENT = 50  # times that a word must occur, so that it is tagged with labels it was seen with alone


def label_lists(source: Corpus, labels: int, *, exact: bool = False, spans: bool = False) -> Lists:
    """Return the lists for this training data; with few labels, or if it is to be `exact`, all are looked at.

    A frequent word keeps the labels that it was seen with, but not where labels mark `spans`: any may be in a name.
    """
    if exact or labels <= MANY_LABELS:
        return ALL_LABELS
    counts = np.zeros(labels, np.int64)
    times = np.empty(0, np.int64)  # of each word; a missing tag may be any, and then the word is as if it were rare
    pairs = np.empty(0, np.int64)  # of a word and a label
    for part in parts_of(source):
        known = part.gold >= 0
        counts += np.bincount(part.gold[known], minlength=labels)
        if spans or not len(part.words):
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
    return Lists(LISTED_SPANS if spans else LISTED_LABELS, order, offsets, (pairs % labels).astype(np.uint16))


Say = Callable[[str], None]
Trial = list[SentenceCounts]  # for each set of sentences that were not learned

PIECE = 8  # tokens of a piece, on average
EPOCHS = 15  # unless there are many labels and trials with twice the epochs are better
EPOCHS_LARGE = 10  # where there is plenty of data: this many tokens, those outside of spans not counted
PLENTY = 150_000  # where there are so many, phrases are learned from whole sentences, too
EPOCHS_SMALL = 30  # where there is little data, and an epoch takes no time
MOST_EPOCHS = 60
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
BLOCK = 4  # samples: with more, rare entities are learned worse (docs/explanation/defaults.md)
PASSES = 10  # of a trial, at most: with six, bold settings are chosen too often (docs/explanation/defaults.md)
# Standard errors by which a more careful or a bolder choice must be better than the usual one. A part of the sentences
# is learned in fewer steps than all of them, which favors large steps (benchmarks/boldness.py).
CAREFUL, BOLD = 0.5, 1.5
LABELS_TO_LEARN_LONGER = (
    30  # of the data; with fewer, more epochs were no better on the whole (docs/explanation/defaults.md)
)
LONGER = 0.5  # standard errors by which twice the epochs must be better,
FEWER = 0.01  # and the share of the mistakes that they must avoid: a part of the sentences gains from them anyway


def usual_settings(
    settings: Settings, automatic: Collection[str], *, few: bool = False, plenty: bool = False, phrases: bool = False
) -> Settings:
    """Return the settings with the usual values of those that are automatic.

    They depend on whether there are `few` tokens or `plenty`, and on whether the labels mark `phrases`.
    """
    rate, strength = BOLDNESS[USUAL]
    usual_epochs = EPOCHS_SMALL if few else EPOCHS_LARGE if plenty else EPOCHS
    epochs = usual_epochs if "epochs" in automatic else settings.epochs
    usual = {
        "epochs": epochs,
        "rate": rate,
        "strength": strength if settings.regularizer == "l2" else settings.strength,
        "decay": FALL ** (1 / epochs),
        "piece": 0 if plenty and phrases else PIECE,
        "average": 0.0 if settings.regularizer == "l1" else AVERAGE,  # an average has few zeros
        "hide": HIDE,
        "stop_ratio": STOP_RATIO,
        "drop": DROP,
        "block": 1 if few else BLOCK,
    }
    return dataclasses.replace(settings, **{name: usual[name] for name in automatic})


def choose_settings(
    learner: LearnerPass, data: TrainingData, settings: Settings, automatic: Collection[str], say: Say
) -> Settings:
    """Return the settings with those that are automatic chosen for this data. `say` shows the user what was chosen."""
    few = data.corpus.tokens < SMALL
    counts = data.label_counts
    tokens, outside = sum(counts.values()), counts.get("O", 0)
    phrases = data.spans and 0 < outside < PHRASES_OUTSIDE * tokens
    settings = usual_settings(settings, automatic, few=few, plenty=tokens - outside >= PLENTY, phrases=phrases)
    l2 = settings.regularizer == "l2"
    free = [name for name in ("rate", "strength") if name in automatic]
    if len(free) < 2 or not _can_be_tried(data.corpus):
        return settings
    trials = [
        dataclasses.replace(settings, rate=rate, strength=strength if l2 else settings.strength, threads=1)
        for rate, strength in BOLDNESS
    ]
    trials = [_shortened(trial, PASSES) for trial in trials]
    trying = _Trials(learner, data, settings.seed, say)
    best, scores = trying.boldness(trials)
    chosen: dict[str, Any] = {"rate": best.rate, "strength": best.strength}
    if "epochs" in automatic and not few and len(data.gold.outer) >= LABELS_TO_LEARN_LONGER:
        chosen["epochs"] = trying.epochs(best, scores, settings.epochs)
        if "decay" in automatic:
            chosen["decay"] = FALL ** (1 / chosen["epochs"])
    return dataclasses.replace(settings, **chosen)


def _shortened(settings: Settings, epochs: int) -> Settings:
    """Return the settings with at most this many epochs; the rate falls as far in the end."""
    if settings.epochs <= epochs:
        return settings
    return dataclasses.replace(settings, epochs=epochs, decay=settings.decay ** (settings.epochs / epochs))


def _can_be_tried(corpus: EncodedCorpus) -> bool:
    """Return whether there are enough sentences to divide, and all their tags are known."""
    return corpus.sentences >= FEWEST_SENTENCES and bool((corpus.gold >= 0).all())


TEMPLATE_PASSES = 5  # of a trial of a template: enough to see what is wrong for a corpus
TEMPLATE_TOKENS = 15_000  # to learn from, and as many to judge by
MOST_COLUMNS = 4  # each of which is left out in a trial
CLEARLY = 1.5  # standard errors by which another template must be better than that of the rules


def choose_template(first: Block, marks: Sequence[str], *, plan: Plan, say: Say) -> str:
    """Return the template for data with this first block: by rules, and by trials if there is more than words.

    `say` shows the user what was chosen in trials, and which columns are not used.
    """
    usual = default_template(first, marks)
    columns = input_columns(first)
    best = usual
    tried = {"rate", "strength"} <= plan.automatic
    if columns and tried and not set(first.strings(LABEL)) & set(marks):
        best = _best_template(first, usual, plan, say)
    used = parse_templates(template_text(best)[0], first.columns).columns
    for written, column in columns.items():
        if column not in used:
            say(f"the column '{column}' is not used: it does not help to find the tags; {best}+{written} would use it")
    return best


def _best_template(first: Block, usual: str, plan: Plan, say: Say) -> str:
    judged, templates = held_out(first), list(dict.fromkeys([usual, *_other_templates(first, usual)]))
    if len(judged) < FEWEST_SENTENCES or len(templates) == 1:
        return usual
    lengths = np.diff(first.offsets)
    parts = [first.only(some & (np.cumsum(lengths * some) <= TEMPLATE_TOKENS)) for some in (~judged, judged)]
    if not all(len(part.starts) for part in parts):
        return usual
    jit.compile_kernels()
    settings = usual_settings(dataclasses.replace(plan.settings, threads=1), plan.automatic)
    settings = _shortened(settings, TEMPLATE_PASSES)
    labels = dataclasses.replace(plan.labels, rules=(), sample_weight=None, class_weight=None)
    halt = Halt()

    def try_out(template: str) -> Trial:
        table = StringTable()
        lines = parse_templates(template_text(template)[0], first.columns)
        encoder, corpus = build_encoder(parts[:1], lines, table, min_count=plan.min_count)
        gold = make_gold(table.strings(), corpus, labels)
        data = TrainingData(encoder, gold, {}, template, None)
        fold = _Fold(gold.corpus, [encoded_dev_set(encoder, parts[1:], gold)], encoder.features)
        return _trial(sapo_pass, data, fold, settings, halt)

    with ThreadPoolExecutor(min(len(templates), os.cpu_count() or 1)) as pool:
        try:
            found = dict(zip(templates, pool.map(try_out, templates), strict=True))
        except BaseException:  # Ctrl-C reaches this thread alone
            halt.asked.set()
            raise
    order = sorted(templates, key=lambda template: -_mean(found[template]))
    best = order[0] if _mean(found[order[0]]) > _mean(found[usual]) + CLEARLY * _error(found[usual]) else usual
    second = next(template for template in order if template != best)
    clearly = ", which is not clearly better" if _mean(found[second]) > _mean(found[best]) else ""
    say(
        f"features: {best}, {100 * _mean(found[best]):.2f} on held-out sentences; {second} has "
        f"{100 * _mean(found[second]):.2f}{clearly}"
    )
    return best


def _other_templates(first: Block, usual: str) -> list[str]:
    """Return templates for the same tags: words alone, without one of the columns, and those of another task."""
    words = "pos-best" if usual.startswith("pos-best") else "ner"
    columns = parse_templates(template_text(usual)[0], first.columns).columns
    informative = [written for written, column in input_columns(first).items() if column in columns]
    others = [words, "+".join([words, *informative])]
    if 1 < len(informative) <= MOST_COLUMNS:
        preset, *lines = usual.split("+")
        others += ["+".join([preset, *(line for line in lines if line != left_out)]) for left_out in lines]
    if words == "ner" and "pos" in informative:
        others.append("+".join(["chunking-best", *(column for column in informative if column != "pos")]))
    return others


@dataclass(frozen=True, slots=True)
class _Fold:
    """Sentences to learn from and sentences to tag, with only the features that the former have.

    Other features would have no weight, and weights of all features in every trial would determine the peak of memory.
    """

    train: EncodedCorpus
    unseen: list[DevSet]
    features: int


class _Trials:
    """Try out settings on a part of the sentences."""

    def __init__(self, learner: LearnerPass, data: TrainingData, seed: int, say: Say) -> None:
        self.learner, self.data, self.say = learner, data, say
        self.folds = list(_folds(data, seed))
        self.halt = Halt()
        learned, sentences = self.folds[0].train.sentences, data.corpus.sentences
        say(f"choosing rate and strength by trials on {learned:,} of {sentences:,} sentences")
        if len(data.labels) > NO_TRIALS:
            say(f"  with {len(data.labels):,} labels this may take minutes; to skip it, give a rate and a strength")

    def scores(self, settings: Settings) -> Trial:
        """Try out settings."""
        return [one for fold in self.folds for one in _trial(self.learner, self.data, fold, settings, self.halt)]

    def boldness(self, trials: list[Settings]) -> tuple[Settings, Trial]:
        """Return the best settings and their trial.

        The most careful and the boldest are tried only where this looks like the right way.
        """
        results: dict[int, Trial] = {}

        def note(number: int, scores: Trial) -> None:
            results[number] = scores
            self.say(f"  rate {trials[number].rate}, strength {trials[number].strength}: {100 * _mean(scores):.2f}")

        middle = range(1, len(trials) - 1)
        with ThreadPoolExecutor(min(len(middle), os.cpu_count() or 1)) as pool:
            try:
                for number, scores in zip(middle, pool.map(self.scores, trials[1:-1]), strict=True):
                    note(number, scores)
            except BaseException:  # Ctrl-C reaches this thread alone
                self.halt.asked.set()
                raise
        further = {middle[0]: 0, middle[-1]: len(trials) - 1}.get(_best(results))
        if further is not None:
            note(further, self.scores(trials[further]))
        best = _best(results)
        return trials[best], results[best]

    def epochs(self, trial: Settings, scores: Trial, epochs: int) -> int:
        """Return how many epochs to learn: twice as many as long as trials with twice the epochs are clearly better."""
        while epochs < MOST_EPOCHS:
            trial = dataclasses.replace(trial, epochs=2 * trial.epochs, decay=math.sqrt(trial.decay))
            longer = self.scores(trial)
            self.say(f"  {2 * epochs} epochs: {100 * _mean(longer):.2f}")
            gain, mistakes = _mean(longer) - _mean(scores), 1 - _mean(scores)
            if gain <= max(LONGER * _error(scores), FEWER * mistakes):
                break
            scores, epochs = longer, 2 * epochs
        return epochs


def _mean(trial: Trial) -> float:
    return sum(counts.f1 for counts in trial) / len(trial)


def _best(results: Mapping[int, Trial]) -> int:
    """Return the number of the best result: the usual one, unless another is clearly better."""
    best = max(results, key=lambda number: _mean(results[number]))
    errors = [difference_error(*pair) for pair in zip(results[best], results[USUAL], strict=True)]
    wanted = (CAREFUL if best < USUAL else BOLD) * math.hypot(*errors) / len(errors)
    return best if _mean(results[best]) - _mean(results[USUAL]) > wanted else USUAL


def _error(trial: Trial) -> float:
    """Return the standard error of the mean score, roughly: as if each span or token were right or wrong by itself."""
    mean = _mean(trial)
    return math.sqrt(mean * (1 - mean) / max(1, sum(int(counts.gold.sum()) for counts in trial)))


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
            unseen.append(unseen_sentences(data, np.sort(rest[:few])))
        seen = np.bincount(train.rows, minlength=data.encoder.features) > 0
        numbers = np.where(seen, np.cumsum(seen) - 1, -1).astype(np.int32)
        judges = [dataclasses.replace(one, corpus=renumber_features(one.corpus, numbers)) for one in unseen]
        yield _Fold(renumber_features(train, numbers), judges, int(seen.sum()))
        order = order[::-1]


def unseen_sentences(data: TrainingData, sentences: Longs) -> DevSet:
    """Return some of the training sentences as a dev set."""
    part = subset(data.corpus, sentences)
    shown = data.gold.shown_places
    if shown is not None:
        part = dataclasses.replace(part, gold=shown[part.gold])
    return DevSet(part, data.gold.outer, shown)


def _trial(learner: LearnerPass, data: TrainingData, fold: _Fold, settings: Settings, halt: Halt) -> Trial:
    """Learn with the whole schedule, and tag the sentences that were not learned."""
    weights = data.zero_weights(l1=settings.regularizer == "l1", features=fold.features)
    weights.lists = label_lists(data.corpus, len(data.labels), exact=settings.exact, spans=data.spans)
    counts = counts_of(fold.train, settings)
    for epoch in range(1, settings.epochs + 1):
        run_pass(learner, fold.train, settings, weights, epoch, observers=[halt], counts=counts)
    learned = weights.true_weights()
    return [unseen.count(learned) for unseen in fold.unseen]
