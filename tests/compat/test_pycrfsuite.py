"""The names of python-crfsuite: train, tag, and the same numbers where it is installed."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sapo.compat.pycrfsuite as pycrfsuite
from sapo.compat.trainer import LinePerIterationTrainer

import sapo.compat
from sapo.errors import DataError, ModelError, OptionError

X = [
    [{"word": "the", "length": 0.5}, {"word": "dog"}, {"word": "barks", "title": False}],
    [["word:a", "title"], {"word": {"lower": "cat"}}],
    [{"word": "rain"}, {"seen": ["x", "y"]}],
]
PARSE = """
import usaddress
print(usaddress.TAGGER.__class__.__module__)
for text in ("123 Main St. Suite 100 Chicago, IL", "Robie House, 5757 South Woodlawn Avenue, Chicago", "PO Box 5"):
    print(usaddress.parse(text))
"""
Y = [["DT", "NN", "VB"], ["DT", "NN"], ["NN", "VB"]]


def trained(module, path: Path, trainer=None) -> None:
    trainer = trainer or module.Trainer(verbose=False, params={"c1": 0.01, "c2": 0.1})
    for tokens, tags in zip(X, Y, strict=True):
        trainer.append(tokens, tags)
    trainer.train(str(path))


@pytest.fixture
def tagger(tmp_path: Path) -> pycrfsuite.Tagger:
    trained(pycrfsuite, tmp_path / "m.sapo")
    found = pycrfsuite.Tagger()
    found.open(tmp_path / "m.sapo")
    return found


def test_tags_and_probabilities_are_those_of_python_crfsuite(tagger: pycrfsuite.Tagger, tmp_path: Path) -> None:
    peer = pytest.importorskip("pycrfsuite")
    trained(peer, tmp_path / "m.crfsuite")
    theirs = peer.Tagger()
    theirs.open(str(tmp_path / "m.crfsuite"))
    assert sorted(tagger.labels()) == sorted(theirs.labels())
    for tokens, tags in zip(X, Y, strict=True):
        assert tagger.tag(tokens) == theirs.tag(tokens)
        assert tagger.probability(tags) == pytest.approx(theirs.probability(tags), abs=1e-3)
        for place, tag in enumerate(tags):
            assert tagger.marginal(tag, place) == pytest.approx(theirs.marginal(tag, place), abs=1e-3)


def test_what_was_set_is_kept_until_the_next_sequence(tagger: pycrfsuite.Tagger) -> None:
    tagger.set(X[0])
    assert len(tagger.tag()) == 3
    before = tagger.marginal("DT", 0)
    assert sum(tagger.marginal(label, 0) for label in tagger.labels()) == pytest.approx(1)
    tagger.tag(X[1])
    assert tagger.marginal("DT", 0) != before
    with pytest.raises(DataError, match="outside the sequence, which has 2 tokens"):
        tagger.marginal("DT", 2)
    with pytest.raises(OptionError, match="unknown label"):
        tagger.marginal("XX", 0)


def test_a_tagger_opens_files_and_bytes_and_closes(tagger: pycrfsuite.Tagger, tmp_path: Path) -> None:
    other = pycrfsuite.Tagger()
    with pytest.raises(ValueError, match="not opened"):
        other.tag(X[0])
    with pytest.raises(OSError, match="no such file"):
        other.open(tmp_path / "missing")
    with other.open_inmemory((tmp_path / "m.sapo").read_bytes()) as same:
        assert same.tag(X[0]) == tagger.tag(X[0])
        assert same.info().labels == tagger.info().labels
    with pytest.raises(ModelError, match="not opened"):
        other.labels()


def test_items_are_names_with_values_and_may_be_used_for_sequences(tagger: pycrfsuite.Tagger) -> None:
    items = pycrfsuite.ItemSequence([{"a": 1.5, b"b": b"c", "no": False}, ["x"]])
    assert repr(items) == "<ItemSequence of size 2>"
    assert items.items() == [{"a": 1.5, "b:c": 1.0, "no": 0.0}, {"x": 1.0}]
    as_items = [pycrfsuite.ItemSequence(tokens) for tokens in X]
    assert [tagger.tag(each) for each in as_items] == [tagger.tag(tokens) for tokens in X]
    crf, other = (sapo.compat.CRF(max_iterations=5).fit(each, Y) for each in (X, as_items))
    assert crf.predict(X).tolist() == other.predict(as_items).tolist()


def test_parameters_have_the_names_types_and_defaults_of_crfsuite() -> None:
    trainer = pycrfsuite.Trainer("pa", {"c": "2"}, verbose=False)
    assert (trainer.get("c"), trainer.get("type"), trainer.get("averaging")) == (2.0, 1, True)
    with pytest.raises(ValueError, match="has no parameter 'c2'"):
        trainer.set("c2", 1)
    with pytest.raises(ValueError, match="must be of type float"):
        trainer.set("c", "much")
    trainer.select("averaged-perceptron")
    assert "c" not in trainer.params()
    with pytest.raises(ValueError, match="algorithm must be one of"):
        trainer.select("adam")
    peer = pytest.importorskip("pycrfsuite").Trainer(verbose=False)
    for algorithm in ("lbfgs", "l2sgd", "ap", "pa", "arow"):
        peer.select(algorithm)
        trainer.select(algorithm)
        assert trainer.get_params() == peer.get_params()


def test_a_trainer_calls_its_methods_and_keeps_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    called: list[str] = []

    class Listening(LinePerIterationTrainer):
        def on_start(self, log: str) -> None:
            called.append("start")

        def on_iteration(self, log, info) -> None:
            called.append(str(info["num"]))
            super().on_iteration(log, info)

        def on_end(self, log: str) -> None:
            called.append("end")

    trainer = Listening(params={"max_iterations": 3})
    trainer.append(X[2], Y[2], 1)
    with pytest.raises(DataError, match="2 labels for 3 tokens"):
        trainer.append(X[0], Y[1])
    trainer.append([], [])
    for tokens, tags in zip(X, Y, strict=True):
        trainer.append(tokens, [tag.encode() for tag in tags])
    trainer.train(str(tmp_path / "m.sapo"), holdout=1)
    assert called == ["start", "1", "2", "3", "end"]
    assert capsys.readouterr().out.count("Iter") == 3
    assert trainer.logparser.last_iteration["num"] == 3
    assert trainer.logparser.last_iteration["dev"] >= 0


def test_the_estimator_keeps_one_tagger_and_has_a_file() -> None:
    from sapo.compat.estimator import CRF

    crf = CRF(max_iterations=5).fit([*X, []], [*Y, []])
    assert crf.tagger_ is crf.tagger_
    crf.tagger_.set(X[0])
    crf.predict(X[:1])
    assert crf.tagger_.tag() == crf.predict_single(X[0])
    name = crf.modelfile.name
    assert sapo.Tagger.load(name).labels == tuple(crf.classes_)
    del crf
    gc.collect()  # the tagger refers to the estimator
    assert not Path(name).exists()


def test_results_of_one_length_have_two_dimensions_as_in_sklearn_crfsuite() -> None:
    crf = sapo.compat.CRF(max_iterations=5).fit(X, Y)
    assert crf.predict(X).shape == (3,)
    assert crf.predict(X[1:]).shape == (2, 2)
    assert crf.predict_marginals(X[1:]).shape == (2, 2)
    assert isinstance(crf.predict(X), np.ndarray)


def with_numbers(module, path: Path):
    """Train with features that have negative values, and a dev set; return the trainer's log and the model."""
    trainer = module.Trainer(verbose=False, params={"c2": 0.1, "max_iterations": 30})
    for place, (tokens, tags) in enumerate(zip(X * 2, Y * 2, strict=True)):
        numbered = [token if isinstance(token, list) else {**token, "n": len(token) - 1.5} for token in tokens]
        trainer.append(numbered, ["NN"] * len(tags) if place == 4 else tags, place // 3)
    trainer.train(str(path), holdout=1)
    tagger = module.Tagger()
    tagger.open(str(path))
    return trainer.logparser, tagger.info()


def test_negative_values_and_dev_scores_are_those_of_python_crfsuite(tmp_path: Path) -> None:
    peer = pytest.importorskip("pycrfsuite")
    (log, ours), (their_log, theirs) = (
        with_numbers(module, tmp_path / module.__name__) for module in (pycrfsuite, peer)
    )
    assert ours.state_features.keys() == theirs.state_features.keys()
    assert ("n", "VB") in theirs.state_features
    assert ("n", "NN") not in theirs.state_features  # its values add up to less than 0
    found, known = log.iterations[0], their_log.iterations[0]
    assert found["scores"].keys() == known["scores"].keys()
    for label, score in known["scores"].items():
        assert tuple(found["scores"][label]) == pytest.approx(tuple(score), abs=1e-4)  # they round
    for name in ("avg_precision", "avg_recall", "avg_f1", "item_accuracy", "instance_accuracy_float"):
        assert found[name] == pytest.approx(known[name], abs=1e-4)


def test_a_trainer_without_init_or_data_works_as_in_python_crfsuite(tmp_path: Path) -> None:
    class Capturing(pycrfsuite.Trainer):
        def __init__(self) -> None:
            self.messages: list[str] = []

        def message(self, message: str) -> None:
            self.messages.append(message)

    trainer = Capturing()
    with pytest.warns(UserWarning, match="no sequences to train on"):
        trainer.train(str(tmp_path / "none.sapo"))
    assert not (tmp_path / "none.sapo").exists()
    trained(pycrfsuite, tmp_path / "m.sapo", trainer)
    assert {"type: CRF1d\n", "c2: 1.0\n"} <= set(trainer.messages)
    with pytest.raises(RuntimeError, match="not opened"):
        pycrfsuite.Tagger().info()


@pytest.mark.filterwarnings("ignore:ap became")
def test_an_averaged_perceptron_makes_all_its_passes(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer("ap", {"max_iterations": 40}, verbose=False)
    trained(pycrfsuite, tmp_path / "m.sapo", trainer)
    assert trainer.logparser.last_iteration["num"] == 40


def test_usaddress_parses_the_same_if_only_the_import_differs(tmp_path: Path) -> None:
    """`make test-clients` does more of this."""
    pytest.importorskip("usaddress")
    (tmp_path / "pycrfsuite.py").write_text(
        "import sys\nimport sapo.compat.pycrfsuite as ours\nsys.modules[__name__] = ours\n"
    )
    known = os.environ.get("PYTHONPATH", "")
    (theirs, *parses), (ours, *same) = (
        subprocess.run(
            [sys.executable, "-c", PARSE],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for path in (known, f"{tmp_path}{os.pathsep}{known}")
    )
    assert (theirs, ours) == ("pycrfsuite._pycrfsuite", "sapo.sklearn.pycrfsuite")
    assert same == parses


def test_programs_that_only_tag_do_not_wait_for_scikit_learn() -> None:
    code = "import sys, sapo.compat.pycrfsuite, sapo.compat.metrics; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    code = "import sys, sapo.compat; print(sapo.compat.CRF.__name__, sapo.compat.estimator.__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "CRF sapo.compat.estimator\n"
