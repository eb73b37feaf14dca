"""With many labels few are looked at, unless the user asks for all; warnings about many labels are one line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.tagger.file import load_model

LABELS = 310


def text(labels: int) -> str:
    return "".join(f"w{number} L{number}\nx{number % 7} M\n\n" for number in range(labels))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text(text(LABELS))
    return path


def test_all_labels_are_looked_at_where_the_user_asks_for_it(run: Any, data: Path, tmp_path: Path) -> None:
    train = ("train", data, "-e", 3, "-q", "-o")
    run(*train, tmp_path / "few")
    run(*train, tmp_path / "all", "--set", "exact=true")
    few, whole = load_model(tmp_path / "few"), load_model(tmp_path / "all")
    assert few.parameters.lists.most
    assert not whole.parameters.lists.most
    assert whole.record["settings"]["exact"] is True
    tagger = sapo.Tagger(few.exact())
    assert not tagger.model.parameters.lists.most
    words = [line.split()[0] for line in text(1).splitlines() if line]
    tagged = run("tag", tmp_path / "few", "--exact", input=text(1)).stdout.split()
    assert tagged[2::3] == tagger.tag(words)
    assert "accuracy" in run("eval", tmp_path / "few", data, "--exact").stdout


def test_up_to_300_labels_all_are_looked_at() -> None:
    for labels, most in ((300, None), (301, 16)):
        pairs = [([f"w{number}"], [f"L{number}"]) for number in range(labels)]
        assert sapo.train(pairs, template="pos", epochs=1).model.parameters.lists.most == most


def test_training_and_inspection_tell_how_many_labels_were_looked_at(run: Any, data: Path, tmp_path: Path) -> None:
    state, log = tmp_path / "state", tmp_path / "log"
    train = ("train", data, "-o", tmp_path / "m", "--set", "tolerance=0", "--checkpoint", state, "--log", log)
    told = run(*train, "-e", 2, "-v").stderr
    (line,) = (line for line in told.splitlines() if line.startswith("considered "))
    assert re.fullmatch(r"considered [\d.]+ of 311 labels per token; the correct one was .+", line)
    assert f"          {line}" in run("inspect", tmp_path / "m").stdout
    assert all(0 < json.loads(entry)["looked"] <= 16 for entry in log.read_text().splitlines()[1:])
    run(*train, "-e", 3, "--resume")
    assert [entry["looked"] > 0 for entry in load_model(tmp_path / "m").record["history"]] == [True] * 3


def test_nothing_is_told_where_all_labels_are_looked_at(run: Any, data: Path, tmp_path: Path) -> None:
    told = run("train", data, "-o", tmp_path / "m", "-e", 2, "--set", "exact=true").stderr
    assert "looked" not in told
    assert "looked" not in run("inspect", tmp_path / "m", "--json").stdout


def test_exact_needs_a_model_to_evaluate(run: Any, data: Path) -> None:
    told = run("eval", data, "--exact", ends=2).stderr
    assert told == "sapo: --exact is about tagging; give a model: sapo eval MODEL FILE\n"


def test_a_crf_has_all_pairs_where_the_user_asks_for_them(run: Any, data: Path, tmp_path: Path) -> None:
    train = ("train", data, "-l", "crf", "-e", 1, "-q", "--set", "exact=true", "-o")
    run(*train, tmp_path / "seen")
    run(*train, tmp_path / "all", "--set", "all_pairs=true")
    seen, whole = (load_model(tmp_path / name).parameters.nonzero for name in ("seen", "all"))
    assert seen < whole


def test_labels_that_training_lacks_are_one_warning(run: Any, data: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.txt"
    dev.write_text(text(LABELS + 20))
    told = run("train", data, "--dev", dev, "-o", tmp_path / "m", "-e", 1, "-q").stderr
    named = ", ".join(f"'L{number}'" for number in range(310, 315))
    assert told == f"sapo: warning: 20 labels of the dev data ({named}, ...) never occur in the training data\n"
