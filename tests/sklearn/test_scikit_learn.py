"""The tools of scikit-learn take the estimator as one of their own."""

import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo import SequenceLabeler

base = pytest.importorskip("sklearn.base")
model_selection = pytest.importorskip("sklearn.model_selection")
SOURCE = str(Path(sapo.__file__).parent.parent)


def test_it_is_an_estimator_that_can_be_cloned_and_changed() -> None:
    labeler = SequenceLabeler(template="pos", strength=0.5, random_state=7)
    assert isinstance(labeler, base.BaseEstimator)
    copy = base.clone(labeler)
    assert copy is not labeler
    assert copy.get_params() == labeler.get_params()
    assert copy.set_params(strength=2.0, n=3).strength == 2.0
    with pytest.raises(ValueError, match="Invalid parameter 'strenght'"):
        copy.set_params(strenght=1)
    weighed = SequenceLabeler(
        class_weight={"A": 2.0}, rules=["forbid A B"], scheme="bioes", constraints=True, missing="?"
    )
    assert base.clone(weighed).get_params() == weighed.get_params()
    for settings in ({"decay": 0.8, "search": "beam"}, sapo.Settings(n=3)):
        assert base.clone(SequenceLabeler(settings=settings)).get_params()["settings"] == settings
    assert labeler.set_params(settings={"decay": 0.5}).get_params()["settings"] == {"decay": 0.5}
    assert repr(SequenceLabeler(n=3)) == "SequenceLabeler(n=3)"
    assert "SequenceLabeler" in labeler._repr_html_()


def test_a_clone_of_a_fitted_one_is_not_fitted(words: Any, parts: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    labeler = SequenceLabeler(epochs=2).fit(words, parts)
    check_is_fitted(labeler)
    with pytest.raises(sys.modules["sklearn.exceptions"].NotFittedError):
        check_is_fitted(base.clone(labeler))


def test_its_tags_say_that_it_takes_sequences_and_needs_labels() -> None:
    if not hasattr(base.BaseEstimator, "__sklearn_tags__"):  # before 1.6
        assert SequenceLabeler()._get_tags()["requires_y"]
        return
    from sklearn.utils import get_tags

    tags = get_tags(SequenceLabeler())
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.string
    assert tags.target_tags.required
    assert not tags.non_deterministic


def test_cross_val_score(words: Any, parts: Any) -> None:
    scores = model_selection.cross_val_score(SequenceLabeler(template="pos", epochs=5), words, parts, cv=3)
    assert scores.tolist() == [1.0, 1.0, 1.0]


def test_cross_val_predict_joins_folds_of_sentences_of_any_length(words: Any, parts: Any) -> None:
    ragged, labels = [*words, words[0][:1]], [*parts, parts[0][:1]]
    for X, y in ((words[:6], parts[:6]), (ragged, labels)):
        found = model_selection.cross_val_predict(SequenceLabeler(template="pos", epochs=5), X, y, cv=3)
        assert (found.dtype, found.shape, found.tolist()) == (object, (len(X),), y)


def test_grid_search_in_two_processes(dicts: Any, chunks: Any) -> None:
    search = model_selection.GridSearchCV(
        SequenceLabeler(epochs=3), {"learner": ["sapo", "perceptron-avg"], "strength": [0.1, 1.0]}, cv=2, n_jobs=2
    )
    search.fit(dicts, chunks)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ == 1.0
    assert search.predict(dicts[:2]).tolist() == chunks[:2]
    assert search.best_estimator_.score(dicts, chunks) == 1.0


def test_randomized_search(words: Any, chunks: Any) -> None:
    search = model_selection.RandomizedSearchCV(
        SequenceLabeler(epochs=3),
        {"n": [1, 2, 5], "settings": [{"decay": 0.8}, {"decay": 1.0}]},
        n_iter=3,
        cv=2,
        random_state=0,
    )
    assert search.fit(words, chunks).best_params_.keys() == {"n", "settings"}


def test_conditions_are_searched_over_like_other_parameters(words: Any, chunks: Any) -> None:
    grid = {"scheme": [None, "bioes"], "class_weight": [None, "balanced", {"O": 0.5}]}
    search = model_selection.GridSearchCV(SequenceLabeler(epochs=2), grid, cv=2, error_score="raise")
    assert len(search.fit(words, chunks).cv_results_["params"]) == 6


def lower(X: list[list[str]]) -> list[list[str]]:
    return [[word.lower() for word in tokens] for tokens in X]


def test_in_a_pipeline(words: Any, parts: Any) -> None:
    pipeline_module = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pipeline = pipeline_module.Pipeline(
        [("lower", preprocessing.FunctionTransformer(lower)), ("labeler", SequenceLabeler(template="pos", epochs=3))]
    )
    loud = [[word.upper() for word in tokens] for tokens in words]
    pipeline.fit(loud, parts, labeler__sample_weight=[1.0] * len(words))
    assert pipeline.predict(words).tolist() == parts
    assert pipeline.score(loud, parts) == 1.0
    assert pipeline.set_params(labeler__n=2).named_steps["labeler"].n == 2


def test_weights_are_routed_by_searches(words: Any, parts: Any) -> None:
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        labeler = SequenceLabeler(epochs=2).set_fit_request(sample_weight=True)
        search = model_selection.GridSearchCV(labeler, {"n": [1, 2]}, cv=2)
        search.fit(words, parts, sample_weight=[1.0] * len(words))
    assert search.best_score_ > 0


def test_parallel_predictions_of_joblib(words: Any, parts: Any) -> None:
    joblib = pytest.importorskip("joblib")
    labeler = SequenceLabeler(template="pos", epochs=3).fit(words, parts)
    halves = joblib.Parallel(n_jobs=2)(joblib.delayed(labeler.predict)(half) for half in (words[:12], words[12:]))
    assert [labels for half in halves for labels in half] == parts


def test_a_pickle_holds_the_bytes_of_a_model_and_works_in_another_process(
    words: Any, parts: Any, tmp_path: Path
) -> None:
    labeler = SequenceLabeler(template="pos", epochs=3).fit(words, parts)
    state = labeler.__getstate__()
    assert isinstance(state["_model"], bytes)
    labeler.tagger_.save(tmp_path / "model.sapo")
    assert state["_model"] == (tmp_path / "model.sapo").read_bytes()
    assert "_tagger" not in state
    (tmp_path / "labeler.pickle").write_bytes(pickle.dumps(labeler))
    code = (
        "import pickle, sys, pathlib\n"
        "labeler = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        f"print(labeler.predict({words[:2]!r}).tolist(), labeler.classes_, labeler.n_iter_)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "labeler.pickle")],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{parts[:2]} {labeler.classes_} {labeler.n_iter_}"


def test_a_pickle_of_one_that_goes_on_learning_holds_what_it_learned_last(words: Any, parts: Any) -> None:
    labeler = SequenceLabeler(template="pos").partial_fit(words, parts).partial_fit([["!"]], [["."]])
    back = pickle.loads(pickle.dumps(labeler))
    assert back.predict([["!"]]).tolist() == labeler.predict([["!"]]).tolist() == [["."]]
    back.partial_fit([["?"]], [["?"]])
    assert back.predict([["?"]]).tolist() == [["?"]]
    assert "?" not in labeler.classes_
    assert pickle.loads(pickle.dumps(SequenceLabeler(n=2))).n == 2


def test_without_scikit_learn_it_works_alike() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
import pickle
from sapo import SapoError, SequenceLabeler
from sapo.compat import CRF, metrics
labeler = SequenceLabeler(template="pos", epochs=3)
print(labeler.set_params(n=2), labeler.get_params()["n"])
try:
    labeler.set_params(nn=2)
except ValueError as error:
    print(str(error)[:40])
try:
    labeler.predict([["a"]])
except SapoError as error:
    print(error)
labeler.fit([["a", "dog"]], [["DT", "NN"]])
print(pickle.loads(pickle.dumps(labeler)).predict([["a", "dog"]]).tolist())
crf = CRF(max_iterations=5).fit([[["a"], ["b"]]], [["A", "B"]])
print(crf.predict([[["a"], ["b"]]]), crf)
try:
    metrics.flat_f1_score([["A"]], [["A"]])
except SapoError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "SequenceLabeler(epochs=3, n=2, template='pos') 2",
        "SequenceLabeler has no parameter 'nn'; i",
        "this SequenceLabeler is not fitted yet; call fit first",
        "[['DT', 'NN']]",
        "[['A' 'B']] CRF(max_iterations=5)",
        "these metrics need scikit-learn: pip install 'sapo-nlp[sklearn]', or pip install '.[sklearn]' in a clone",
    ]


class Rows(SequenceLabeler):
    """Takes rows of numbers with a label each, as most checks of scikit-learn give them: sentences of one token."""

    partial_fit = None  # type: ignore[assignment]

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None, sample_weight: Any = None) -> "Rows":
        return super().fit(rows(X), [[label] for label in y], sample_weight=sample_weight)

    def predict(self, X: Any) -> Any:
        return np.array([tags[0] for tags in super().predict(rows(X))])

    def score(self, X: Any, y: Any) -> float:
        return super().score(rows(X), [[label] for label in y])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.target_tags.one_d_labels = True
        tags.input_tags.string = tags.input_tags.dict = tags.no_validation = False
        return tags


def rows(X: Any) -> list[Any]:
    return [[{str(place): float(value) for place, value in enumerate(row)}] for row in np.asarray(X)]


# Checks that cannot apply to sequences, or to a learner that sees one sentence after the other.
NOT_FOR_SEQUENCES = {
    "check_n_features_in": "sequences have no fixed number of features",
    "check_n_features_in_after_fitting": "the same",
    "check_fit1d": "numbers are not sequences; the error names the value",
    "check_fit2d_predict1d": "the same",
    "check_requires_y_none": "the same",
    "check_complex_data": "labels are strings or whole numbers; the error says so",
    "check_estimators_empty_data_messages": "a token may have no features",
    "check_estimators_nan_inf": "values that are not finite raise DataError, which names the feature",
    "check_estimator_sparse_tag": "a sparse matrix has no sequences",
    "check_estimator_sparse_array": "the same",
    "check_estimator_sparse_matrix": "the same",
    "check_sample_weights_not_an_array": "weights are a list or an array; the error says so",
    "check_all_zero_sample_weights_error": "the error says it in other words: all weights are 0",
    "check_sample_weight_equivalence_on_dense_data": "a sentence of weight 2 is one larger step, not two steps",
    "check_array_api_input": "skipped unless SCIPY_ARRAY_API is set; sequences are lists",
}


def test_the_checks_of_scikit_learn_that_apply_pass() -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if "on_fail" not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip("before scikit-learn 1.6, the first check that fails ends all")
    with pytest.warns(checks.SkipTestWarning, match="requires input"):  # what needs no data passes
        checks.check_estimator(SequenceLabeler(), on_skip=None)
    results = checks.check_estimator(Rows(epochs=2), on_fail=None, on_skip=None)
    assert sum(one["status"] == "passed" for one in results) >= 25
    failed = {one["check_name"] for one in results if one["status"] != "passed"}
    assert failed - NOT_FOR_SEQUENCES.keys() == set()
