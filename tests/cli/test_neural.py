"""Networks by the same commands and in the same files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

Run = Callable[..., Any]
SMALL = ("-l", "bilstm-sapo", "--set", "hidden=8", "--set", "batch=8", "--rate", 0.01, "-e", 3, "--set", "tolerance=0")


def test_a_network_is_trained_resumed_used_and_looked_at(run: Run, house: Any, tmp_path: Path) -> None:
    model, state, log = tmp_path / "chunk.sapo", tmp_path / "run.state", tmp_path / "log"
    saving = ("-o", model, "--checkpoint", state, "--log", log)
    told = run("train", house.train, "--dev", house.test, *SMALL, *saving, "-v").stderr
    assert "start rate" not in told
    assert "epoch  3/3" in told
    told = run("train", house.train, "--dev", house.test, *SMALL, *saving, "--resume", "-e", 4, "-v").stderr
    assert "epoch  4/4" in told
    assert "epoch  1/" not in told
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["epoch"] for entry in entries if entry["event"] == "pass"] == [1, 2, 3, 4]
    assert "B-NP" in run("tag", model, house.test).stdout
    assert "# p_k = 0." in run("tag", model, house.test, "--nbest", 2).stdout
    scores = json.loads(run("eval", model, house.test, "--json").stdout)
    assert scores["token_accuracy"] > 0.5
    shown = run("inspect", model).stdout
    assert "trained   bilstm-sapo on 100 sentences" in shown
    assert "hidden 8" in shown


def test_mistakes_end_with_one_line(run: Run, house: Any, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "out.sapo")
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 1 2\ncat 1\n")
    for arguments, message in (
        ((*SMALL, "--vectors", vectors), f"sapo: {vectors}:2: expected a word and 2 numbers, found 1 numbers"),
        ((*SMALL, "--set", f"vectors={vectors}"), f"sapo: {vectors}:2: expected a word and 2 numbers, found 1 numbers"),
        (("--set", "batch=8"), "sapo: --set batch: only for the neural learners (bilstm, bilstm-crf, "),
        ((*SMALL, "--set", "dropout=1"), "sapo: --set dropout must be a number from 0 up to, but not, 1, not 1"),
    ):
        told = run("train", house.train, *out, "--quiet", *arguments, ends=2).stderr
        assert told.startswith(message)
        assert told.count("\n") == 1
    assert not (tmp_path / "out.sapo").exists()
