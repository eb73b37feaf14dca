"""Code that was written for sklearn-crfsuite runs here."""

import inspect
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo.compat as sklearn_crfsuite
from sapo import Tagger
from sapo.compat import CRF
from sapo.errors import SapoError
from sapo.learn import Lasso, Weights
from sapo.sklearn.crf import LEARNERS, WITHOUT_MEANING

WORDS = [[d, n, v] for d in ("the", "a") for n in ("dog", "cat", "bird") for v in ("sees", "eats")]
X = [[{"word": word, "last": word[-1], "bias": 1.0, "long": len(word) > 3} for word in words] for words in WORDS]
Y = [["B-NP", "I-NP", "O"] for _ in WORDS]


def test_the_arguments_are_those_of_sklearn_crfsuite() -> None:
    peer = pytest.importorskip("sklearn_crfsuite")
    for method in ("__init__", "fit", "predict", "predict_single", "predict_marginals", "predict_marginals_single"):
        theirs = inspect.signature(getattr(peer.CRF, method)).parameters
        ours = inspect.signature(getattr(CRF, method)).parameters
        assert {name: p.default for name, p in theirs.items()} == {name: p.default for name, p in ours.items()}
        assert list(theirs) == list(ours)
    metrics = pytest.importorskip("sklearn_crfsuite.metrics")
    names = [name for name in vars(metrics) if name.startswith(("flat_", "sequence_"))]
    assert all(hasattr(sklearn_crfsuite.metrics, name) for name in names)
    fitted = [name for name in vars(peer.CRF) if name.endswith("_") and not name.startswith("_")]
    crf = CRF(max_iterations=2).fit(X, Y)
    assert all(hasattr(crf, name) for name in fitted)


@pytest.mark.parametrize("algorithm", [None, *LEARNERS])
def test_every_algorithm_learns(algorithm: str | None) -> None:
    crf = CRF(algorithm=algorithm, max_iterations=10).fit(X, Y)
    assert crf.predict(X) == Y
    assert crf.predict_single(X[0]) == Y[0]
    assert crf.score(X, Y) == 1.0
    assert crf.classes_ == ["B-NP", "I-NP", "O"]
    assert crf.note_.startswith(f"{algorithm or 'lbfgs'} became {crf.tagger_.model.record['learner']}: ")
    assert len(crf.training_log_) == crf.n_iter_ <= 10


def test_marginals_are_dictionaries_by_label() -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    (found,) = crf.predict_marginals(X[:1])
    assert found == crf.predict_marginals_single(X[0])
    for token in found:
        assert list(token) == crf.classes_
        assert sum(token.values()) == pytest.approx(1)


def test_tokens_may_be_names_of_features_in_any_container() -> None:
    as_lists = [[sorted(f"{key}={value}" for key, value in token.items()) for token in tokens] for tokens in X]
    expected = CRF(max_iterations=3).fit(as_lists, Y)
    for container in (tuple, set, frozenset):
        given = [[container(token) for token in tokens] for tokens in as_lists]
        crf = CRF(max_iterations=3).fit(given, Y)
        assert crf.predict(given) == Y
        assert crf.state_features_ == expected.state_features_


def test_the_weights_are_shown_by_name() -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    weights = crf.tagger_.model.parameters
    assert crf.num_attributes_ == len(crf.attributes_) == len(weights.features)
    assert crf.state_features_["word:the", "B-NP"] == weights.features[crf.attributes_.index("word:the"), 0] > 0
    assert crf.transition_features_["B-NP", "I-NP"] == weights.edges[0, 1] > 0
    assert crf.size_ > 0


def test_min_freq_leaves_out_what_is_rare() -> None:
    assert "word:bird" in CRF(max_iterations=1).fit(X, Y).attributes_
    assert "word:bird" not in CRF(max_iterations=1, min_freq=4.5).fit(X, Y).attributes_


def test_c1_and_c2_are_the_strengths_of_the_same_objective() -> None:
    record = CRF(c2=0.3, max_iterations=2).fit(X, Y).tagger_.model.record["settings"]
    assert (record["regulariser"], record["strength"]) == ("l2", 0.6)
    record = CRF(c1=0.3, c2=0, max_iterations=2).fit(X, Y).tagger_.model.record["settings"]
    assert (record["regulariser"], record["strength"]) == ("l1", 0.3)
    record = CRF(c1=0, c2=0, max_iterations=2).fit(X, Y).tagger_.model.record["settings"]
    assert record["regulariser"] == "none"
    assert CRF(max_iterations=2).fit(X, Y).tagger_.model.record["settings"]["strength"] == 2.0


def test_both_together_are_an_elastic_net_that_leaves_few_weights() -> None:
    sizes = [len(CRF(c1=c1, c2=0.01, max_iterations=20).fit(X, Y).state_features_) for c1 in (0, 1, 3)]
    assert sizes[0] > sizes[1] > sizes[2] > 0


def test_the_step_of_l1_moves_true_weights_towards_0_and_not_past_it() -> None:
    features = np.array([[3.0, -3.0, 0.5, -0.5, 0.0]], np.float32)
    weights = Weights.of(features, np.ones((5, 5), np.float32))
    weights.state[0] = 0.5  # the true weights are half of that
    Lasso(2.0).shrink(weights, 0.25)
    assert weights.true_weights().features.tolist() == [[1.0, -1.0, 0.0, 0.0, 0.0]]
    assert (weights.true_weights().edges == 0).all()
    assert Lasso(2.0).penalty(weights) == pytest.approx(4.0)


def test_nothing_is_forbidden_as_in_crfsuite() -> None:
    X = [[{"w": "a"}, {"w": "b"}, {"w": "c"}]] * 3
    crf = CRF(max_iterations=3).fit(X, [["B-P", "I-P", "O"]] * 3)
    assert not crf.tagger_.model.parameters.bans.any()
    first, *_ = crf.predict_marginals_single([{"w": "b"}])
    assert first["I-P"] > first["B-P"] > 0  # a span that begins with I-P


def test_the_score_needs_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert crf.score(X, Y) == 1.0


def test_averaging_can_be_turned_off() -> None:
    assert CRF("pa", max_iterations=2).fit(X, Y).tagger_.model.record["learner"] == "mira-avg"
    assert CRF("pa", averaging=False, max_iterations=2).fit(X, Y).tagger_.model.record["learner"] == "mira"


def test_arguments_without_a_meaning_here_are_told_once_and_others_are_not() -> None:
    crf = CRF(num_memories=3, linesearch="Backtracking", max_iterations=1)
    with pytest.warns(UserWarning, match="no meaning here: num_memories, linesearch"):
        crf.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF("lbfgs", c1=0.1, c2=0.1, max_iterations=1, all_possible_transitions=True, min_freq=0).fit(X, Y)
    assert set(inspect.signature(CRF).parameters) >= set(WITHOUT_MEANING)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"algorithm": "sgd"}, "algorithm must be one of lbfgs, l2sgd, ap, pa, arow, not 'sgd'"),
        ({"c1": -1}, "c1 must be a finite number, 0 or more, not -1"),
        ({"c2": float("nan")}, "c2 must be a finite number, 0 or more, not nan"),
        ({"max_iterations": 0}, "epochs must be at least 1, not 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SapoError) as told:
        CRF(**arguments).fit(X, Y)
    assert complaint in str(told.value)


def test_a_dev_set_comes_in_pairs() -> None:
    with pytest.raises(SapoError, match="give both X_dev and y_dev"):
        CRF().fit(X, Y, X_dev=X)
    assert CRF(max_iterations=3).fit(X, Y, X, Y).predict(X) == Y


def test_the_model_file_is_kept_where_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crf = CRF(max_iterations=2, model_filename=str(tmp_path / "crf.sapo"), verbose=True).fit(X, Y)
    assert Tagger.load(tmp_path / "crf.sapo").tag(X[0]) == crf.predict_single(X[0])
    assert "pass 1  objective" in capsys.readouterr().out


def test_a_pickle_predicts_the_same() -> None:
    crf = CRF(max_iterations=3).fit(X, Y)
    back = pickle.loads(pickle.dumps(crf))
    assert back.predict_marginals(X) == crf.predict_marginals(X)
    assert back.get_params() == crf.get_params()
    assert back.state_features_ == crf.state_features_


def test_a_search_over_c1_and_c2_as_in_the_tutorial() -> None:
    model_selection = pytest.importorskip("sklearn.model_selection")
    metrics = pytest.importorskip("sklearn.metrics")
    scorer = metrics.make_scorer(sklearn_crfsuite.metrics.flat_f1_score, average="weighted", labels=["B-NP", "I-NP"])
    search = model_selection.RandomizedSearchCV(
        sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=5, all_possible_transitions=True),
        {"c1": [0.0, 0.05, 0.5], "c2": [0.01, 0.05]},
        cv=2,
        n_iter=3,
        random_state=1,
        scoring=scorer,
    )
    search.fit(X, Y)
    assert search.best_score_ == 1.0
    assert search.best_estimator_.predict(X) == Y
    flat = model_selection.cross_val_score(CRF(max_iterations=3), X, Y, scoring=sklearn_crfsuite.scorers.flat_accuracy)
    assert flat.mean() == 1.0
