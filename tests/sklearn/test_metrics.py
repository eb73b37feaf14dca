"""Scores over all tokens are those of scikit-learn."""

import sys
from typing import Any

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.sklearn import metrics
from sapo.sklearn import metrics as scorers

peer = pytest.importorskip("sklearn.metrics")
TRUE = [["O", "B", "I"], ["O"], ["B", "O"]]
FOUND = [["O", "B", "O"], ["O"], ["I", "O"]]
FLAT = [label for tags in TRUE for label in tags], [label for tags in FOUND for label in tags]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("accuracy_score", {}),
        ("precision_score", {"average": "macro", "zero_division": 0}),
        ("recall_score", {"average": "weighted", "labels": ["B", "I"]}),
        ("f1_score", {"average": "weighted", "labels": ["B", "I"]}),
        ("fbeta_score", {"average": "micro", "beta": 2}),
        ("classification_report", {"digits": 3, "zero_division": 0}),
    ],
)
def test_a_flat_score_is_that_of_all_tokens(name: str, options: dict[str, Any]) -> None:
    assert getattr(metrics, f"flat_{name}")(TRUE, FOUND, **options) == getattr(peer, name)(*FLAT, **options)


def test_sequences_count_only_as_a_whole() -> None:
    assert metrics.sequence_accuracy_score(TRUE, FOUND) == pytest.approx(1 / 3)
    assert metrics.sequence_accuracy_score([], []) == 0.0


def test_accuracy_is_a_ratio_of_counts_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert metrics.flat_accuracy_score([["O", "B"], ["O"]], [["O", "O"], ["O"]]) == 2 / 3
    assert metrics.flat_accuracy_score(np.array([[1, 2]]), np.array([[1, 1]])) == 0.5
    assert metrics.flat_accuracy_score([], []) == 0.0


def test_sequences_of_different_lengths_are_named() -> None:
    with pytest.raises(SapoError, match="y_true has 3 sequences, but y_pred has 2"):
        metrics.flat_f1_score(TRUE, FOUND[:2])
    with pytest.raises(SapoError, match=r"y_true\[1\] has 1 labels, but y_pred\[1\] has 2"):
        metrics.flat_f1_score(TRUE, [FOUND[0], ["O", "O"], FOUND[2]])


def test_a_scorer_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'flat_acuracy'"):
        scorers.flat_acuracy  # noqa: B018
