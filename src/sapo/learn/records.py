"""Record what each epoch did, score it on the dev set, and decide when to stop."""

import itertools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from sapo.errors import OptionError, SapoError
from sapo.evaluate.scores import Scores, score
from sapo.evaluate.significance import SentenceCounts, sentence_counts
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles, Ints
from sapo.learn.samples import Corpus, sample_of
from sapo.learn.settings import Settings
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import (
    BY_RANK,
    CANDIDATES,
    CORRECT,
    LOOKED,
    LOSS,
    LOST,
    SEARCHED,
    TOKENS,
    UPDATED_SAMPLES,
    UPDATES,
    Parameters,
)

RANKS = 10  # candidates whose mean probability is recorded


@dataclass(frozen=True, slots=True)
class PassRecord:
    """The measurements of one pass. The seconds do not include the evaluation on the dev set."""

    epoch: int
    objective: float  # mean loss of a sample during the pass, including the regularizer
    dev: float | None  # F1 or accuracy
    w_complexity: float  # mean |w|
    rate: float
    n: int  # taggings searched for, if the learner searches
    updates: int  # samples that changed the weights
    updated: float  # share of tokens whose features were updated
    candidates: float  # mean number of taggings found for a sentence, or for a piece of one
    probabilities: list[float]  # mean probability of the first candidate, the second ...
    accuracy: float  # share of training tokens that were tagged correctly before the update
    seconds: float
    tokens_per_second: float
    looked: float | None = None  # where not all labels are looked at: how many of a token
    lost: float | None = None  # and the share of gold labels that would have been left out

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON needs it, without what only short lists of labels have."""
        values = asdict(self)
        return {key: value for key, value in values.items() if value is not None or key not in ("looked", "lost")}


@dataclass(frozen=True, slots=True)
class PassCounts:
    """What the learner itself counted in one pass."""

    epoch: int
    rate: float
    totals: Doubles  # LOSS, UPDATES ... of search/lattice.py
    seconds: float

    @property
    def all_right(self) -> bool:
        """Return whether every token was tagged correctly before the update."""
        return bool(self.totals[CORRECT] == self.totals[TOKENS])


def make_record(done: PassCounts, corpus: Corpus, settings: Settings, weights: Any) -> PassRecord:
    """Return the record of a pass, with the measurements of the weights (a `Learned`) after it.

    Raises SapoError if the weights are no longer finite.
    """
    totals = done.totals
    objective = float(totals[LOSS]) / corpus.sentences + _penalty(weights, settings, corpus.sentences)
    complexity = weights.w_complexity()
    if not (math.isfinite(objective) and math.isfinite(complexity)):
        raise out_of_bounds(done.epoch, settings)
    tokens = max(1.0, totals[TOKENS])
    searched = totals[SEARCHED] or corpus.sentences  # more, where sentences are cut into pieces
    # where some tags are open, all labels of some sentences are looked at, and the counts say little
    short = totals[LOOKED] > 0 and bool((sample_of(corpus).gold >= 0).all())
    return PassRecord(
        epoch=done.epoch,
        objective=objective,
        dev=None,
        w_complexity=complexity,
        rate=done.rate,
        n=settings.number,
        updates=int(totals[UPDATED_SAMPLES]),
        updated=float(totals[UPDATES] / tokens),
        candidates=float(totals[CANDIDATES]) / searched,
        probabilities=[float(total) / searched for total in totals[BY_RANK:] if total > 0],
        accuracy=float(totals[CORRECT] / tokens),
        seconds=done.seconds,
        tokens_per_second=float(tokens / max(done.seconds, 1e-9)),
        looked=float(totals[LOOKED] / tokens) if short else None,
        lost=float(totals[LOST] / tokens) if short else None,
    )


def out_of_bounds(epoch: int, settings: Settings) -> SapoError:
    """Return the error to raise when the weights are no longer finite."""
    return OptionError(
        f"epoch {epoch}: training diverged: the weights are no longer finite; lower the rate ({settings.rate}) "
        f"or the strength ({settings.strength})"
    )


def _penalty(weights: Any, settings: Settings, sentences: int) -> float:
    """Return the regularizer's part of the objective, per sample."""
    if weights.own_rules:
        return float(weights.penalty()) / sentences
    if settings.regularizer == "l2":
        return settings.strength / 2 * float(weights.squared_norm()) / sentences
    if settings.regularizer == "l1":
        return settings.strength * float(weights.absolute_norm()) / sentences
    return 0.0


class Learned(Protocol):
    """What training changes: linear weights (learn/weights.py and others) or a network (neural/training.py)."""

    own_rules: ClassVar[bool]  # whether rate and regularizer of the settings do not hold, but rules of its own

    @property
    def converged(self) -> str:
        """Why more passes would be of no use; empty if they may be."""

    def current(self) -> Parameters:
        """Return the weights for tagging, as they are after the last step."""

    def true_weights(self) -> Parameters:
        """Return the weights for tagging: the current ones, or their average over all steps."""

    def keep(self, now: Parameters) -> Any:
        """Return what `finish` needs to go back to this pass, whose true weights are `now`."""

    def finish(self, best: Any) -> Parameters:
        """Return the weights of the model: those of the pass that was kept, or the last ones if `best` is None."""

    def arrays(self, best: Any) -> dict[str, NDArray[Any]]:
        """Return everything that a checkpoint needs, including the pass that was kept."""

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Any:
        """Load the arrays of a checkpoint that was saved after `passes` passes; return the kept pass, or None.

        Raises ValueError if the arrays do not fit.
        """

    def pay_penalties(self) -> None:
        """Bring all weights up to date at the end of a pass."""

    def w_complexity(self) -> float:
        """Return the mean |w| over all weights, as plotted in the paper."""


@dataclass(slots=True)
class State:
    """The progress of training: everything needed to resume from a checkpoint as if nothing had happened."""

    weights: Any  # a `Learned`; each learner knows which kind it changes
    history: list[PassRecord] = field(default_factory=list)
    best: Any = None  # the best pass on the dev set, as returned by `Learned.keep`
    best_epoch: int = 0
    # the dev set and its tags after the last pass, for observers; a resumed run begins without
    on_dev: "tuple[DevSet, Ints] | None" = field(default=None, compare=False, repr=False)

    @property
    def epoch(self) -> int:
        """Return the number of epochs done."""
        return len(self.history)


class Observer:
    """Watch training, as a progress display, a log or a checkpoint does. Override the methods you need.

    >>> import sapo
    >>> class Printer(Observer):
    ...     def passed(self, record, state):
    ...         print("pass", record.epoch)
    >>> _ = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2, observers=[Printer()])
    pass 1
    pass 2
    """

    def samples(self, epoch: int, done: int, of: int) -> None:
        """Called during a pass: `done` of its `of` samples are done."""

    def passed(self, record: PassRecord, state: State) -> None:
        """Called after each pass."""


class Halt(Observer):
    """End learning in other threads when it is asked to: Ctrl-C and errors reach only one thread."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def samples(self, epoch: int, done: int, of: int) -> None:
        if self.asked.is_set():
            raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class DevSet:
    """The sentences that training is evaluated on after each pass.

    `labels` begins with the labels of the training data; labels that occur only in the dev set follow. `shown` maps
    each label that the weights know to its index in `labels`, if the two differ.
    """

    corpus: EncodedCorpus
    labels: Sequence[str]
    shown: Ints | None = None  # [labels that the weights know]
    look: Callable[[EncodedCorpus], EncodedCorpus] | None = None  # encodes the sentences with a network as it is now

    def evaluate(self, parameters: Parameters) -> Scores:
        """Return the scores of these weights on the sentences."""
        return self.tag(parameters)[1]

    def tag(self, parameters: Parameters) -> tuple[Ints, Scores]:
        """Return the tags of all tokens, as indices into `labels`, and their scores."""
        found = self._tags(parameters)
        return found, score(self.labels, self.corpus.gold, found, self.corpus.offsets)

    def count(self, parameters: Parameters) -> SentenceCounts:
        """Return what these weights get right in each sentence."""
        return sentence_counts(self.labels, self.corpus.gold, self._tags(parameters), self.corpus.offsets)

    def _tags(self, parameters: Parameters) -> Ints:
        tags = tag_corpus(self.corpus if self.look is None else self.look(self.corpus), parameters)
        return tags if self.shown is None else self.shown[tags]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why training stopped, in words, and whether it was interrupted with Ctrl-C."""

    text: str
    interrupted: bool = False

    def __str__(self) -> str:
        return self.text


INTERRUPTED = Stop("interrupted", interrupted=True)


def reason_to_stop(state: State, settings: Settings, dev: DevSet | None) -> str:
    """Return why no further pass should be made; empty if one should."""
    if state.weights.converged:
        return str(state.weights.converged)
    if state.epoch >= settings.epochs:
        return f"all {settings.epochs} epochs done"
    begun = settings.averaged_from if settings.average else 0  # what comes before is no sign of what an average gives
    if dev is not None and state.epoch - max(begun, state.best_epoch) >= settings.patience:
        return f"no better dev score in {settings.patience} epochs"
    # twice in a row, since two passes of a perceptron are often alike by chance
    if settings.tolerance > 0 and state.epoch >= begun + 3:
        objectives = [record.objective for record in state.history[-3:]]
        if all(abs(a - b) <= settings.tolerance * abs(a) for a, b in itertools.pairwise(objectives)):
            return "converged"
    return ""


def prefer_last(state: State, dev: DevSet) -> None:
    """Keep the last pass, unless an earlier one is clearly better on the dev set.

    An average over many passes is better than any pass before it. A small dev set does not show this: its best pass
    is often an early one that was lucky.
    """
    last = state.weights.true_weights()
    scores = dev.evaluate(last)
    best = max(record.dev or 0.0 for record in state.history)
    if state.best_epoch < state.epoch and best <= scores.main[1] + scores.error:
        state.best, state.best_epoch = state.weights.keep(last), state.epoch
