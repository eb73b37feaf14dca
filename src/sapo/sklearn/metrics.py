"""Provide the metrics, scorers and helpers of sklearn-crfsuite.

All but the accuracies need scikit-learn. For the F1 of spans see `sapo.SequenceLabeler.score` and `sapo eval`.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypedDict, TypeVar, Unpack

from sapo.errors import DataError, OptionError, pip_install

T = TypeVar("T")
Sequences = Sequence[Sequence[Any]]


class ScoreOptions(TypedDict, total=False):
    """The options of the scores of scikit-learn."""

    labels: Any
    pos_label: Any
    average: str | None
    sample_weight: Any
    zero_division: Any


class ReportOptions(TypedDict, total=False):
    """The options of the report of scikit-learn."""

    target_names: Sequence[str] | None
    sample_weight: Any
    digits: int
    output_dict: bool
    zero_division: Any


def flat_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """Return the share of tokens with the correct label, or 0 if there are no tokens.

    >>> flat_accuracy_score([["O", "B"], ["O"]], [["O", "O"], ["O"]]).__round__(2)
    0.67
    """
    right = [bool(a == b) for a, b in zip(*_flat(y_true, y_pred), strict=True)]
    return sum(right) / len(right) if right else 0.0


def flat_precision_score(y_true: Sequences, y_pred: Sequences, **options: Unpack[ScoreOptions]) -> Any:
    """Return `sklearn.metrics.precision_score` over all tokens."""
    return sklearn_metric("precision_score")(*_flat(y_true, y_pred), **options)


def flat_recall_score(y_true: Sequences, y_pred: Sequences, **options: Unpack[ScoreOptions]) -> Any:
    """Return `sklearn.metrics.recall_score` over all tokens."""
    return sklearn_metric("recall_score")(*_flat(y_true, y_pred), **options)


def flat_f1_score(y_true: Sequences, y_pred: Sequences, **options: Unpack[ScoreOptions]) -> Any:
    """Return `sklearn.metrics.f1_score` over all tokens."""
    return sklearn_metric("f1_score")(*_flat(y_true, y_pred), **options)


def flat_fbeta_score(y_true: Sequences, y_pred: Sequences, beta: float, **options: Unpack[ScoreOptions]) -> Any:
    """Return `sklearn.metrics.fbeta_score` over all tokens."""
    return sklearn_metric("fbeta_score")(*_flat(y_true, y_pred), beta=beta, **options)


def flat_classification_report(
    y_true: Sequences, y_pred: Sequences, labels: Any = None, **options: Unpack[ReportOptions]
) -> Any:
    """Return `sklearn.metrics.classification_report` over all tokens."""
    return sklearn_metric("classification_report")(*_flat(y_true, y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """Return the share of sequences in which every label is correct, or 0 if there are no sequences.

    >>> sequence_accuracy_score([["O", "B"], ["O"]], [["O", "O"], ["O"]])
    0.5
    """
    right = sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True))
    return right / len(y_true) if len(y_true) else 0.0


def _flat(y_true: Sequences, y_pred: Sequences) -> tuple[list[Any], list[Any]]:
    """Return the labels of all tokens. Raise SapoError if the lengths differ."""
    if len(y_true) != len(y_pred):
        raise DataError(f"y_true has {len(y_true)} sequences, but y_pred has {len(y_pred)}")
    for number, (a, b) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(a) != len(b):
            raise DataError(f"y_true[{number}] has {len(a)} labels, but y_pred[{number}] has {len(b)}")
    return flatten(y_true), flatten(y_pred)


def sklearn_metric(name: str) -> Callable[..., Any]:
    """Return a function of `sklearn.metrics`. Raise SapoError if scikit-learn is not installed."""
    try:
        from sklearn import metrics
    except ImportError:
        raise OptionError(f"these metrics need scikit-learn: {pip_install('sklearn')}") from None
    found: Callable[..., Any] = getattr(metrics, name)
    return found


SCORERS = {"flat_accuracy": flat_accuracy_score, "sequence_accuracy": sequence_accuracy_score}


def __getattr__(name: str) -> Any:
    """Make a scorer when it is first used, so that scikit-learn is not loaded earlier."""
    if name not in SCORERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return sklearn_metric("make_scorer")(SCORERS[name])


def flatten(sequences: Iterable[Iterable[T]]) -> list[T]:
    """Return the items of all sequences in one list.

    >>> flatten([["B", "I"], ["O"]])
    ['B', 'I', 'O']
    """
    return list(chain.from_iterable(sequences))
