"""Networks as systems of an experiment: the same files, and no tuning."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from laboratory.grid import Grid
from laboratory.runfiles import read_lines
from laboratory.runs import make_run, run_done
from laboratory.schedule import Run
from laboratory.setup import Setup
from laboratory.systems import SYSTEMS, find_systems


@pytest.mark.parametrize("name", ["Bi-LSTM-SAPO", "Bi-LSTM-b1"])
def test_a_run_of_a_network_leaves_the_files_of_a_run(name: str, load: Callable[[str], Any], setup: Setup) -> None:
    task, data = load("chunking")
    system = SYSTEMS[name]
    path = make_run(task, system, 0, setup, data, strength=0.0)
    first, *passes, end = read_lines(path)
    assert first["system"] == name
    assert first["settings"]["batch"] == (1 if name.endswith("-b1") else 32)
    assert [line["epoch"] for line in passes] == [1, 2]
    assert passes[1]["objective"] < passes[0]["objective"]
    assert passes[1]["token_accuracy"] > 25
    assert end["kind"] == "end"
    tags = path.with_suffix(".tags").read_text().split()
    gold = (path.parent / "gold.tags").read_text().split()
    assert 100 * sum(a == b for a, b in zip(tags, gold, strict=True)) / len(gold) == pytest.approx(
        passes[1]["token_accuracy"]
    )
    assert run_done(task, system, 0, setup)


def test_networks_wait_for_no_tuning(setup: Setup, find: Callable[[str], Any]) -> None:
    grid = Grid([find("chunking")], find_systems(["neural"]), 1, setup)
    assert [job.what for job in grid.schedule().waiting] == [
        Run(name, 0) for name in ("Bi-LSTM", "Bi-LSTM-CRF", "Bi-LSTM-SAPO")
    ]
