"""Provide `SequenceLabeler`: sapo as a scikit-learn estimator."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from sapo.errors import DataError, OptionError
from sapo.learn.samples import BALANCED, counted_samples
from sapo.learn.settings import AUTO, Settings
from sapo.sklearn.estimator import FittedLabeler
from sapo.sklearn.sequences import Label, LabeledSequences
from sapo.tagger.tagger import Tagger
from sapo.training.plan import ClusterSource, Names, make_plan
from sapo.training.update import Trainer


class SequenceLabeler(FittedLabeler):
    """A sequence labeler for scikit-learn.

    The parameters are those of `sapo.train`. `template` is a preset or a template file that turns words into features;
    `columns` names the columns of tokens that are tuples; `clusters` is a file of word clusters, a dictionary of words
    and clusters, or a list of these; `unlabeled` is a file of text to make clusters from, or a list of files; `names`
    has a file or a list of names for each kind; `vectors` is a file of word vectors. `settings` is a dictionary with
    fields of `sapo.Settings` and `sapo.neural.options.NeuralOptions`, such as {"decay": 0.8}, or a `sapo.Settings`;
    `n`, `strength`, `rate`, `epochs` and `threads` win over it. What is None or 'auto' is chosen from the data, or is
    the default of the learner (docs/explanation/defaults.md). `random_state` is an integer, or a NumPy generator that
    draws one.

    Taggings follow the tag scheme of the data (`constraints`; None: unless the learner is sapo-plain) and the `rules`;
    `scheme` learns the labels in another scheme; the label `missing` marks tokens whose label is unknown.
    `class_weight` is 'balanced', or a weight for some of the labels; the other labels have weight 1. `verbose` shows
    the progress of `fit`.

    A token is a string, a tuple of columns (word, pos, ...), or a dictionary or list of features.

    >>> labeler = SequenceLabeler(template="pos").fit([["a", "dog"], ["the", "cat"]], [["DT", "NN"], ["DT", "NN"]])
    >>> labeler.predict([["the", "dog"]]).tolist()
    [['DT', 'NN']]
    >>> labeler.score([["the", "dog"]], [["DT", "NN"]])
    1.0
    """

    def __init__(
        self,
        *,
        template: str | Path | None = None,
        columns: Sequence[str] | None = None,
        clusters: ClusterSource | Sequence[ClusterSource] | None = None,
        unlabeled: str | Path | Sequence[str | Path] | None = None,
        names: Mapping[str, Names] | None = None,
        vectors: str | Path | None = None,
        min_count: int = 1,
        learner: str = "sapo",
        n: int | Literal["auto"] | None = None,
        strength: float | Literal["auto"] | None = None,
        rate: float | Literal["auto"] | None = None,
        epochs: int | Literal["auto"] | None = None,
        threads: int | None = None,
        settings: Settings | Mapping[str, object] | None = None,
        random_state: Any = None,
        constraints: bool | None = None,
        rules: Sequence[str] | str | Path = (),
        scheme: str | None = AUTO,
        missing: Label | None = None,
        class_weight: Mapping[Label, float] | str | None = None,
        verbose: bool = False,
    ) -> None:
        self.template = template
        self.columns = columns
        self.clusters = clusters
        self.unlabeled = unlabeled
        self.names = names
        self.vectors = vectors
        self.min_count = min_count
        self.learner = learner
        self.n = n
        self.strength = strength
        self.rate = rate
        self.epochs = epochs
        self.threads = threads
        self.settings = settings
        self.random_state = random_state
        self.constraints = constraints
        self.rules = rules
        self.scheme = scheme
        self.missing = missing
        self.class_weight = class_weight
        self.verbose = verbose

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None, sample_weight: Any = None) -> Self:
        """Train a new model on sequences X with labels y.

        With a dev set, training stops when the dev score no longer improves, and the best pass is kept. `sample_weight`
        has a number for each sequence: how much it counts in training.
        """
        self._forget()
        pairs, kind = self._pairs(X, y)
        self._fit_pairs(pairs, kind, self._dev_pairs(X_dev, y_dev, kind), sample_weight, self._class_weight())
        return self

    def partial_fit(self, X: Any, y: Any, classes: Iterable[Label] | None = None, sample_weight: Any = None) -> Self:
        """Learn from more sequences, and keep what was learned before. The first call trains a model, as `fit` does.

        New labels may appear in any call; but if the first call lists all `classes`, any other label raises SapoError.

        >>> labeler = SequenceLabeler(template="pos").partial_fit([["a", "dog"]], [["DT", "NN"]])
        >>> labeler.partial_fit([["sing", "!"]], [["VB", "."]]).predict([["sing", "!"]]).tolist()
        [['VB', '.']]
        """
        if isinstance(self.class_weight, str) and self.class_weight == BALANCED:
            raise OptionError("class_weight='balanced' needs all sequences at once; call fit, or give weights by label")
        if "_tagger" not in vars(self):
            pairs, kind = self._pairs(X, y)
            allowed = None if classes is None else list(classes)
            self._check_classes(pairs, kind, allowed)
            self._fit_pairs(pairs, kind, None, sample_weight, self._class_weight(_tags_of(pairs, sample_weight)))
            if allowed is not None:
                self._allowed, self.classes_ = allowed, allowed
            return self
        pairs, kind = self._pairs(X, y)
        self._check_kind(kind)
        allowed = vars(self).get("_allowed")
        self._check_classes(pairs, kind, allowed)
        if "_trainer" not in vars(self):
            self._trainer = Trainer(self._tagger)
        new = _tags_of(pairs, sample_weight)
        weights = self._class_weight([*map(str, self.classes_), *new])
        self._trainer.update(pairs, sample_weight=sample_weight, class_weight=weights, new_labels=True)
        # not taken from the tagger, which is only made when it is needed
        new.pop(str(self.missing), None)
        self.classes_ = list(dict.fromkeys([*self.classes_, *self._labels(list(new))]))
        if self._trainer.interrupted:  # as in fit; what was learned so far is kept
            raise KeyboardInterrupt
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return the F1 of spans, as conlleval counts it, if the labels mark spans; otherwise the token accuracy."""
        return self.evaluate(X, y).main[1]

    def _trained(self) -> Tagger:
        return self._trainer.tagger if "_trainer" in vars(self) else super()._trained()

    def _fit_pairs(
        self,
        pairs: LabeledSequences,
        kind: type[Label],
        dev: LabeledSequences | None,
        sample_weight: Any,
        class_weight: Any,
    ) -> None:
        plan = make_plan(
            pairs,
            dev=dev,
            template=self.template,
            learner=self.learner,
            settings=self.settings,
            n=self.n,
            strength=self.strength,
            rate=self.rate,
            epochs=self.epochs,
            threads=self.threads,
            columns=self.columns,
            clusters=self.clusters,
            unlabeled=self.unlabeled,
            names=self.names,
            vectors=self.vectors,
            min_count=self.min_count,
            seed=_seed(self.random_state),
            constraints=self.constraints,
            rules=self.rules,
            scheme=self.scheme,
            missing=None if self.missing is None else str(self.missing),
            sample_weight=sample_weight,
            class_weight=class_weight,
        )
        self._train(plan, kind, verbose=self.verbose)

    def _class_weight(self, met: Collection[str] | None = None) -> Any:
        """Return the class weights with labels as strings; with `met`, only those of labels that have occurred."""
        weights: Any = self.class_weight
        if isinstance(weights, Mapping):
            return {str(label): weight for label, weight in weights.items() if met is None or str(label) in met}
        return weights

    def _takes_columns(self) -> bool:
        return self.template is not None or self.columns is not None or super()._takes_columns()

    def _forget(self) -> None:
        for name in ("_tagger", "_trainer", "_allowed"):
            vars(self).pop(name, None)

    def _check_classes(self, pairs: LabeledSequences, kind: type[Label], allowed: list[Label] | None) -> None:
        if allowed is None:
            return
        names = {str(label) for label in (*allowed, self.missing)}
        for number, (_, tags) in enumerate(pairs):
            for place, tag in enumerate(tags):
                if tag not in names:
                    raise DataError(f"y[{number}][{place}]: {kind(tag)!r} is not in classes {allowed!r:.60}")

    def __getstate__(self) -> dict[str, Any]:
        if "_trainer" in vars(self):
            self._tagger = self._trainer.tagger
        state = super().__getstate__()
        state.pop("_trainer", None)
        return state


def _tags_of(pairs: LabeledSequences, sample_weight: Any) -> dict[str, None]:
    """Return all tags of sequences that count, each once, in order of first occurrence."""
    counted = pairs if sample_weight is None else compress(pairs, counted_samples(sample_weight)[1])
    return dict.fromkeys(tag for _, tags in counted for tag in tags)


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return random_state
