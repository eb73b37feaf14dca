"""The examples of CONTRIBUTING.md work: each is one file or one function, and one line."""

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import sapo
from literal_sapo import Tiny
from sapo import learn
from sapo.cli.main import app
from sapo.corpus import formats
from sapo.errors import SapoError
from sapo.features import words
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SENTENCES = [(["the", "old", "cat", "sleeps"], ["D", "A", "N", "V"]), (["a", "dog", "barks"], ["D", "N", "V"])]

TINY = Tiny()


def blocks(title: str) -> list[str]:
    """The blocks of Python below a title."""
    section = PAGE.split(f"\n### {title}\n")[1].split("\n##")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def module(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the package with this text, as if its file were there."""
    made = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    exec(compile(text, f"{name}.py", "exec"), vars(made))
    return made


@pytest.fixture
def squared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The learner of the page, added to the table by its line."""
    text, line = blocks("A learner")
    made = module("sapo.learn.squared", text, monkeypatch)
    entry = eval(f"{{{line.strip()}}}", {**vars(learn), **vars(made)})
    for name, value in entry.items():
        monkeypatch.setitem(learn.LEARNERS, name, value)
    return made


def test_a_learner_is_one_file_and_one_line(squared: Any) -> None:
    tagger = sapo.train(SENTENCES * 3, template="pos", learner="sapo-squared", epochs=5)
    assert tagger.tag(["the", "dog", "sleeps"]) == ["D", "N", "V"]


def test_the_learner_squares_probabilities(squared: Any) -> None:
    corpus = TINY.corpus(3, lengths=(3,))
    weights = TINY.weights(3, corpus)
    literal = TINY.literal(corpus, weights)
    paths, table = literal.table(0)
    scores = table @ literal.flat
    shares = np.exp(2 * (scores - scores.max()))
    step = table[paths.index(literal.oracle(0))] - shares / shares.sum() @ table
    settings = Settings(n=len(paths), strength=0.0)
    list(squared.squared_pass(weights, corpus, np.zeros(1, np.int64), 0.5, settings, np.zeros(20)))
    np.testing.assert_allclose(TINY.literal(corpus, weights).flat - literal.flat, 0.5 * step, atol=1e-5)


def test_with_one_candidate_squaring_changes_nothing(squared: Any) -> None:
    corpus = TINY.corpus(1)
    ours, theirs = TINY.weights(1, corpus), TINY.weights(1, corpus)
    order, settings = np.arange(corpus.sentences), Settings(n=1)
    list(squared.squared_pass(ours, corpus, order, 0.1, settings, np.zeros(20)))
    list(sapo_pass(theirs, corpus, order, 0.1, settings, np.zeros(20)))
    assert ours.features.tobytes() == theirs.features.tobytes()


def test_a_word_function_is_one_function_and_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text, line = blocks("A word function")
    made = module("sapo.features.vowels", text, monkeypatch)
    assert inspect.getdoc(made.vowels)
    entry = eval(f"{{{line.strip()}}}", {**vars(words), **vars(made)})
    for name, value in entry.items():
        monkeypatch.setitem(words.WORD_FUNCTIONS, name, value)
    (tmp_path / "template").write_text("vowels(word[0])\nlabel[-1]\n")
    tagger = sapo.train(SENTENCES, template=tmp_path / "template", epochs=8)
    assert tagger.tag(["tho", "log"])[1] == tagger.tag(["tho", "dog"])[1]  # the same vowels


def test_a_command_is_one_file_and_one_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (text,) = blocks("A command")
    made = module("sapo.cli.labels", text, monkeypatch)
    monkeypatch.setitem(app.commands.modules, "labels", "labels")  # type: ignore[attr-defined]
    sapo.train(SENTENCES, template="pos", epochs=1).save(tmp_path / "model.sapo")
    done = CliRunner().invoke(app, ["labels", str(tmp_path / "model.sapo")])
    assert made.labels_command.name == "labels"
    assert sorted(done.stdout.split()) == ["A", "D", "N", "V"], done.output


@pytest.fixture
def slashed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file in the format of the page, which is in the table by its line."""
    text, line = blocks("A file format")
    module("sapo.corpus.slashed", text, monkeypatch)
    for name, entry in eval(f"{{{line.strip()}}}", vars(formats)).items():
        monkeypatch.setitem(formats.TABLE, name, entry)
        for ending in entry.endings:
            monkeypatch.setitem(formats.ENDINGS, ending, name)
    path = tmp_path / "train.slashed"
    path.write_text("".join(" ".join(map("/".join, zip(*pair, strict=True))) + "\n" for pair in SENTENCES))
    return path


def test_a_file_format_is_one_file_and_one_line(slashed: Path, tmp_path: Path) -> None:
    model, plain = tmp_path / "m.sapo", tmp_path / "new.slashed"
    sapo.train(slashed, epochs=8).save(model)
    plain.write_text("a old cat barks\nthe dog barks\n")
    tagged = CliRunner().invoke(app, ["tag", str(model), str(plain)])
    assert tagged.stdout == "a/D old/A cat/N barks/V\nthe/D dog/N barks/V\n"
    columns = tmp_path / "train.txt"
    assert CliRunner().invoke(app, ["convert", str(slashed), str(columns)]).exit_code == 0
    assert columns.read_text().startswith("the\tD\nold\tA\n")
    assert CliRunner().invoke(app, ["convert", str(columns), str(tmp_path / "again.slashed")]).exit_code == 0
    assert (tmp_path / "again.slashed").read_text() == slashed.read_text()


def test_the_file_format_says_where_a_tag_is_missing(slashed: Path) -> None:
    slashed.write_text("the/D cat\n")
    with pytest.raises(SapoError, match=r"train\.slashed:1: expected word/TAG, found 'cat'; add the tag"):
        sapo.train(slashed)
