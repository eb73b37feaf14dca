"""Update a trained tagger with new sentences.

The vocabulary, the features and the labels grow; what is known keeps its index and its weight. Passes over the new
sentences begin with the start rate of training, and end when all of them are tagged correctly. The regularizer acts as
if the new sentences were added to the old ones, and what many sentences share changes little (learn/updating.py).
"""

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sapo import jit
from sapo.corpus.blocks import LABEL, is_table
from sapo.corpus.labeled import Source, read_labeled, read_pairs
from sapo.errors import DataError, OptionError
from sapo.features.encoded import EncodedCorpus, join_encoded, observed_pairs
from sapo.features.strings import StringTable
from sapo.jit.arrays import Bools, Floats
from sapo.learn import LEARNERS, Learner
from sapo.learn.batch_crf import CRF_LBFGS
from sapo.learn.loop import run_pass
from sapo.learn.records import INTERRUPTED, Observer, State, Stop, make_record, out_of_bounds
from sapo.learn.samples import counted_samples
from sapo.learn.settings import AUTO, Settings
from sapo.learn.updating import GrowingWeights, Pacing, growth, typical_weight
from sapo.search.lattice import LOSS
from sapo.tagger.decoding import with_repetition
from sapo.tagger.files import reading_of
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger, as_tagger
from sapo.tags.labels import have_common_label, listed, nearest, unknown_labels
from sapo.training.gold import grown_gold
from sapo.training.plan import LabelOptions, known_learner, make_settings

WAY_OUT = "to learn new labels, use `new_labels=True`"


def refuse_new_labels(known: Sequence[str], labels: Sequence[str], data: Source, reading: dict[str, Any]) -> None:
    """Raise SapoError if `labels`, those of the data, has a label that is not among the `known` ones of the model.

    `reading` is how a file is read, to name the line of the label.
    """
    new = unknown_labels(known, labels)
    if not new:
        return
    place = _place(data, new[0], reading)
    if len(new) == 1:
        near = nearest(new[0], known)
        meant = f"did you mean '{near}'? Otherwise," if near else f"it has {listed(known)};"
        raise DataError(f"{place}: the model does not know the label '{new[0]}'; {meant} {WAY_OUT}")
    task = "" if have_common_label(known, labels) else f"is this data of another task? The model has {listed(known)}; "
    raise DataError(f"{place}: the model does not know {len(new):,} labels ({listed(new)}); {task}{WAY_OUT}")


def _place(data: Source, label: str, reading: dict[str, Any]) -> str:
    """Return where a label stands first."""
    if not isinstance(data, str | Path):
        return "new data"
    if str(data) != "-":
        for block in read_labeled(data, "new data", **reading).blocks:
            tags = block.strings(LABEL)
            if label in tags:
                return block.place_of(tags.index(label))
    return str(data)


P = ParamSpec("P")
R = TypeVar("R")
PASSES = 10  # maximum, by default
GROWN = 100.0  # the rate may grow to at most this multiple of the first one


def _one_at_a_time(method: Callable[P, R]) -> Callable[P, R]:
    """Let a thread wait while another one is in such a method: both would change the same weights."""

    @functools.wraps(method)
    def waits(*args: P.args, **how: P.kwargs) -> R:
        trainer = args[0]
        assert isinstance(trainer, Trainer)
        with trainer._lock:
            return method(*args, **how)

    return waits


class Trainer:
    """A tagger that keeps learning, a sentence or a file at a time.

    A sentence takes a few milliseconds, whatever the size of the model; a sentence with a new label takes longer,
    because all weights move. The trainer is made from a tagger, or from the path of a model, and works on a copy:
    neither changes.

    Threads may share a trainer: an update waits for another one to end. `tagger` is live: it is always the same object,
    and tags with everything learned so far. It must not be used in another thread while `update` runs. Its `model` is
    replaced by each update, so do not keep a reference to it. Its tags are exact, but its scores may be too large by a
    factor of up to 1.0001, because regularization is applied to all weights only now and then. `snapshot` returns a
    tagger that is exact and does not change.

    `stopped` says why the last update ended, and `interrupted` whether it was by Ctrl-C; what was learned until then is
    kept. Raises SapoError if the model is a network.

    >>> import sapo
    >>> trainer = Trainer(sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos"))
    >>> trainer.update([(["sing", "!"], ["VB", "."])], new_labels=True)
    >>> trainer.tagger.tag(["sing", "!"])
    ['VB', '.']
    """

    def __init__(self, tagger: Tagger | str | Path) -> None:
        model = as_tagger(tagger).model
        encoder = model.linear_encoder("it cannot learn new sentences; train it again on all of them")
        jit.compile_kernels()
        self._encoder = encoder.growing()
        self._weights = GrowingWeights(model.parameters, transitions=encoder.transitions)
        # a model file has left out features without a weight
        self._left_out = max(0, int(model.record.get("features", 0)) - encoder.features)
        self._typical = typical_weight(model.parameters.rows, encoder.features + self._left_out)
        self._labels = StringTable(model.outer_labels)  # the shown labels
        self._kept = dataclasses.replace(model, encoder=self._encoder, parameters=self._weights.shown)
        self._record = dict(model.record)
        self._earlier = list(model.record.get("continued", []))
        self.stopped: str | None = None
        self.interrupted = False
        self._learned: list[
            dict[str, Any]
        ] = []  # the updates of this trainer; those with the same settings share an entry
        self.tagger = Tagger(self._model())
        self._lock = threading.RLock()  # observers of an update may take a snapshot

    @_one_at_a_time
    def update(
        self,
        sentences: Source,
        *,
        format: str | None = None,
        label: str | int | None = None,
        columns: Sequence[str] | None = None,
        encoding: str | None = None,
        observers: Sequence[Observer] = (),
        missing: str | None = None,
        sample_weight: Sequence[float] | None = None,
        class_weight: Mapping[str, float] | str | None = None,
        new_labels: bool = False,
        **settings: Any,
    ) -> None:
        """Learn from tagged sentences, in the same form as in training, or from a file.

        `settings` are fields of `sapo.Settings`; those that are not given are as in training. The tag scheme and the
        rules of the model apply to new labels, too. `missing` marks missing tags, as in training. `sample_weight` has a
        weight for each new sentence; `class_weight` has a weight for each label, or is "balanced". Raises SapoError if
        the sentences cannot be read or learned, or have a label that the model does not know, unless `new_labels` is
        true; the tagger then tags as before.
        """
        learner, chosen = self._settings(settings)
        reading = self._reading(sentences, format=format, label=label, columns=columns, encoding=encoding)
        labels = self._labels.copy()
        counted = None
        if sample_weight is not None:
            sample_weight, counted = counted_samples(sample_weight)
        try:
            corpus = self._grow(sentences, labels, counted, **reading)
        finally:  # features that were read before an error exist now, and need weights, even if these are zero
            self._weights.add_features(self._encoder.features, self._encoder.edge_features)
            self.tagger.model = self._model()
        marks = LabelOptions(missing=self._record.get("missing") if missing is None else missing).marks
        if not new_labels:
            names = labels.strings()
            used = [names[tag] for tag in np.unique(corpus.gold).tolist() if names[tag] not in marks]
            refuse_new_labels(self.tagger.labels, used, sentences, reading)
        gold = grown_gold(
            self._kept, labels.strings(), corpus, marks, sample_weight=sample_weight, class_weight=class_weight
        )
        corpus, count = gold.corpus, len(gold.labels)
        _check_allowed(corpus, gold.bans, gold.labels)
        weights = self._weights if count == self._weights.labels else self._weights.with_labels(count)
        weights.add_pairs(observed_pairs(corpus, self._encoder.edge_features, count))
        bans, weights.weights.bans = weights.weights.bans, gold.bans
        try:
            passes, stop = self._learn(learner, corpus, chosen, weights, observers)
        except BaseException:
            weights.weights.bans = bans
            self._weights.take_back(weights)
            self.tagger.model = self._model()  # the arrays may be others, since there was no room
            raise
        weights.settle()
        self._weights, self._labels = weights, StringTable(gold.outer)
        self._kept = dataclasses.replace(
            self._kept,
            labels=tuple(gold.labels),
            parameters=weights.shown,
            constraints=gold.constraints,
            shown=gold.shown,
        )
        self.stopped, self.interrupted = stop.text, stop.interrupted
        if self._record:
            self._remember(corpus, passes, chosen, stop.text)
        self.tagger.model = self._model()

    @_one_at_a_time
    def snapshot(self) -> Tagger:
        """Return a copy of the tagger, which does not change when the trainer goes on.

        >>> import sapo
        >>> trainer = Trainer(sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos"))
        >>> before = trainer.snapshot()
        >>> trainer.update([(["sing", "!"], ["VB", "."])], new_labels=True)
        >>> before.labels, trainer.tagger.labels
        (('DT', 'NN'), ('DT', 'NN', 'VB', '.'))
        """
        model = self.tagger.model
        return Tagger(dataclasses.replace(model, encoder=self._encoder.frozen(), parameters=self._weights.true()))

    def _settings(self, given: dict[str, Any]) -> tuple[Learner, Settings]:
        name = self._record.get("learner", "sapo").removesuffix(
            "-avg"
        )  # the model does not have the sums of the average
        name = known_learner(name)
        learner = LEARNERS["crf" if name == CRF_LBFGS else name]
        trained = {key: value for key, value in self._record.get("settings", {}).items() if value is not None}
        regularizer = "l2" if learner.regularized else "none"
        if trained.get("regularizer") != regularizer:
            trained.pop("strength", None)  # that of another regularizer says nothing about this one
        for name in ("piece", "average", "hide"):  # a new sentence is learned whole, and at once
            trained.pop(name, None)
        values = {**trained, "epochs": PASSES, "regularizer": regularizer, "block": 1, **given}
        if values.get("n") == AUTO:  # a handful of sentences is too little to measure it again
            history = self._record.get("history")
            values["n"] = history[-1]["n"] if trained.get("n") == AUTO and history else Settings().n
        chosen = make_settings(values)
        if chosen.regularizer not in ("l2", "none"):
            raise OptionError(f"an update takes the regularizer l2 or none, not {chosen.regularizer}")
        return learner, chosen

    def _grow(self, data: Source, labels: StringTable, counted: Bools | None, **reading: Any) -> EncodedCorpus:
        """Return the new sentences, encoded, after adding their features to the encoder."""
        encoder = self._encoder
        if encoder.columns or isinstance(data, str | Path):
            blocks = read_labeled(data, "new data", counted=counted, **reading).blocks
            blocks = with_repetition(self.tagger.model, blocks)
            return join_encoded([encoder.grow(block, labels.add_fields(*block.column(LABEL))) for block in blocks])
        tokens, tags = read_pairs(list(data), "new data", counted)
        if not tokens:
            raise DataError("new data: has no sentences")
        grown: EncodedCorpus = encoder.grow(tokens, labels.add([tag for sentence in tags for tag in sentence]))
        return grown

    def _reading(self, data: Source, **reading: Any) -> dict[str, Any]:
        """Return how to read the new sentences: as the training data, unless something else was given."""
        if isinstance(data, str | Path):
            return reading_of(self.tagger.model, data, reading)
        if self._kept.reader.get("columns") and (isinstance(data, list | tuple) or not is_table(data)):
            reading["columns"] = [column for column in self._kept.reader["columns"] if column != LABEL]
        return reading

    def _learn(
        self,
        learner: Learner,
        corpus: EncodedCorpus,
        chosen: Settings,
        weights: GrowingWeights,
        observers: Sequence[Observer],
    ) -> tuple[int, Stop]:
        """Pass over the sentences until all are tagged correctly; return the number of passes, and why it ended."""
        known = int(self._record.get("sentences", 0)) + corpus.sentences
        strength = chosen.strength * corpus.sentences / known
        settings = dataclasses.replace(
            chosen, strength=strength, schedule="fixed"
        )  # the rate of each pass is chosen below
        largest = max(_rate_of(chosen, epoch, corpus.sentences, known) for epoch in (0, chosen.epochs - 1))
        shrinking = 1.0 - chosen.shrink_of(known) * largest / chosen.rate
        backup = weights.backup(corpus.rows, shrinking ** (corpus.sentences * chosen.epochs))
        state = State(weights.weights)
        share, labels = corpus.sentences / known, len(self._kept.labels)
        pacing = Pacing.of(corpus, weights.weights, self._typical, share=share, known=labels)
        epoch = 0
        try:
            while epoch < settings.epochs:
                paced = dataclasses.replace(settings, rate=_rate_of(chosen, epoch, corpus.sentences, known))
                with pacing.slowed(weights.weights) as slowed:
                    done = run_pass(learner.run, slowed, paced, weights.weights, epoch + 1, observers=observers)
                epoch += 1
                if not math.isfinite(done.totals[LOSS]):
                    raise out_of_bounds(epoch, chosen)
                if observers:
                    record = make_record(done, corpus, settings, weights.weights)
                    state.history.append(record)
                    for observer in observers:
                        observer.passed(record, state)
                if done.all_right:
                    break
            stop = Stop("every new sentence is tagged correctly now" if done.all_right else f"all {epoch} epochs done")
        except KeyboardInterrupt:
            stop = INTERRUPTED
        except BaseException:
            weights.restore(backup)
            raise
        if not weights.finite(backup.rows):
            weights.restore(backup)
            raise out_of_bounds(epoch, chosen)
        return epoch, stop

    def _remember(self, corpus: EncodedCorpus, passes: int, settings: Settings, reason: str) -> None:
        """Add this update to the training record; updates with the same settings share an entry."""
        record = self._record
        record["sentences"] = int(record.get("sentences", 0)) + corpus.sentences
        record["tokens"] = int(record.get("tokens", 0)) + corpus.tokens
        record["features"] = self._encoder.features + self._left_out
        entry: dict[str, Any] = {"updates": 0, "sentences": 0, "passes": 0, "settings": settings.as_json()}
        if self._learned and self._learned[-1]["settings"] == entry["settings"]:
            entry = self._learned.pop()
        self._learned.append(
            {
                **entry,
                "updates": entry["updates"] + 1,
                "sentences": entry["sentences"] + corpus.sentences,
                "passes": entry["passes"] + passes,
                "stopped": reason,
            }
        )

    def _model(self) -> Model:
        record = dict(self._record)
        if self._learned:
            record["continued"] = [*self._earlier, *self._learned]
        return dataclasses.replace(self._kept, parameters=self._weights.shown, record=record)


def _rate_of(settings: Settings, epoch: int, sentences: int, known: int) -> float:
    """Return the rate of a pass; passes count from 0. It stops growing when L2 would halve the weights at a sample."""
    if settings.schedule != "exponential":
        return settings.rate_of(epoch + 1)
    most = GROWN * settings.rate
    if settings.regularizer == "l2" and settings.strength > 0:
        most = min(most, max(settings.rate, 0.5 * known / settings.strength))
    factor = growth(settings.decay, sentences)
    passes = epoch if factor <= 1.0 else min(epoch, math.ceil(math.log(GROWN) / math.log(factor)))  # avoids overflow
    return min(most, settings.rate * factor**passes)


def continue_training(tagger: Tagger, data: Source, **how: Any) -> Tagger:
    """Return a new tagger that has also learned from these sentences; the old one does not change.

    The arguments are those of `Trainer.update`.

    >>> import sapo
    >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos")
    >>> continue_training(tagger, [(["sing", "!"], ["VB", "."])], new_labels=True).tag(["sing", "!"])
    ['VB', '.']
    """
    trainer = Trainer(tagger)
    trainer.update(data, **how)
    return trainer.snapshot()


def _check_allowed(corpus: EncodedCorpus, bans: Floats, labels: Sequence[str]) -> None:
    """Raise SapoError if the model forbids a tagging of the new sentences, because it cannot be learned."""
    if not bans.any():
        return
    gold, count = np.maximum(corpus.gold, -1), len(labels)
    first, last = corpus.offsets[:-1], corpus.offsets[1:] - 1
    before = np.concatenate([gold[:1], gold[:-1]])
    before[first] = count
    forbidden = np.isinf(bans[before, gold]) & (before >= 0)
    forbidden[last] |= np.isinf(bans[count + 1, gold[last]])
    forbidden &= gold >= 0  # a missing tag may be any tag that fits
    if not forbidden.any():
        return
    token = int(np.argmax(forbidden))
    sentence = int(np.searchsorted(corpus.offsets, token, side="right")) - 1
    place = f"new data: sentence {sentence + 1}, token {token - int(first[sentence]) + 1}"
    raise DataError(f"{place}: the model forbids the tag '{labels[gold[token]]}' here; correct the tags")
