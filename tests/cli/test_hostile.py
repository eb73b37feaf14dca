"""What comes from a stranger is shown, and does nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from sapo.tagger.arrayfile import load_arrays, save_arrays

ESCAPE = "\x1b[2J\x9b31m\u202e"


@pytest.fixture
def hostile(house: Any, tmp_path: Path) -> Path:
    """A model whose labels, record and template hold escape sequences."""
    header, arrays = load_arrays(house.model, "a model")
    labels = [label + (ESCAPE if label == "O" else "") for label in header["labels"]]
    record = {**header["record"], "stopped": ESCAPE, "template": ESCAPE}
    encoder = {**header["encoder"], "template": header["encoder"]["template"] + f"# {ESCAPE}"}
    changed = {**header, "labels": labels, "record": record, "encoder": encoder, "constraints": None}
    changed.pop("constraints")
    save_arrays(tmp_path / "hostile.sapo", changed, arrays)
    return tmp_path / "hostile.sapo"


def test_no_escape_sequence_of_a_model_reaches_the_terminal(run: Any, house: Any, hostile: Path) -> None:
    shown = run("inspect", hostile).stdout
    assert not set(ESCAPE[:1] + "\x9b\u202e") & set(shown)
    assert "\\u009b31m" in shown
    shown = json.loads(run("inspect", hostile, "--json").stdout)["record"]["stopped"]
    assert shown.endswith("\x9b31m\u202e")  # click leaves out what it knows itself


def test_nor_does_one_of_a_file_name_or_a_label_in_a_message(run: Any, house: Any, hostile: Path) -> None:
    for command in (["tag", house.model, f"{ESCAPE}.txt"], ["inspect", hostile, "--label", ESCAPE], [f"x{ESCAPE}"]):
        told = run(*command, ends=2).stderr
        assert "\x1b" not in told
        assert "u001b" in told or "x1b" in told


def test_links_that_lead_in_a_circle_are_one_line(run: Any, house: Any, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for command in (["train", house.train, "-o"], ["tag", house.model, house.test, "-o"], ["prune", house.model, "-o"]):
        told = run(*command, tmp_path / "a", ends=2).stderr
        assert len(told.splitlines()) == 1
    assert len(run("tag", house.model, tmp_path / "a", ends=2).stderr.splitlines()) == 1
