"""Share what the estimators have in common: sequences in any container, prediction, evaluation, pickling.

Lists, tuples, generators, NumPy arrays, list columns of pandas, polars and Arrow, and columns of Hugging Face datasets
all work by iteration; none of these libraries is imported. Errors name the sequence and the value.

A pickle contains the parameters and the bytes of the model file.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from sapo.corpus.annotations import TaggedSpan
from sapo.corpus.blocks import TO_LIST
from sapo.errors import DataError, ModelError, OptionError, SapoError
from sapo.evaluate.scores import Scores, score
from sapo.learn.records import Observer
from sapo.tagger.decoding import Tagging
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.files import check_no_missing
from sapo.tagger.tagger import Tagger
from sapo.tags.schemes import looks_like_spans
from sapo.training.plan import Plan
from sapo.training.progress import Quiet, shown
from sapo.training.run import Outcome, start

Label = str | int
LabeledSequences = list[tuple[list[Any], list[str]]]


def plain_sequences(values: Any, name: str) -> list[list[Any]]:
    """Return each sequence as a list. `name` is the argument's name in messages.

    Raises SapoError if this is not a sequence of sequences.

    >>> plain_sequences((sentence.split() for sentence in ["no rain", "sun"]), "X")
    [['no', 'rain'], ['sun']]
    >>> plain_sequences(["no", "rain"], "X")
    Traceback (most recent call last):
    ...
    sapo.errors.DataError: X[0] must be a sequence, not 'no'; one sentence alone is [sentence]
    """
    if hasattr(values, "columns"):  # a table iterates over its column names
        raise DataError(f"{name} is a table; give the column that holds the sequences, one of {list(values.columns)}")
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"{name} must hold sequences, not {values!r:.60}")
    return [_listed(sequence, f"{name}[{number}]") for number, sequence in enumerate(values)]


def _listed(sequence: Any, place: str) -> list[Any]:
    if type(sequence) is list:
        return sequence
    for method in TO_LIST:
        if hasattr(sequence, method):
            sequence = getattr(sequence, method)()
            break
    if isinstance(sequence, Mapping):
        raise DataError(f"{place} must be a sequence, not a row or the features of one token: {sequence!r:.60}")
    if isinstance(sequence, str | bytes) or not isinstance(sequence, Iterable):
        raise DataError(f"{place} must be a sequence, not {sequence!r:.60}; one sentence alone is [sentence]")
    return list(sequence)


def token_sequences(X: Any, *, name: str = "X", columns: bool = False) -> list[list[Any]]:
    """Return sequences of tokens as lists.

    A token that is a list stays a list of features, or becomes a tuple of columns if `columns` is true.
    """
    found = plain_sequences(X, name)
    first: Any = next((sequence[0] for sequence in found if sequence), None)
    if hasattr(first, "tolist"):  # rows of arrays
        found = [[token.tolist() if hasattr(token, "tolist") else token for token in tokens] for tokens in found]
        first = first.tolist()
    if columns and isinstance(first, list):
        return [[tuple(token) if isinstance(token, list) else token for token in tokens] for tokens in found]
    return found


def labeled_pairs(
    X: Any, y: Any, *, columns: bool = False, names: tuple[str, str] = ("X", "y")
) -> tuple[LabeledSequences, type[Label]]:
    """Return sequences of tokens with their labels as strings, and the type that the labels had: str or int.

    Raises SapoError if X and y do not fit together, or a label is neither a string nor an integer.
    """
    if y is None:
        raise DataError(f"{names[1]} is missing; give the labels of each sequence")
    tokens = token_sequences(X, name=names[0], columns=columns)
    labels = plain_sequences(y, names[1])
    if len(tokens) != len(labels):
        raise DataError(f"{names[0]} has {len(tokens)} sequences, but {names[1]} has {len(labels)}")
    if not tokens:
        raise DataError(f"{names[0]} has no sequences")
    for number, (sequence, own) in enumerate(zip(tokens, labels, strict=True)):
        if not sequence:
            raise DataError(f"{names[0]}[{number}] is empty; leave it out")
        if len(sequence) != len(own):
            raise DataError(
                f"{names[0]}[{number}] has {len(sequence)} tokens, but {names[1]}[{number}] has {len(own)} labels"
            )
    kind, as_strings = _label_strings(labels, names[1])
    return list(zip(tokens, as_strings, strict=True)), kind


def _label_strings(labels: list[list[Any]], name: str) -> tuple[type[Label], list[list[str]]]:
    kinds = set(map(type, chain.from_iterable(labels)))
    if kinds == {str}:
        return str, labels
    kind = int if isinstance(labels[0][0], Integral) else str
    for number, sequence in enumerate(labels):
        for place, label in enumerate(sequence):
            if isinstance(label, bool | np.bool_) or not isinstance(label, Integral if kind is int else str):
                rule = "must be a string, or a whole number in all places"
                raise DataError(f"{name}[{number}][{place}]: a label {rule}, not {label!r}")
    if kind is int:
        return int, [[str(int(label)) for label in sequence] for sequence in labels]
    return str, [list(map(str, sequence)) for sequence in labels]


class PlainEstimator:
    """An estimator without scikit-learn.

    Its parameters are the arguments of `__init__`, which stores them under their names and does nothing else.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name. `deep` has no effect; scikit-learn passes it."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. Raise ValueError if there is no such parameter."""
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = inspect.signature(type(self)).parameters
        changed = {name: value for name, value in self.get_params().items() if value != default[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        raise AttributeError("scikit-learn is not installed")


if TYPE_CHECKING:
    Estimator = PlainEstimator

    class _BaseNotFittedError(ValueError, AttributeError): ...
else:
    try:
        from sklearn.base import BaseEstimator as Estimator
        from sklearn.exceptions import NotFittedError as _BaseNotFittedError
    except ImportError:
        Estimator = PlainEstimator

        class _BaseNotFittedError(ValueError, AttributeError):
            """The same bases as scikit-learn's error."""


class NotFittedError(SapoError, _BaseNotFittedError):
    """Raised before `fit`; both a SapoError and scikit-learn's NotFittedError."""


R = TypeVar("R")


class FittedLabeler(Estimator):
    """The base class of the estimators: a trained tagger with the methods of scikit-learn."""

    classes_: list[Label]
    n_iter_: int
    history_: list[dict[str, Any]]

    @property
    def tagger_(self) -> Tagger:
        """The trained `sapo.Tagger`; after `partial_fit` it is live. Raise NotFittedError before `fit`."""
        return self._trained()

    def _trained(self) -> Tagger:
        tagger: Tagger | None = vars(self).get("_tagger")
        if tagger is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return tagger

    def __sklearn_is_fitted__(self) -> bool:
        return "_tagger" in vars(self)

    def predict(self, X: Any) -> Any:
        """Return the labels of each sequence: an array of lists."""
        tagger = self._trained()
        return _array([self._labels(tags) for tags in tagger.tag_many(self._tokens(X))])

    def predict_marginals(self, X: Any) -> Any:
        """Return the probability of each label, for each token of each sequence: an array of lists of dictionaries."""
        tagger = self._trained()
        names = self._labels(tagger.labels)
        unseen = dict.fromkeys(self.classes_, 0.0)
        return _array(
            [
                [{**unseen, **dict(zip(names, row, strict=True))} for row in sentence.tolist()]
                for sentence in tagger.marginal_arrays(self._tokens(X))
            ]
        )

    def predict_nbest(self, X: Any, n: int = 5) -> list[list[Tagging]]:
        """Return the n best taggings of each sequence, best first, with their probabilities (see `sapo.Tagging`)."""
        tagger = self._trained()
        return self._one_by_one(X, lambda tokens: [self._with_labels(found) for found in tagger.nbest(tokens, n)])

    def predict_spans(self, X: Any) -> list[list[TaggedSpan]]:
        """Return the spans (start, end, type) of each sequence, with their probabilities over all taggings.

        Raises SapoError if the labels do not mark spans.
        """
        tagger = self._trained()
        if not looks_like_spans(tagger.labels):
            raise ModelError(
                f"spans need labels such as B-X, I-X and O; this model predicts {', '.join(tagger.labels)[:60]}"
            )
        return self._one_by_one(X, tagger.spans)

    def evaluate(self, X: Any, y: Any) -> Scores:
        """Return all scores: of tokens, of sequences and, if the labels mark spans, of spans."""
        tagger = self._trained()
        pairs, kind = self._pairs(X, y)
        self._check_kind(kind)
        labels = {name: number for number, name in enumerate(tagger.labels)}
        gold = [labels.setdefault(tag, len(labels)) for _, tags in pairs for tag in tags]
        check_no_missing(tagger.model, list(labels), "y")
        found = [labels[tag] for tags in tagger.tag_many([tokens for tokens, _ in pairs]) for tag in tags]
        offsets = np.cumsum([0, *(len(tags) for _, tags in pairs)], dtype=np.int64)
        return score(list(labels), np.array(gold, np.int32), np.array(found, np.int32), offsets)

    def _train(
        self,
        plan: Plan,
        kind: type[Label],
        observers: Sequence[Observer] = (),
        *,
        verbose: bool = False,
        lines: bool = True,
        calibrate: bool = True,
    ) -> Outcome:
        with shown(plan.settings, lines=lines) if verbose else nullcontext(Quiet(plan.settings)) as show:
            run = start(plan, show=show)
            outcome = run.finish_shown(show, observers, calibrate=calibrate)
        if outcome.stop.interrupted:  # a parameter search must not treat this as a result
            raise KeyboardInterrupt
        self._tagger = outcome.tagger
        self._kind = kind
        self.classes_ = self._labels(outcome.tagger.labels)
        self.history_ = [record.as_json() for record in outcome.history]
        self.n_iter_ = len(outcome.history)
        return outcome

    def _pairs(self, X: Any, y: Any, names: tuple[str, str] = ("X", "y")) -> tuple[LabeledSequences, type[Label]]:
        return labeled_pairs(X, y, columns=self._takes_columns(), names=names)

    def _dev_pairs(self, X_dev: Any, y_dev: Any, kind: type[Label]) -> LabeledSequences | None:
        if (X_dev is None) != (y_dev is None):
            raise OptionError("give both X_dev and y_dev, or neither")
        if X_dev is None:
            return None
        pairs, dev_kind = self._pairs(X_dev, y_dev, ("X_dev", "y_dev"))
        if dev_kind is not kind:
            raise DataError(f"y_dev has labels of type {dev_kind.__name__}, but y has {kind.__name__}")
        return pairs

    def _tokens(self, X: Any) -> list[list[Any]]:
        return token_sequences(X, columns=self._takes_columns())

    def _one_by_one(self, X: Any, work: Callable[[list[Any]], R]) -> list[R]:
        """Return `work(tokens)` for each sequence; errors name the sequence by its index in X."""
        found = []
        for number, tokens in enumerate(self._tokens(X)):
            try:
                found.append(work(tokens))
            except SapoError as error:
                token = re.match(r"sentence 1, token (\d+): ", message := str(error))
                place = f"X[{number}][{int(token[1]) - 1}]" if token else f"X[{number}]"
                raise DataError(f"{place}: {message.removeprefix(token[0]) if token else message}") from None
        return found

    def _takes_columns(self) -> bool:
        """Return whether a token that is a list is a row of columns; otherwise it is a list of features."""
        return bool(self._tagger.columns) if "_tagger" in vars(self) else False

    def _labels(self, names: Sequence[str]) -> list[Label]:
        return list(names) if self._kind is str else [int(name) for name in names]

    def _with_labels(self, tagging: Tagging) -> Tagging:
        tags: Any = self._labels(tagging.tags)
        return replace(tagging, tags=tags)

    def _check_kind(self, kind: type[Label]) -> None:
        if kind is not self._kind:
            raise DataError(f"y has labels of type {kind.__name__}, but those of training were {self._kind.__name__}")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        tagger = state.pop("_tagger", None)
        return state if tagger is None else {**state, "_model": model_bytes(tagger.model)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        model = state.pop("_model", None)
        vars(self).update(state)
        if model is not None:
            self._tagger = Tagger(model_from_bytes(model))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.dict = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.no_validation = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Return the same tags for scikit-learn before 1.6."""
        return {"X_types": ["string", "dict"], "requires_y": True, "no_validation": True}


def _array(sequences: list[Any]) -> Any:
    """Return a one-dimensional array of lists: `cross_val_predict` joins folds only along the first dimension.

    NumPy would refuse lists of different lengths, and would make lists of one length two-dimensional.
    """
    found = np.empty(len(sequences), object)
    found[:] = sequences
    return found
