"""Find a learner by name, linear or neural, and begin training with it."""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sapo.errors import OptionError
from sapo.features.encoded import EncodedCorpus, observed_pairs
from sapo.features.encoder import Encoder, TemplateEncoder
from sapo.learn import LEARNERS, Learner
from sapo.learn.batch_crf import CRF_LBFGS, BatchOptions, BatchWeights, batch_pass, flat_layout
from sapo.learn.lbfgs import Minimizer
from sapo.learn.loop import LearnerPass
from sapo.learn.records import DevSet
from sapo.learn.settings import AUTO, Settings
from sapo.neural.options import LAYERS, RATE, NeuralOptions, need_torch
from sapo.training.choice import Say, choose_settings, label_lists, start_rate
from sapo.training.data import TrainingData
from sapo.training.plan import Plan, known_learner


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the training loop needs from a learner, and the encoder of the future model."""

    one_pass: LearnerPass
    weights: Any  # a sapo.learn.records.Learned
    settings: Settings
    dev: DevSet | None
    encoder: Encoder
    names: list[str]  # together with the data and `options` they identify the run
    options: dict[str, Any]  # settings, for the checkpoint


class System(Protocol):
    """A learner that a user can choose by name."""

    @property
    def reads_texts(self) -> bool:
        """Whether the learner needs the words, and not only their features."""

    def check(self) -> None:
        """Raise SapoError if something that the learner needs is not installed."""

    def rate(self, data: TrainingData, settings: Settings) -> float:
        """Return a start rate for this data."""

    def choose(self, data: TrainingData, settings: Settings, automatic: Collection[str], say: Say) -> Settings:
        """Return the settings with what is automatic chosen for this data. `say` shows it to the user."""

    def begin(self, plan: Plan, data: TrainingData, settings: Settings) -> Beginning:
        """Return the weights before the first pass, and the pass that trains them."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear learner, which learns weights of features."""

    name: str
    learner: Learner
    reads_texts: bool = False

    def check(self) -> None:
        pass

    def rate(self, data: TrainingData, settings: Settings) -> float:
        if not self.learner.regularized:
            return settings.rate
        weights = data.zero_weights()
        weights.lists = label_lists(data.corpus, len(data.labels), exact=settings.exact, spans=data.spans)
        return start_rate(data.corpus, weights, settings.seed)

    def choose(self, data: TrainingData, settings: Settings, automatic: Collection[str], say: Say) -> Settings:
        if "strength" in self.learner.automatic:
            return choose_settings(self.learner.run, data, settings, automatic, say)
        if "rate" in automatic:
            settings = dataclasses.replace(settings, rate=self.rate(data, settings))
        return settings

    def begin(self, plan: Plan, data: TrainingData, settings: Settings) -> Beginning:
        learner = self.learner
        if not learner.regularized:
            settings = dataclasses.replace(settings, regularizer="none", strength=0.0)
        if settings.n == AUTO and not learner.n_best:
            settings = dataclasses.replace(settings, n=Settings().n)  # not used by this learner
        encoder, labels = data.encoder, data.labels
        weights = data.zero_weights(averaged=learner.averaged, l1=settings.regularizer == "l1")
        weights.lists = label_lists(data.source, len(labels), exact=settings.exact, spans=data.spans)
        if learner.all_labels and weights.rows.listed and not settings.all_pairs:
            weights.rows.fix(data.corpus.gold, data.corpus.row_offsets, data.corpus.rows)
        names = [self.name, f"transitions {encoder.transitions}", *labels, str(data.gold.constraints)]
        return Beginning(learner.run, weights, settings, data.dev, encoder, names, settings.as_json())


@dataclass(frozen=True, slots=True)
class Batch:
    """The learner `crf-lbfgs`, whose weights are one vector."""

    reads_texts: bool = False

    def check(self) -> None:
        pass

    def rate(self, data: TrainingData, settings: Settings) -> float:
        return settings.rate

    def choose(self, data: TrainingData, settings: Settings, automatic: Collection[str], say: Say) -> Settings:
        return settings

    def begin(self, plan: Plan, data: TrainingData, settings: Settings) -> Beginning:
        """Return the same as other learners do. Raise SapoError where there is no objective to minimize."""
        encoder, options, strength = data.encoder, plan.batch or BatchOptions(), settings.strength
        if len(data.corpus.importance) and _differ_within_sentences(data.corpus):
            raise OptionError(
                f"{CRF_LBFGS} takes weights of sentences (sample_weight), but not of labels (class_weight)"
            )
        l2 = strength if settings.regularizer == "l2" else 0.0
        l1 = strength if settings.regularizer == "l1" else options.l1
        layout = flat_layout(
            data.corpus,
            encoder.features,
            data.gold.bans,
            pairs=observed_pairs(data.corpus, encoder.edge_features, len(data.labels)),
            transitions=encoder.transitions,
            all_states=settings.all_pairs,
            all_transitions=options.all_transitions,
            min_freq=options.min_freq,
            lists=label_lists(data.corpus, len(data.labels), exact=settings.exact, spans=data.spans),
        )
        minimizer = Minimizer(
            np.zeros(layout.size), l1=l1, memories=options.memories, trials=options.trials, epsilon=options.epsilon
        )
        weights = BatchWeights(layout, minimizer, l2, options.period, settings.tolerance)
        names = [CRF_LBFGS, f"transitions {encoder.transitions}", f"l1 {l1}", str(options)]
        names += [*data.labels, str(data.gold.constraints)]
        n = Settings().n if settings.n == AUTO else settings.n
        # the weights tell when to stop, and there is nothing to cut or to average
        settings = dataclasses.replace(settings, n=n, tolerance=0.0, piece=0, average=0.0, hide=0.0)
        return Beginning(batch_pass, weights, settings, data.dev, encoder, names, settings.as_json())


def _differ_within_sentences(corpus: EncodedCorpus) -> bool:
    """Return whether tokens of a sentence are of different importance."""
    sentence = np.repeat(np.arange(corpus.sentences), np.diff(corpus.offsets))
    return bool((corpus.importance != corpus.importance[corpus.offsets[sentence]]).any())


@dataclass(frozen=True, slots=True)
class Neural:
    """A neural learner. PyTorch is imported when training begins."""

    name: str
    reads_texts: bool = True

    def check(self) -> None:
        need_torch()

    def rate(self, data: TrainingData, settings: Settings) -> float:
        return RATE

    def choose(self, data: TrainingData, settings: Settings, automatic: Collection[str], say: Say) -> Settings:
        if automatic:
            settings = dataclasses.replace(settings, rate=RATE)
        return settings

    def begin(self, plan: Plan, data: TrainingData, settings: Settings) -> Beginning:
        name = self.name
        if data.texts is None or not isinstance(data.encoder, TemplateEncoder):
            raise OptionError(f"{name} reads words and learns features itself; give it words, not ready-made features")
        if (data.corpus.gold < 0).any():
            raise OptionError(f"{name} needs every tag of the training data; leave out sentences where one is missing")
        if len(data.corpus.importance):
            raise OptionError(f"{name} takes all tokens alike; leave out the weights of sentences and classes")
        self.check()
        from sapo.neural.training import begin_network

        settings = dataclasses.replace(settings, regularizer="none", strength=0.0, drop=0.0)
        settings = dataclasses.replace(settings, piece=0, average=0.0, hide=0.0)
        begun = begin_network(
            data.texts,
            data.corpus,
            data.encoder,
            data.gold.bans,
            settings,
            plan.network or NeuralOptions(),
            learner=name,
        )
        names = [name, *begun.names, *data.labels, str(data.gold.constraints)]
        options = {**settings.as_json(), **begun.options.as_json()}
        dev = None if data.dev is None else begun.dev_set(data.dev, data.texts.dev)
        return Beginning(begun.one_pass, begun.weights, settings, dev, begun.weights.encoder, names, options)


def find_system(name: str) -> System:
    """Return the learner of this name, linear or neural. Raise SapoError if there is none."""
    name = known_learner(name)
    if name == CRF_LBFGS:
        return Batch()
    return Neural(name) if name in LAYERS else Linear(name, LEARNERS[name])
