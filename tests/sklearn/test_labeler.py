"""What the estimator learns, from which forms of tokens, and what it gives back."""

import dataclasses
import inspect
import itertools
import math
from typing import Any

import numpy as np
import pytest

import sapo
from sapo import SequenceLabeler
from sapo.errors import SapoError
from sapo.learn.settings import Settings, options_of
from sapo.sklearn.estimator import NotFittedError
from sapo.training.plan import LabelOptions


def test_the_defaults_are_those_of_train() -> None:
    parameters = inspect.signature(SequenceLabeler).parameters
    trained = inspect.signature(sapo.train).parameters
    for name in trained.keys() & parameters.keys():
        assert parameters[name].default == trained[name].default
    for name in (*options_of(Settings), "random_state"):
        assert name not in parameters or parameters[name].default is None
    for field in dataclasses.fields(LabelOptions):
        if field.name in ("scheme", "constraints"):  # the learner decides
            assert parameters[field.name].default == {"scheme": "auto", "constraints": None}[field.name]
        elif field.name != "sample_weight":
            assert parameters[field.name].default == field.default


def test_settings_are_those_of_train_and_parameters_win(words: list[list[str]], parts: list[list[str]]) -> None:
    given = {"decay": 0.5, "n": 2, "seed": 9, "epochs": 7}
    labeler = SequenceLabeler(epochs=2, settings=given).fit(words, parts)
    assert labeler.tagger_.model.record["settings"].items() >= {"decay": 0.5, "n": 2, "seed": 9, "epochs": 2}.items()
    stated = SequenceLabeler(random_state=3, settings=Settings(epochs=2)).fit(words, parts)
    assert stated.tagger_.model.record["settings"] == Settings(epochs=2, seed=3).as_json()


@pytest.mark.parametrize(
    "train",
    [
        SequenceLabeler().fit,
        SequenceLabeler().partial_fit,
        lambda X, y, **weights: sapo.train(list(zip(X, y, strict=True)), **weights),
    ],
)
def test_weights_are_checked_by_one_rule_wherever_they_come_from(train: Any) -> None:
    with pytest.raises(sapo.SapoError, match=r"sample_weight\[0\] must be a number from 0 to 1,000,000, not 2000000"):
        train([["a", "b"]], [["A", "B"]], sample_weight=[2e6])


def test_words_columns_and_features_are_learned(
    words: list[list[str]], parts: list[list[str]], chunks: list[list[str]], dicts: list[list[Any]]
) -> None:
    columns = [list(zip(*pair, strict=True)) for pair in zip(words, parts, strict=True)]
    names = [[[f"{key}={value}" for key, value in token.items()] for token in tokens] for tokens in dicts]
    for X in (words, columns, dicts, names):
        labeler = SequenceLabeler(epochs=5).fit(X, chunks)
        assert labeler.predict(X).tolist() == chunks
        assert labeler.score(X, chunks) == 1.0
    assert SequenceLabeler(template="chunking", epochs=5).fit(columns, chunks).tagger_.columns == ("word", "pos")


def test_it_learns_what_train_learns(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(template="pos", epochs=4, random_state=3, n=3).fit(words, parts)
    tagger = sapo.train(list(zip(words, parts, strict=True)), template="pos", epochs=4, seed=3, n=3)
    assert (labeler.tagger_.model.parameters.features == tagger.model.parameters.features).all()
    assert labeler.classes_ == list(tagger.labels)
    assert labeler.n_iter_ == len(labeler.history_) == tagger.model.record["passes"]


def test_rows_of_lists_are_columns_where_there_is_a_template(
    words: list[list[str]], parts: list[list[str]], chunks: list[list[str]]
) -> None:
    rows = [[list(token) for token in zip(*pair, strict=True)] for pair in zip(words, parts, strict=True)]
    labeler = SequenceLabeler(template="chunking", epochs=3).fit(rows, chunks)
    arrays = [np.array(tokens) for tokens in rows]
    assert labeler.predict(rows).tolist() == labeler.predict(arrays).tolist() == chunks
    named = SequenceLabeler(template="pos", columns=["word", "tag"], epochs=3).fit(rows, parts)
    assert named.predict(rows).tolist() == parts


def test_score_is_f1_for_spans_and_accuracy_for_others(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(epochs=2).fit([["a", "b"]] * 3, [["B-X", "I-X"]] * 3)
    assert labeler.score([["a", "b"]], [["B-X", "O"]]) == 0.0
    assert labeler.evaluate([["a", "b"]], [["B-X", "O"]]).accuracy == 0.5
    tagger = SequenceLabeler(epochs=5).fit(words, parts)
    assert tagger.score(words[:1], [["DT", "NN", "VB", "DT", "never seen"]]) == 0.8


def test_marginals_are_sums_over_all_taggings(words: list[list[str]], chunks: list[list[str]]) -> None:
    labeler = SequenceLabeler(epochs=2).fit(words[:6], chunks[:6])
    sentence = words[9][:4]
    (found,) = labeler.predict_marginals([sentence])
    everything = labeler.predict_nbest([sentence], n=3**4)[0]
    assert len(everything) == 34  # of 81; the others are not valid IOB2
    for place, token in enumerate(found):
        assert list(token) == labeler.classes_
        for label, probability in token.items():
            share = sum(tagging.p_k for tagging in everything if tagging.tags[place] == label)
            assert probability == pytest.approx(share, abs=1e-5)


def test_spans_have_the_probability_of_all_taggings_that_have_them(
    words: list[list[str]], parts: list[list[str]], chunks: list[list[str]]
) -> None:
    labeler = SequenceLabeler(epochs=2).fit(words[:6], chunks[:6])
    sentence = words[9][:3]
    (spans,) = labeler.predict_spans([sentence])
    assert [(span.start, span.end, span.type) for span in spans] == [(0, 2, "NP")]
    (everything,) = labeler.predict_nbest([sentence], n=27)
    share = sum(t.p_k for t in everything if t.tags in (["B-NP", "I-NP", "O"], ["I-NP", "I-NP", "O"]))
    share += sum(t.p_k for t in everything if t.tags in (["B-NP", "I-NP", "B-NP"], ["I-NP", "I-NP", "B-NP"]))
    assert spans[0].probability == pytest.approx(share, abs=1e-5)
    with pytest.raises(SapoError, match="spans need labels such as B-X, I-X and O; this model predicts DT, NN, VB"):
        SequenceLabeler(epochs=1).fit(words, parts).predict_spans(words)


def test_the_best_of_the_n_best_is_the_prediction(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(epochs=3).fit(words, parts)
    ranked = labeler.predict_nbest(words[:4], n=3)
    assert [found[0].tags for found in ranked] == labeler.predict(words[:4]).tolist()
    assert all(len(found) == 3 and math.isclose(sum(t.p_k for t in found), 1) for found in ranked)


def test_labels_may_be_whole_numbers(words: list[list[str]], parts: list[list[str]]) -> None:
    number = {"DT": 0, "NN": 7, "VB": -2}
    y = [[number[part] for part in sequence] for sequence in parts]
    labeler = SequenceLabeler(epochs=5).fit(words, [np.array(sequence) for sequence in y])
    assert labeler.classes_ == [0, 7, -2]
    assert labeler.predict(words).tolist() == y
    assert labeler.predict_nbest(words[:1])[0][0].tags == y[0]
    assert set(labeler.predict_marginals(words[:1])[0][0]) == {0, 7, -2}
    assert labeler.score(words, y) == 1.0
    with pytest.raises(SapoError, match="y has labels of type str, but those of training were int"):
        labeler.score(words, parts)


def test_a_dev_set_chooses_the_pass(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(epochs=9, settings={"patience": 1, "tolerance": 0})
    labeler.fit(words, parts, X_dev=words[:3], y_dev=parts[:3])
    assert labeler.n_iter_ < 9
    assert all(entry["dev"] is not None for entry in labeler.history_)
    with pytest.raises(SapoError, match="give both X_dev and y_dev"):
        labeler.fit(words, parts, X_dev=words)
    with pytest.raises(SapoError, match=r"X_dev\[0\] has 5 tokens, but y_dev\[0\] has 1 labels"):
        labeler.fit(words, parts, X_dev=words, y_dev=[["DT"]] * len(words))


def test_a_sequence_of_weight_0_teaches_nothing_and_a_heavy_one_wins() -> None:
    X, y = [["it"]] * 2, [["A"], ["B"]]
    for weights, expected in (([1, 0], "A"), ([0, 1], "B"), (np.array([5.0, 0.5]), "A"), ((0.5, 5), "B")):
        labeler = SequenceLabeler(template="pos", epochs=10).fit(X, y, sample_weight=weights)
        assert labeler.predict([["it"]]).tolist() == [[expected]]


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ([1.0], "sample_weight has 1 weights for 2 sentences"),
        ([1.0, math.nan], r"sample_weight\[1\] must be a number from 0 to 1,000,000, not nan"),
        ([-1, 1], r"sample_weight\[0\] must be a number from 0 to 1,000,000, not -1"),
        (["much", 1], r"sample_weight\[0\] must be a number, not 'much'"),
        ([0, 0], "all weights of samples or classes are 0"),
    ],
)
def test_bad_weights_are_named(weights: Any, complaint: str) -> None:
    with pytest.raises(SapoError, match=complaint):
        SequenceLabeler().fit([["a"], ["b"]], [["A"], ["B"]], sample_weight=weights)


def test_class_weights_decide_and_multiply_with_those_of_samples() -> None:
    X, y = [["it"]] * 2, [["A"], ["B"]]

    def chosen(class_weight: Any, sample_weight: Any = None, labels: Any = y) -> Any:
        labeler = SequenceLabeler(template="pos", epochs=10, class_weight=class_weight)
        return labeler.fit(X, labels, sample_weight=sample_weight).predict([["it"]])[0][0]

    assert (chosen({"A": 5, "B": 0.5}), chosen({"A": 0.5, "B": 5})) == ("A", "B")
    assert (chosen({"A": 0.1}), chosen({"A": 0.1}, [1, 0.001])) == ("B", "A")
    assert chosen({1: 0.5, np.int64(2): 5}, labels=[[1], [2]]) == 2
    with pytest.raises(SapoError, match="class_weight: no label is 'C'; known: A, B"):
        chosen({"C": 2})
    with pytest.raises(SapoError, match="class_weight must be 'balanced' or a weight for labels, not 'even'"):
        chosen("even")


def test_conditions_are_those_of_train(words: list[list[str]], chunks: list[list[str]]) -> None:
    how: dict[str, Any] = {"rules": ["forbid O O"], "scheme": "bioes", "class_weight": "balanced"}
    free = [pair for pair in zip(words, chunks, strict=True) if ("O", "O") not in itertools.pairwise(pair[1])]
    X, y = ([list(one) for one in some] for some in zip(*free, strict=True))
    labeler = SequenceLabeler(template="pos", epochs=3, **how).fit(X, y)
    tagger = sapo.train(free, template="pos", epochs=3, **how)
    assert (labeler.tagger_.model.parameters.features == tagger.model.parameters.features).all()
    assert labeler.tagger_.model.constraints == tagger.model.constraints
    assert any(label.startswith("E-") for label in labeler.tagger_.model.labels)
    assert set(labeler.classes_) == {label for tags in y for label in tags}
    loose = SequenceLabeler(template="pos", epochs=1, constraints=False).fit(X, y)
    assert not loose.tagger_.model.parameters.bans.any()


@pytest.mark.parametrize(("labels", "mark"), [(["A", "B", "?"], "?"), ([0, 1, -1], -1)])
def test_a_label_may_be_missing(labels: list[Any], mark: Any) -> None:
    first, second, _ = labels
    X, y = [["a", "b"], ["b", "c"]], [[first, second], [mark, first]]
    labeler = SequenceLabeler(template="pos", epochs=5, missing=mark).fit(X, y)
    assert labeler.classes_ == [first, second]
    assert labeler.predict(X[:1]).tolist() == y[:1]
    with pytest.raises(SapoError, match="y: some tags are missing"):
        labeler.score(X, y)
    labeler.partial_fit([["d", "b"]], [[second, mark]])
    assert labeler.classes_ == list(labeler._labels(labeler.tagger_.labels)) == [first, second]
    named = SequenceLabeler(template="pos", missing=mark).partial_fit(X, y, classes=[first, second])
    assert named.classes_ == [first, second]


def test_partial_fit_weighs_the_labels_that_are_there() -> None:
    labeler = SequenceLabeler(template="pos", epochs=5, class_weight={"A": 1, "C": 0})
    labeler.partial_fit([["x"], ["y"]], [["A"], ["B"]])
    labeler.partial_fit([["z"], ["z"]], [["B"], ["C"]])
    assert labeler.predict([["z"]]).tolist() == [["B"]]
    labeler.partial_fit([["v"], ["v"]], [["A"], ["B"]], sample_weight=[0, 1])
    assert labeler.predict([["v"]]).tolist() == [["B"]]
    with pytest.raises(SapoError, match="class_weight='balanced' needs all sequences at once"):
        SequenceLabeler(class_weight="balanced").partial_fit([["x"]], [["A"]])


def test_partial_fit_goes_on_and_knows_new_labels(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(template="pos").partial_fit(words, parts)
    assert labeler.classes_ == ["DT", "NN", "VB"]
    labeler.partial_fit([["sing", "!"]], [["IMP", "."]])
    assert labeler.predict([["sing", "!"]]).tolist() == [["IMP", "."]]
    assert labeler.classes_ == list(labeler.tagger_.labels) == ["DT", "NN", "VB", "IMP", "."]
    assert labeler.predict(words).tolist() == parts
    labeler.fit(words, parts)
    assert labeler.classes_ == ["DT", "NN", "VB"]


def test_partial_fit_after_fit_keeps_what_fit_learned(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(template="pos").fit(words, parts).partial_fit([["!"]], [["."]])
    assert labeler.predict([*words, ["!"]]).tolist() == [*parts, ["."]]


def test_classes_of_the_first_call_are_all_there_are(words: list[list[str]], parts: list[list[str]]) -> None:
    labeler = SequenceLabeler(template="pos", epochs=2).partial_fit(words, parts, classes=["NN", "DT", "VB", "."])
    assert labeler.classes_ == ["NN", "DT", "VB", "."]
    assert labeler.predict_marginals(words[:1])[0][0]["."] == 0.0
    labeler.partial_fit([["!"]], [["."]])
    assert labeler.classes_ == ["NN", "DT", "VB", "."]
    with pytest.raises(SapoError, match=r"y\[1\]\[0\]: 'X' is not in classes \['NN', 'DT', 'VB', '.'\]"):
        labeler.partial_fit([["!"], ["?"]], [["."], ["X"]])
    with pytest.raises(SapoError, match=r"y\[0\]\[1\]: 2 is not in classes \[0, 1\]"):
        SequenceLabeler().partial_fit([["a", "b"]], [[0, 2]], classes=[0, 1])
    with pytest.raises(SapoError, match="y has labels of type int, but those of training were str"):
        labeler.partial_fit([["!"]], [[1]])


def test_before_fit_every_prediction_is_refused() -> None:
    labeler = SequenceLabeler()
    for call in (labeler.predict, labeler.predict_marginals, labeler.predict_nbest, labeler.predict_spans):
        with pytest.raises(NotFittedError, match="this SequenceLabeler is not fitted yet; call fit first"):
            call([["a"]])
    with pytest.raises(SapoError, match="not fitted"):
        labeler.score([["a"]], [["A"]])
    assert not hasattr(labeler, "classes_")


def test_a_random_state_is_a_seed_or_draws_one(words: list[list[str]], parts: list[list[str]]) -> None:
    def weights(state: Any) -> list[float]:
        labeler = SequenceLabeler(template="pos", epochs=2, random_state=state).fit(words, parts)
        return labeler.tagger_.model.parameters.features.ravel().tolist()

    assert weights(1) == weights(np.int64(1)) != weights(2)
    assert weights(None) == weights(0)
    assert weights(np.random.RandomState(5)) == weights(np.random.RandomState(5)) != weights(0)
    assert weights(np.random.default_rng(5)) == weights(np.random.default_rng(5)) != weights(0)
    with pytest.raises(SapoError, match="seed must be"):
        weights("today")


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"n": 0}, "n must be at least 1 or 'auto', not 0"),
        ({"learner": "spo"}, "unknown learner 'spo'; did you mean 'sapo'?"),
        ({"rate": "fast"}, "rate must be"),
        ({"settings": {"dcay": 0.8}}, "unknown setting 'dcay'; did you mean 'decay'?"),
        ({"settings": "fast"}, "settings must be a sapo.Settings or a dictionary, not 'fast'"),
        ({"min_count": 0}, "min_count must be at least 1"),
        ({"template": "chunkin"}, "chunkin"),
    ],
)
def test_bad_parameters_are_refused_by_fit_and_not_before(parameters: dict[str, Any], complaint: str) -> None:
    labeler = SequenceLabeler(**parameters)
    with pytest.raises(SapoError) as told:
        labeler.fit([["a"]], [["A"]])
    assert complaint in str(told.value)


def test_ctrl_c_stops_fit_and_leaves_no_half_fitted_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("sapo.learn.loop.run_pass", interrupted)
    labeler = SequenceLabeler(rate=0.1)
    with pytest.raises(KeyboardInterrupt):
        labeler.fit([["a"]], [["A"]])
    with pytest.raises(NotFittedError):
        labeler.predict([["a"]])


def test_ctrl_c_stops_partial_fit_and_keeps_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    labeler = SequenceLabeler(rate=0.1).fit([["a"]], [["A"]])
    monkeypatch.setattr("sapo.training.update.run_pass", interrupted)
    with pytest.raises(KeyboardInterrupt):
        labeler.partial_fit([["b"]], [["B"]])
    assert labeler.classes_ == ["A", "B"]
    assert labeler.predict([["a"]]).tolist() == [["A"]]
