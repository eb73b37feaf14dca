"""`sapo prune` makes a model file smaller, tells what it costs, and says in one line what is wrong."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from sapo.tagger.file import load_model


def test_a_model_becomes_as_small_as_asked_for_and_the_scores_are_told(run: Any, house: Any, tmp_path: Path) -> None:
    whole = house.model.stat().st_size
    size = f"{0.5 * whole / 1000:.1f}kB"
    done = run("prune", house.model, house.test, "--to", size, "--half", "-o", tmp_path / "small")
    before, after, weights, saved = done.stderr.splitlines()
    assert before.startswith("before  F1 ")
    assert after.startswith("after   F1 ")
    assert "weights (dropped below " in weights
    assert saved.startswith(f"saved {tmp_path / 'small'} (")
    assert (tmp_path / "small").stat().st_size <= 0.5 * whole + 50 < whole
    assert run("tag", tmp_path / "small", house.test).stdout.count("\n") == house.test.read_text().count("\n")


def test_without_an_output_the_model_is_pruned_in_its_place(run: Any, house: Any, tmp_path: Path) -> None:
    shutil.copy(house.model, tmp_path / "m")
    done = run("prune", tmp_path / "m", "--below", 0.01, "-q")
    assert (done.stdout, done.stderr) == ("", "")
    assert load_model(tmp_path / "m").parameters.nonzero < load_model(house.model).parameters.nonzero


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["{model}"], "say how to make the model smaller: --below X, --to SIZE or --half"),
        (["{model}", "--below", "-1"], "--below must be a number, 0 or more, not -1"),
        (["{model}", "--below", "nan"], "--below must be a number, 0 or more, not nan"),
        (["{model}", "--below", "1", "--to", "5MB"], "--below and --to both say how much to drop; give one of them"),
        (["{model}", "--to", "5"], "--to must be a size in kB, MB or GB, such as 5MB, not '5'"),
        (["{model}", "--to", "1kB"], "no pruning makes this model as small as 1,000 bytes; the smallest has "),
        (["{model}", "-", "--half"], "FILE is read twice; save standard input to a file first, and give that"),
        (["{model}", "--half", "-o", "-"], "a model cannot go to standard output"),
        (["{model}", "missing.txt", "--half"], "missing.txt: no such file"),
        (["missing.sapo", "--half"], "missing.sapo: no such file"),
        (["{model}", "{test}", "--half", "-o", "{test}"], "{test}: -o would overwrite the labeled data"),
    ],
)
def test_a_mistake_is_one_line(run: Any, house: Any, args: list[str], complaint: str) -> None:
    before = house.model.read_bytes(), house.test.read_bytes()
    done = run("prune", *(part.format(model=house.model, test=house.test) for part in args), ends=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapo: " + complaint.format(test=house.test))
    assert (house.model.read_bytes(), house.test.read_bytes()) == before
