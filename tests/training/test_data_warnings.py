"""Training from Python, and steps of a pipeline, warn about data as `sapo train` does."""

from pathlib import Path

import pytest

import sapo
from answers import answer
from sapo.errors import DataWarning

# a zero for the letter O, as it comes out of a spreadsheet
ODD = [(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])] * 20 + [(["no", "rain"], ["0", "O"])]


def test_python_warns_in_one_line() -> None:
    with pytest.warns(DataWarning, match="^training data: .*'0'") as found:
        sapo.train(ODD, template="ner", epochs=1)
    assert len(found) == 1
    assert "\n" not in str(found[0].message)
    assert found[0].filename == __file__


def test_python_warns_of_labels_of_the_dev_data_that_training_lacks() -> None:
    with pytest.warns(DataWarning, match="the label 'X' of the dev data never occurs in the training data"):
        sapo.train([(["a", "b"], ["Y", "Z"])], dev=[(["a", "b"], ["Y", "X"])], template="pos", epochs=1)


def test_a_file_is_named_with_its_line_and_a_pipeline_warns_too(tmp_path: Path) -> None:
    rows = ["".join(f"{word} {tag}\n" for word, tag in zip(*pair, strict=True)) + "\n" for pair in ODD]
    (tmp_path / "odd.txt").write_text("".join(rows))
    (tmp_path / "input.txt").write_text("We\nlive\n\n")
    with pytest.warns(DataWarning, match=r"odd\.txt:121: "):
        sapo.train(tmp_path / "odd.txt", template="ner", epochs=1)
    done = answer("pipeline", tmp_path / "input.txt", "--add", f"ner={tmp_path / 'odd.txt'}", "-e", 1)
    assert done.code == 0, done
    assert len([line for line in done.lines if line.startswith("sapo: warning: ") and "'0'" in line]) == 1
