"""Scorers for `cross_val_score` and parameter searches, with the names of sklearn-crfsuite."""

from typing import Any

from sapo.sklearn import metrics

SCORERS = {"flat_accuracy": metrics.flat_accuracy_score, "sequence_accuracy": metrics.sequence_accuracy_score}


def __getattr__(name: str) -> Any:
    """Make a scorer when it is first used, so that scikit-learn is not loaded earlier."""
    if name not in SCORERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return metrics.sklearn_metric("make_scorer")(SCORERS[name])
