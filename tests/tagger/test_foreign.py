"""Models of CRFsuite: equal taggings and probabilities, both ways, and hostile files."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.errors import SapoError
from sapo.tagger.foreign import _hash, crfsuite_bytes, crfsuite_from_bytes

SENTENCES = [
    (["the", "cat", "sleeps", "in", "Oslo"], ["DT", "NN", "VB", "IN", "NE"]),
    (["a", "dog", "barks", "at", "the", "postman"], ["DT", "NN", "VB", "IN", "DT", "NN"]),
    (["Paris", "sleeps"], ["NE", "VB"]),
    (["naïve", "猫", "barks"], ["JJ", "NN", "VB"]),
]


def features(words: list[str]) -> list[dict[str, Any]]:
    return [{"word": word, "length": len(word) / 3, "upper": word[0].isupper(), "bias": 1.0} for word in words]


def ready_tagger() -> sapo.Tagger:
    pairs = [(features(words), tags) for words, tags in SENTENCES]
    return sapo.train(pairs, epochs=5, seed=1, rate=0.1, strength=1.0)


def agree(theirs: Any, tagger: sapo.Tagger) -> None:
    for words, _ in SENTENCES:
        tokens = features(words)
        tags = theirs.tag(tokens)
        assert tags == tagger.tag(tokens) == tagger.nbest(tokens, 2)[0].tags
        assert tagger.probability(tokens, tags) == pytest.approx(theirs.probability(tags), abs=1e-6)
        for at, by_label in enumerate(tagger.marginals(tokens)):
            for label, value in by_label.items():
                assert value == pytest.approx(theirs.marginal(label, at), abs=1e-6)


def test_a_model_that_crfsuite_trained_gives_equal_taggings_and_probabilities(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="needs python-crfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"max_iterations": 20, "feature.possible_transitions": True})
    for words, tags in SENTENCES:
        trainer.append(features(words), tags)
    trainer.train(str(tmp_path / "m.crfsuite"))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "m.crfsuite"))
    tagger = sapo.Tagger.load(tmp_path / "m.crfsuite")
    agree(theirs, tagger)
    tagger.save(tmp_path / "m.sapo")
    agree(theirs, sapo.Tagger.load(tmp_path / "m.sapo"))


def test_crfsuite_reads_what_sapo_writes(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="needs python-crfsuite")
    tagger = ready_tagger()
    (tmp_path / "m.crfsuite").write_bytes(crfsuite_bytes(tagger.model))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "m.crfsuite"))
    agree(theirs, tagger)
    assert sorted(theirs.labels()) == sorted(tagger.labels)


def test_a_written_model_reads_as_it_was() -> None:
    tagger = ready_tagger()
    again = sapo.Tagger(crfsuite_from_bytes(crfsuite_bytes(tagger.model)))
    assert again.labels == tagger.labels
    for words, _ in SENTENCES:
        ours, theirs = (one.marginal_arrays([features(words)])[0] for one in (tagger, again))
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_hash_is_that_of_jenkins() -> None:
    assert [_hash(key) for key in (b"x\0", b"hello world this is\0", b"12345678901\0")] == [
        1607456687,
        1726634128,
        4108000885,
    ]


def test_a_model_of_templates_is_refused_with_a_reason() -> None:
    tagger = sapo.train(SENTENCES, template="pos", epochs=2)
    with pytest.raises(SapoError, match="uses templates"):
        crfsuite_bytes(tagger.model)


def run(*arguments: Any) -> tuple[int, str]:
    command = [sys.executable, "-m", "sapo", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_commands_take_models_of_crfsuite(tmp_path: Path) -> None:
    source, target, back = (tmp_path / name for name in ("m.crfsuite", "m.sapo", "back.crfsuite"))
    source.write_bytes(crfsuite_bytes(ready_tagger().model))
    assert run("convert", source, target, "-q")[0] == 0
    assert run("convert", target, back, "-q")[0] == 0
    assert back.read_bytes() == source.read_bytes()
    code, output = run("inspect", source)
    assert code == 0
    assert "ready-made features" in output


def test_a_file_of_features_that_is_read_as_columns_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "m.crfsuite").write_bytes(crfsuite_bytes(ready_tagger().model))
    text = "DT\tword\\:the\tlength\nNN\tword\\:cat\tlength\tupper\n\n"  # not a file of columns
    (tmp_path / "a.txt").write_text(text)
    code, output = run("tag", tmp_path / "m.crfsuite", tmp_path / "a.txt")
    assert (code, output.count("\n")) == (2, 1)
    assert "(--format crfsuite if it is not named so)" in output
    assert run("tag", tmp_path / "m.crfsuite", tmp_path / "a.txt", "--format", "crfsuite") == (0, text)


@pytest.mark.parametrize(
    ("head", "name"), [(b"lCRF", "CRFsuite"), (b"version: 100\n", "CRF++ text"), (b"#mdl#2#1\n", "Wapiti"),
                       (b"d\0\0\0" + bytes(8), "CRF++ binary")],
)  # fmt: skip
def test_messages_name_the_tool(tmp_path: Path, head: bytes, name: str) -> None:
    (tmp_path / "m.bin").write_bytes(head + bytes(60))
    with pytest.raises(SapoError, match=name.replace("+", r"\+")):
        sapo.Tagger.load(tmp_path / "m.bin")
    with pytest.raises(SapoError, match=f"is a {name} model, not a file".replace("+", r"\+")):
        sapo.train(tmp_path / "m.bin")


@given(st.integers(0, 10**6), st.integers(0, 2**32 - 1), st.integers(0, 10**6))
def test_changed_files_are_refused_or_work(at: int, value: int, cut: int) -> None:
    data = bytearray(SEED)
    at %= len(data) - 4
    data[at : at + 4] = value.to_bytes(4, "little")
    for changed in (bytes(data), SEED[: cut % len(SEED)]):
        try:
            model = crfsuite_from_bytes(changed)
        except SapoError:
            continue
        assert len(sapo.Tagger(model).tag(features(["cat", "x"]))) == 2


SEED = crfsuite_bytes(ready_tagger().model)


def test_a_model_with_constraints_is_refused_with_a_way_out() -> None:
    pairs = [([["w=in"], ["w=Oslo"], ["w=City"]], ["O", "B-LOC", "I-LOC"])]
    with pytest.raises(SapoError, match=r"train with `constraints=False`"):
        crfsuite_bytes(sapo.train(pairs, epochs=2).model)
    assert crfsuite_bytes(sapo.train(pairs, epochs=2, constraints=False).model)


def test_a_model_of_crfsuite_is_not_overwritten_by_one_of_sapo(tmp_path: Path) -> None:
    path = tmp_path / "m.crfsuite"
    path.write_bytes(crfsuite_bytes(ready_tagger().model))
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "sapo", "prune", str(path), "--below", "0.1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "is not a model of sapo, and would be overwritten" in done.stderr
    assert path.read_bytes() == before
