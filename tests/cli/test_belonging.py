"""Models and data that do not belong together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def tags(house: Any, tmp_path: Path) -> Path:
    """The words and parts of speech of the house's training file, with a chunk column that holds the tags again."""
    path = tmp_path / "pos.txt"
    lines = (line.split() for line in house.test.read_text().splitlines())
    path.write_text("".join(f"{line[0]} {line[1]} {line[1]}\n" if line else "\n" for line in lines))
    return path


def test_continuing_with_another_task_is_refused(run: Run, house: Any, tags: Path, tmp_path: Path) -> None:
    done = run("train", "--continue", house.model, tags, "-o", tmp_path / "m.sapo", "-q", ends=2)
    assert "is this data of another task?" in done.stderr
    assert "--new-labels" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "m.sapo").exists()


def test_new_labels_can_be_asked_for(run: Run, house: Any, tmp_path: Path) -> None:
    new, model = tmp_path / "new.txt", tmp_path / "m.sapo"
    new.write_text("Ouch UH B-INTJECT\n! . O\n\n")
    run("train", "--continue", house.model, new, "-o", model, "-q", ends=2)
    run("train", "--continue", house.model, new, "-o", model, "-q", "--new-labels")
    assert "B-INTJECT" in run("tag", model, new).stdout


def test_new_labels_need_a_model_to_go_on_from(run: Run, house: Any, tmp_path: Path) -> None:
    done = run("train", house.train, "-o", tmp_path / "m.sapo", "--new-labels", ends=2)
    assert done.stderr == "sapo: --new-labels is for --continue; a new model learns all labels\n"


def test_evaluating_the_data_of_another_task_is_refused(run: Run, house: Any, tags: Path) -> None:
    done = run("eval", house.model, tags, ends=2)
    assert "the model knows none of its labels" in done.stderr
    assert len(done.stderr.splitlines()) == 1
