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
from sapo.corpus.sample import sample_path
from sapo.errors import SapoError
from sapo.sklearn.crf import CRF, LEARNERS

WORDS = [[d, n, v] for d in ("the", "a") for n in ("dog", "cat", "bird") for v in ("sees", "eats")]
X = [[{"word": word, "last": word[-1], "bias": 1.0, "long": len(word) > 3} for word in words] for words in WORDS]
Y = [["B-NP", "I-NP", "O"] for _ in WORDS]


@pytest.fixture(scope="module")
def sample() -> list[Any]:
    """The chunks of the sample, to train on and to test on, with a dictionary a token."""
    parts = []
    for part in ("train", "test"):
        rows = [
            [line.split("\t") for line in block.split("\n")]
            for block in sample_path(part).read_text("utf-8").strip().split("\n\n")
        ]
        tokens = [
            [{"word": row[0].lower(), "end": row[0][-2:], "pos": row[1], "title": row[0].istitle()} for row in block]
            for block in rows
        ]
        parts.append((tokens, [[row[2] for row in block] for block in rows]))
    return parts


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


@pytest.mark.filterwarnings("ignore:.* became")
@pytest.mark.parametrize("algorithm", [None, *LEARNERS])
def test_every_algorithm_learns(algorithm: str | None) -> None:
    crf = CRF(algorithm=algorithm, max_iterations=10).fit(X, Y)
    assert crf.predict(X).tolist() == Y
    assert crf.predict_single(X[0]) == Y[0]
    assert crf.score(X, Y) == 1.0
    assert crf.classes_ == ["B-NP", "I-NP", "O"]
    assert crf.note_.startswith(f"{algorithm or 'lbfgs'} became {record_of(crf)['learner']}: ")


def record_of(crf: CRF) -> dict[str, Any]:
    return dict(crf.tagger_.tagger.model.record)


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow"])
def test_an_algorithm_that_is_replaced_is_named_in_one_warning(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapo.sklearn.crf._replaced", set())
    learner, _ = LEARNERS[algorithm]
    with pytest.warns(UserWarning, match=f"^{algorithm} became {learner}: ") as told:
        CRF(algorithm, max_iterations=2).fit(X, Y)
    assert (len(told), told[0].filename) == (1, __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(algorithm, max_iterations=2).fit(X, Y)
        CRF("lbfgs", max_iterations=2).fit(X, Y)


@pytest.mark.filterwarnings("ignore:.* became")
@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow"])
def test_algorithms_that_are_replaced_keep_the_arguments_that_have_a_meaning(algorithm: str) -> None:
    crf = CRF(algorithm, max_iterations=3, min_freq=4.5, all_possible_transitions=True).fit(X, Y)
    assert len(crf.training_log_.iterations) == record_of(crf)["settings"]["epochs"] == 3
    assert "word:bird" not in crf.attributes_
    assert crf.training_log_.last_iteration["feature_norm"] > 0
    assert 0 < crf.training_log_.last_iteration["active_features"] == crf.tagger_.tagger.model.parameters.nonzero


@pytest.mark.filterwarnings("ignore:.* became")
def test_l2sgd_has_the_objective_of_lbfgs(sample: Any) -> None:
    X_train, y_train = sample[0]
    record = record_of(CRF("l2sgd", c2=0.3, delta=0.01, max_iterations=2).fit(X, Y))["settings"]
    assert (record["regularizer"], record["strength"], record["tolerance"]) == ("l2", 0.6, 0.01)
    assert record["schedule"] == "inverse"
    steps, optimum = (
        CRF(name, all_possible_states=True, all_possible_transitions=True).fit(X_train[:80], y_train[:80])
        for name in ("l2sgd", "lbfgs")
    )
    lowest = optimum.training_log_.last_iteration["loss"]
    assert steps.training_log_.last_iteration["loss"] == pytest.approx(lowest, rel=0.05)


def test_lbfgs_runs_as_many_iterations_as_it_was_told_unless_it_converges(sample: Any) -> None:
    def iterations(**arguments: Any) -> int:
        log = CRF(c2=0.001, **arguments).fit(X_train[:80], y_train[:80]).training_log_
        assert log is not None
        return len(log.iterations)

    X_train, y_train = sample[0]
    assert [iterations(max_iterations=wanted) for wanted in (1, 40)] == [1, 40]
    assert iterations(delta=0.1, period=3) < iterations(delta=0.01, period=3) < iterations()
    assert iterations(epsilon=0.5) < iterations()


@pytest.mark.filterwarnings("ignore:.* became")
@pytest.mark.parametrize("algorithm", list(LEARNERS))
def test_scores_are_as_good_as_those_of_sklearn_crfsuite(algorithm: str, sample: Any) -> None:
    peer = pytest.importorskip("sklearn_crfsuite")
    (X_train, y_train), (X_test, y_test) = sample
    arguments = {"algorithm": algorithm, "max_iterations": 15 if algorithm != "l2sgd" else 1000}
    ours, theirs = (system(**arguments).fit(X_train, y_train).score(X_test, y_test) for system in (CRF, peer.CRF))
    if algorithm == "lbfgs":
        assert ours == pytest.approx(theirs, abs=0.0005)
    assert ours > theirs - 0.01


def test_marginals_are_dictionaries_by_label() -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    (found,) = crf.predict_marginals(X[:1])
    assert found.tolist() == crf.predict_marginals_single(X[0])
    for token in found:
        assert list(token) == crf.classes_
        assert sum(token.values()) == pytest.approx(1)


def test_tokens_may_be_names_of_features_in_any_container() -> None:
    as_lists = [[sorted(f"{key}={value}" for key, value in token.items()) for token in tokens] for tokens in X]
    expected = CRF(max_iterations=3).fit(as_lists, Y)
    for container in (tuple, set, frozenset):
        given = [[container(token) for token in tokens] for tokens in as_lists]
        crf = CRF(max_iterations=3).fit(given, Y)
        assert crf.predict(given).tolist() == Y
        assert crf.state_features_ == expected.state_features_


def test_the_weights_are_shown_by_name() -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    weights = crf.tagger_.tagger.model.parameters
    assert crf.num_attributes_ == len(crf.attributes_) == len(weights.features)
    assert crf.state_features_["word:the", "B-NP"] == weights.features[crf.attributes_.index("word:the"), 0] > 0
    assert crf.transition_features_["B-NP", "I-NP"] == weights.edges[0, 1] > 0
    assert crf.size_ > 0


def test_min_freq_leaves_out_what_is_rare() -> None:
    assert ("word:bird", "I-NP") in CRF(max_iterations=1).fit(X, Y).state_features_
    assert ("word:bird", "I-NP") not in CRF(max_iterations=1, min_freq=4.5).fit(X, Y).state_features_
    assert ("word:the", "B-NP") in CRF(max_iterations=1, min_freq=4.5).fit(X, Y).state_features_


def test_what_training_does_not_show_has_a_weight_only_if_wanted() -> None:
    plain = CRF(max_iterations=2).fit(X, Y)
    states = CRF(max_iterations=2, all_possible_states=True).fit(X, Y)
    transitions = CRF(max_iterations=2, all_possible_transitions=True).fit(X, Y)
    assert len(plain.transition_features_) == 2
    assert len(transitions.transition_features_) == 9
    assert ("word:the", "O") not in plain.state_features_
    assert states.state_features_["word:the", "O"] < 0


def test_c1_and_c2_are_the_strengths_of_the_same_objective() -> None:
    record = record_of(CRF(c2=0.3, max_iterations=2).fit(X, Y))["settings"]
    assert (record["regularizer"], record["strength"]) == ("l2", 0.6)
    record = record_of(CRF(c1=0.3, c2=0, max_iterations=2).fit(X, Y))["settings"]
    assert (record["regularizer"], record["strength"]) == ("l1", 0.3)
    record = record_of(CRF(c1=0, c2=0, max_iterations=2).fit(X, Y))["settings"]
    assert record["regularizer"] == "none"
    assert record_of(CRF(max_iterations=2).fit(X, Y))["settings"]["strength"] == 2.0


def test_both_together_are_an_elastic_net_that_leaves_few_weights() -> None:
    sizes = [len(CRF(c1=c1, c2=0.01, max_iterations=20).fit(X, Y).state_features_) for c1 in (0, 0.1, 2)]
    assert sizes[0] > sizes[1] > sizes[2] > 0


def test_nothing_is_forbidden_as_in_crfsuite() -> None:
    X = [[{"w": "a"}, {"w": "b"}, {"w": "c"}]] * 3
    crf = CRF(max_iterations=3).fit(X, [["B-P", "I-P", "O"]] * 3)
    assert not crf.tagger_.tagger.model.parameters.bans.any()
    first, *_ = crf.predict_marginals_single([{"w": "b"}])
    assert first["I-P"] > first["B-P"] > 0  # a span that begins with I-P


def test_the_score_needs_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert crf.score(X, Y) == 1.0


@pytest.mark.filterwarnings("ignore:.* became")
def test_averaging_can_be_turned_off() -> None:
    averaged, last = (CRF("pa", averaging=flag, max_iterations=2).fit(X, Y) for flag in (None, False))
    assert averaged.state_features_ != last.state_features_
    assert last.note_.startswith("pa became mira: ")


def test_arguments_without_a_meaning_here_are_told_once_and_others_are_not() -> None:
    crf = CRF(num_memories=3, linesearch="Backtracking", gamma=2.0, max_iterations=1)
    with pytest.warns(UserWarning, match="no effect with 'lbfgs': gamma, linesearch"):
        crf.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF("lbfgs", c1=0.1, c2=0.1, max_iterations=1, all_possible_transitions=True, min_freq=0).fit(X, Y)


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
    crf = CRF(max_iterations=3).fit(X, Y, X, Y)
    assert crf.predict(X).tolist() == Y
    assert crf.training_log_.last_iteration["dev"] == 1.0


def test_the_model_file_is_kept_where_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crf = CRF(max_iterations=2, model_filename=str(tmp_path / "crf.sapo"), verbose=True).fit(X, Y)
    assert Tagger.load(tmp_path / "crf.sapo").tag(X[0]) == crf.predict_single(X[0])
    assert capsys.readouterr().out == "".join(crf.training_log_.log)


def test_a_model_that_is_there_needs_no_fit(tmp_path: Path) -> None:
    file = tmp_path / "crf.sapo"
    waiting = CRF(model_filename=str(file))
    assert waiting.tagger_ is None
    fitted = CRF(max_iterations=5, model_filename=str(file)).fit(X, Y)
    assert waiting.predict(X).tolist() == Y
    assert CRF(model_filename=str(file)).classes_ == fitted.classes_
    assert CRF(model_filename=str(file)).state_features_ == fitted.state_features_
    file.write_bytes(b"something else")
    with pytest.raises(SapoError, match="not a sapo model"):
        CRF(model_filename=str(file)).predict(X)


def test_attributes_are_none_before_fit() -> None:
    names = ("tagger_", "classes_", "size_", "num_attributes_", "attributes_")
    for name in (*names, "state_features_", "transition_features_", "training_log_"):
        assert getattr(CRF(), name) is None
    with pytest.raises(ValueError, match="not fitted"):
        CRF().predict(X)


def test_the_log_has_an_entry_for_each_iteration() -> None:
    log = CRF(max_iterations=4).fit(X, Y).training_log_
    assert log.last_iteration is log.iterations[-1]
    assert log.last_iteration["num"] == len(log.iterations) == len(log.log) == 4
    losses = [entry["loss"] for entry in log.iterations]
    assert losses == sorted(losses, reverse=True)
    assert {"feature_norm", "active_features", "time", "scores"} <= set(log.last_iteration)


@pytest.mark.parametrize("c1", [0.0, 0.1])
def test_every_iteration_of_lbfgs_is_that_of_crfsuite(c1: float, sample: Any, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X_train, y_train = sample[0]
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": c1, "c2": 0.1, "max_iterations": 40})
    for tokens, labels in zip(X_train, y_train, strict=True):
        trainer.append(tokens, labels)
    trainer.train(str(tmp_path / "model"))
    log = CRF(c1=c1, c2=0.1, max_iterations=40).fit(X_train, y_train).training_log_
    assert log is not None
    for ours, theirs in zip(log.iterations, trainer.logparser.iterations, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
        assert ours["feature_norm"] == pytest.approx(theirs["feature_norm"], rel=1e-3)
        assert ours["active_features"] == pytest.approx(theirs["active_features"], rel=0.01)


def test_the_tagger_has_the_methods_of_pycrfsuite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = CRF(max_iterations=5).fit(X, Y).tagger_
    assert tagger.tag(X[0]) == Y[0]
    assert tagger.labels() == ["B-NP", "I-NP", "O"]
    marginals = [tagger.marginal(label, 0) for label in tagger.labels()]
    assert sum(marginals) == pytest.approx(1)
    tagger.set(X[0][:2])
    pairs = [[first, second] for first in tagger.labels() for second in tagger.labels()]
    assert sum(map(tagger.probability, pairs)) == pytest.approx(1)
    assert tagger.probability(["B-NP", "I-NP"]) == max(map(tagger.probability, pairs))
    info = tagger.info()
    assert (info.header["num_labels"], info.labels["I-NP"]) == ("3", "1")
    assert info.state_features["word:the", "B-NP"] > 0
    assert info.transitions["B-NP", "I-NP"] > 0
    tagger.dump()
    tagger.dump(str(tmp_path / "dump.txt"))
    text = (tmp_path / "dump.txt").read_text("utf-8")
    assert text == capsys.readouterr().out
    assert f"  (0) word:the --> B-NP: {info.state_features['word:the', 'B-NP']:.6f}\n" in text
    for call in (lambda: tagger.marginal("X", 0), lambda: tagger.marginal("O", 2), lambda: tagger.probability(["O"])):
        with pytest.raises(SapoError, match=r"unknown label 'X'|position 2|1 labels for 2 tokens"):
            call()


def test_bytes_are_read_as_utf_8() -> None:
    as_bytes = [[{k.encode(): v.encode() if isinstance(v, str) else v for k, v in t.items()} for t in s] for s in X]
    assert CRF(max_iterations=3).fit(as_bytes, Y).state_features_ == CRF(max_iterations=3).fit(X, Y).state_features_
    with pytest.raises(SapoError, match="not UTF-8"):
        CRF(max_iterations=3).fit([[{"word": b"\xff"}]], [["O"]])


def test_utils_are_there() -> None:
    from sapo.compat.utils import flatten  # type: ignore[import-not-found]

    assert flatten(Y[:2]) == sklearn_crfsuite.utils.flatten(iter(Y[:2])) == [*Y[0], *Y[1]]


def test_predictions_of_folds_are_joined() -> None:
    model_selection = pytest.importorskip("sklearn.model_selection")
    found = model_selection.cross_val_predict(CRF(max_iterations=10), X, Y, cv=3)
    assert (found.dtype, found.shape, found.tolist()) == (np.dtype(object), np.array(Y, object).shape, Y)


def test_a_mistake_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="algorithm must be one of"):
        CRF(algorithm="sgd").fit(X, Y)


def test_a_pickle_predicts_the_same() -> None:
    crf = CRF(max_iterations=3).fit(X, Y)
    back = pickle.loads(pickle.dumps(crf))
    assert back.predict_marginals(X).tolist() == crf.predict_marginals(X).tolist()
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
    assert search.best_estimator_.predict(X).tolist() == Y
    flat = model_selection.cross_val_score(CRF(max_iterations=3), X, Y, scoring=sklearn_crfsuite.scorers.flat_accuracy)
    assert flat.mean() == 1.0
