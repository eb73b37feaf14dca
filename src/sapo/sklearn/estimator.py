"""Share what the estimators have in common: sequences in any container, prediction, evaluation, pickling.

Lists, tuples, generators, NumPy arrays, list columns of pandas, polars and Arrow, and columns of Hugging Face datasets
all work by iteration; none of these libraries is imported. Errors name the sequence and the value.

A pickle contains the parameters and the bytes of the model file.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from sapo.corpus.annotations import TaggedSpan
from sapo.errors import DataError, ModelError, OptionError, SapoError
from sapo.evaluate.scores import Scores, score
from sapo.learn.records import Observer
from sapo.sklearn.sequences import Label, LabeledSequences, labeled_pairs, token_sequences
from sapo.tagger.decoding import Tagging
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.files import check_no_missing
from sapo.tagger.tagger import Tagger
from sapo.tags.schemes import looks_like_spans
from sapo.training.plan import Plan
from sapo.training.progress import Quiet, shown
from sapo.training.run import Outcome, start


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
