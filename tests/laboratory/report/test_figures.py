"""Which panels the figures have."""

from pathlib import Path

from laboratory.report import read_runs
from laboratory.report.bars import time_of_neural
from laboratory.report.curves import against_probabilistic
from laboratory.report.results import by_task

from .conftest import MakeRun


def test_networks_that_learn_from_one_sentence_a_step_have_a_panel_of_their_own(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for system in ("SAPO", "CRF", "Bi-LSTM", "Bi-LSTM-b1"):
        make_run("chunking", system, [90.0, 91.0])
    make_run("bioner", "SAPO", [70.0, 71.0])
    tasks = by_task(read_runs(tmp_path / "runs").runs)
    curves, bars = against_probabilistic(tasks), time_of_neural(tasks)
    assert curves is not None
    assert [panel.title for panel in curves.panels] == ["chunking", "chunking, one sentence a step"]
    assert [name for name, _ in curves.legend] == ["SAPO", "CRF", "Bi-LSTM", "Bi-LSTM-b1"]
    assert bars is not None
    assert [panel.title for panel in bars.panels] == ["chunking"]
