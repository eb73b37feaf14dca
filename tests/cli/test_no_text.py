"""What is no text, and streams that are closed: one line, or the work is done all the same."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.errors import SapoError

HALF = r"Y\ud800"  # as JSON writes half of a surrogate pair


def test_rules_that_are_not_utf_8_are_told_with_their_line(run: Any, house: Any, tmp_path: Path) -> None:
    (tmp_path / "rules").write_bytes(b"forbid O I-NP\nforbid \xff O\n")
    done = run("train", house.train, "-o", "m.sapo", "--rules", "rules", "-q", ends=2, cwd=tmp_path)
    assert done.stderr.startswith("sapo: rules:2: not UTF-8: byte 0xff at place 8 of the line")


@pytest.mark.parametrize(
    "line", [f'{{"tokens": ["a"], "tags": ["{HALF}"]}}', f'{{"text": "a", "spans": [[0, 1, "{HALF}"]]}}']
)
def test_a_tag_that_is_no_text_is_refused_with_its_line(run: Any, tmp_path: Path, line: str) -> None:
    good = '{"tokens": ["a"], "tags": ["X"]}' if "tokens" in line else '{"text": "a", "spans": [[0, 1, "X"]]}'
    (tmp_path / "half.jsonl").write_text(f"{good}\n{line}\n")
    done = run("train", "half.jsonl", "-o", "m.sapo", "-q", ends=2, cwd=tmp_path)
    assert done.stderr.startswith("sapo: half.jsonl:2: the tag '")
    assert r"Y\ud800' has half of a surrogate pair" in done.stderr


def test_a_tag_that_is_no_text_is_refused_in_python_too() -> None:
    with pytest.raises(SapoError, match=r"training data: sentence 1: the tag .* has half of a surrogate pair"):
        sapo.train([(["a"], ["Y\ud800"])])


def test_a_token_that_is_no_text_is_shown_by_its_number(run: Any, tmp_path: Path) -> None:
    (tmp_path / "half.jsonl").write_text(f'{{"tokens": ["{HALF}", "b"], "tags": ["X", "Z"]}}\n')
    run("train", "half.jsonl", "-o", "m.sapo", "-q", "-e", 2, cwd=tmp_path)
    assert HALF in run("inspect", "m.sapo", cwd=tmp_path).stdout
    features = json.loads(run("inspect", "m.sapo", "--json", cwd=tmp_path).stdout)["strongest_features"]["X"]
    assert any("Y\ud800" in entry["feature"] for entry in features)
    assert HALF in run("explain", "m.sapo", "--file", "half.jsonl", "--token", 1, cwd=tmp_path).stdout


def shell(script: str, command: list[str], env: dict[str, str], *args: object) -> "subprocess.CompletedProcess[str]":
    """Run a line of the shell in which "$@" is `sapo` with these arguments."""
    whole = ["sh", "-c", script, "sh", *command, *map(str, args)]
    return subprocess.run(whole, env=env, text=True, capture_output=True, timeout=120)


def test_a_standard_input_that_is_closed_is_one_line(command: list[str], env: dict[str, str], house: Any) -> None:
    done = shell('exec "$@" <&-', command, env, "tag", house.model, "-")
    assert (done.returncode, done.stderr) == (2, "sapo: standard input: cannot be read (it is closed)\n")


@pytest.mark.parametrize("script", ['exec "$@" 2>&-', 'exec "$@" 2>/dev/full'])
def test_training_does_without_a_standard_error(
    command: list[str], env: dict[str, str], house: Any, tmp_path: Path, script: str
) -> None:
    done = shell(script, command, env, "train", house.test, "-o", tmp_path / "m.sapo", "-e", 1)
    assert done.returncode == 0
    assert len(sapo.Tagger.load(tmp_path / "m.sapo").labels) > 1
