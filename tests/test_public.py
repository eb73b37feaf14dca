"""The public face: every name is there, and the examples of the documentation run."""

import inspect
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import sapo
from sapo.errors import DataError, ModelError, OptionError


@pytest.mark.parametrize("name", sapo.__all__)
def test_every_public_name_resolves_and_is_explained(name: str) -> None:
    value = getattr(sapo, name)
    assert name in dir(sapo)
    assert isinstance(value, str) or inspect.getdoc(value)


def test_the_version_is_that_of_the_distribution() -> None:
    try:
        assert version("sapo-nlp") == sapo.__version__
    except PackageNotFoundError:
        pytest.skip("sapo is not installed")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sapo' has no attribute 'trian'"):
        sapo.trian  # noqa: B018


def test_the_example_of_the_package_runs(tmp_path: Path) -> None:
    train, dev = tmp_path / "train.txt", tmp_path / "dev.txt"
    train.write_text("The DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\n" * 4)
    dev.write_text("A DT B-NP\ncat NN I-NP\n")
    tagger = sapo.train(str(train), dev=str(dev), template="chunking")
    sentence = [("The", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
    assert tagger.tag(sentence) == ["B-NP", "I-NP", "B-VP"]
    assert [type(found) for found in tagger.nbest(sentence, n=3)] == [sapo.Tagging] * 3
    tagger.save(tmp_path / "chunk.sapo")
    assert sapo.Tagger.load(tmp_path / "chunk.sapo").tag(sentence) == ["B-NP", "I-NP", "B-VP"]


def test_all_mistakes_of_the_user_are_one_kind_of_error() -> None:
    assert issubclass(sapo.SapoError, ValueError)  # as sklearn-crfsuite raises it
    assert all(issubclass(kind, sapo.SapoError) for kind in (DataError, ModelError, OptionError))
    assert not issubclass(sapo.SapoError, OSError)
    with pytest.raises(sapo.SapoError, match="no such file"):
        sapo.train("no-such-file.txt")
    with pytest.raises(sapo.SapoError, match="no such file"):
        list(sapo.read("no-such-file.txt"))


def test_a_bad_file_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a X\nb\n")
    for path in (tmp_path / "train.txt", tmp_path / "missing.txt"):
        with pytest.raises(DataError):
            sapo.train(path)


def test_a_bad_parameter_is_an_option_error() -> None:
    for wrong in ({"epochs": 0}, {"learner": "spao"}, {"rte": 1}):
        with pytest.raises(OptionError):
            sapo.train([(["a"], ["X"])], **wrong)  # type: ignore[arg-type]


def test_a_bad_model_is_a_model_error(tmp_path: Path) -> None:
    (tmp_path / "no.sapo").write_text("not a model")
    with pytest.raises(ModelError):
        sapo.Tagger.load(tmp_path / "no.sapo")
    with pytest.raises(ModelError):
        sapo.train([([["w=a"]], ["X"])], epochs=1).tag_text("a")
