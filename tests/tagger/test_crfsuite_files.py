"""Models of CRFsuite are read and written: the same taggings and probabilities as CRFsuite itself."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sapo
from sapo.cli.main import app
from sapo.errors import DataError, ModelError, SapoError
from sapo.tagger.foreign import crfsuite_bytes, read_crfsuite

pycrfsuite = pytest.importorskip("pycrfsuite")

WORDS = ["the", "cat", "in", "Oslo", "ran", "to", "Rome", ".", "größe", "a:b", "x=y"]


def sentences(seed: int, count: int = 60) -> list[tuple[list[dict[str, object]], list[str]]]:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        words = [WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, 8))]
        tags = [
            "LOC" if word in ("Oslo", "Rome") or rng.random() < 0.2 else "V" if word == "ran" else "O" for word in words
        ]
        tokens = [
            {"word": word, "title": word.istitle(), "length": len(word) / 4, "before": words[i - 1] if i else "^"}
            for i, word in enumerate(words)
        ]
        pairs.append((tokens, tags))
    return pairs


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crfsuite") / "model.crfsuite"
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, tags in sentences(0):
        trainer.append(pycrfsuite.ItemSequence(tokens), tags)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 30})
    trainer.train(str(path))
    return path


def compare(tagger: sapo.Tagger, path: Path) -> None:
    other = pycrfsuite.Tagger()
    other.open(str(path))
    assert set(other.labels()) == set(tagger.labels)
    for tokens, _ in sentences(1):
        other.set(pycrfsuite.ItemSequence(tokens))
        tags = other.tag()
        assert tagger.tag(tokens) == tags
        assert tagger.probability(tokens, tags) == pytest.approx(other.probability(tags), abs=1e-6)
        for place, shares in enumerate(tagger.marginals(tokens)):
            for label, share in shares.items():
                assert share == pytest.approx(other.marginal(label, place), abs=1e-6)
    other.close()


def test_a_model_of_crfsuite_tags_as_crfsuite_does(theirs: Path) -> None:
    compare(sapo.Tagger.load(theirs), theirs)


def test_a_model_survives_both_ways(theirs: Path, tmp_path: Path) -> None:
    ours, back = tmp_path / "ours.sapo", tmp_path / "back.crfsuite"
    for source, target in ((theirs, ours), (ours, back)):
        done = CliRunner().invoke(app, ["convert", str(source), str(target)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "3 labels" in done.output
    assert ours.stat().st_size < theirs.stat().st_size
    compare(sapo.Tagger.load(ours), theirs)
    compare(sapo.Tagger.load(back), back)  # which CRFsuite itself opens
    compare(sapo.Tagger.load(ours), back)


def test_n_best_and_explanations_work_on_it(theirs: Path) -> None:
    tagger = sapo.Tagger.load(theirs)
    tokens = sentences(1)[0][0]
    best = tagger.nbest(tokens, 3)
    assert best[0].tags == tagger.tag(tokens)
    assert sapo.explain(tagger, tokens, 0)


def test_a_model_with_a_template_cannot_be_written(tmp_path: Path) -> None:
    tagger = sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=2)
    with pytest.raises(
        ModelError, match="cannot be written as a CRFsuite model: it makes its features from a template"
    ):
        crfsuite_bytes(tagger.model)


def test_a_model_is_not_a_file_of_sentences(theirs: Path) -> None:
    with pytest.raises(DataError, match="is a CRFsuite model, not a file of sentences"):
        sapo.train(theirs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.data())
def test_a_damaged_file_is_refused_or_read(theirs: Path, tmp_path: Path, data: st.DataObject) -> None:
    """A changed byte may be a letter of a name or a digit of a weight; anything else is one clear line."""
    whole = bytearray(theirs.read_bytes())
    if data.draw(st.booleans()):
        whole = whole[: data.draw(st.integers(4, len(whole)))]
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(4, len(whole) - 1)) if len(whole) > 4 else 0] = data.draw(st.integers(0, 255))
    whole[:4] = b"lCRF"
    path = tmp_path / "damaged.crfsuite"
    path.write_bytes(bytes(whole))
    with contextlib.suppress(SapoError):
        sapo.Tagger(read_crfsuite(path)).tag([{"word": "Oslo"}])
