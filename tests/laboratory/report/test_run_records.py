"""Runs are read as they were written; what is damaged is left out and named, and never stops the report."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laboratory.report import read_runs, run_records
from laboratory.report.tags import fit_together, read_tags
from sapo.errors import SapoError

from .conftest import MakeRun


def test_a_run_is_read_as_it_was_written(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "Perc-Avg", [90.0, 91.5], seed=2, seconds=[3.0, 1.0], weights=[0.1, 0.2])
    (run,) = read_runs(tmp_path / "runs").runs
    assert (run.task, run.system, run.seed, run.features, run.paper_features) == ("chunking", "Perc-Avg", 2, 1000, 900)
    assert [(one.epoch, one.score, one.seconds, one.w_complexity) for one in run.passes] == [
        (1, 90.0, 3.0, 0.1),
        (2, 91.5, 1.0, 0.2),
    ]


def test_what_a_neural_run_does_not_measure_may_be_null(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("chunking", "Bi-LSTM", [90.0])
    path.write_text(path.read_text().replace('"w_complexity": 0.01', '"w_complexity": null'))
    assert read_runs(tmp_path / "runs").runs[0].passes[0].w_complexity is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.rsplit("\n", 2)[0] + "\n", "unfinished: ends after 2 passes"),
        (lambda text: text.replace('"interrupted": false', '"interrupted": true'), "interrupted after 2 passes"),
        (lambda text: "", "is empty"),
        (lambda text: text + "{", "line 5 is not JSON"),
        (lambda text: text + "[]\n", "line 5 is not a JSON object"),
        (lambda text: text.replace('"score": 91.0', '"score": NaN'), "'score' must be a finite number, not nan"),
        (lambda text: text.replace('"score": 91.0', '"score": true'), "'score' must be a finite number, not True"),
        (lambda text: text.replace('"epoch": 2', '"epoch": 3'), "pass 2 is missing: line 3 is of pass 3"),
        (
            lambda text: text.replace('"kind": "run"', '"kind": "pass"'),
            "the first line must be of kind 'run', not 'pass'",
        ),
        (lambda text: text.replace('"features": 1000', '"features": -1'), "'features' must be a count, not -1"),
        (lambda text: text.replace('"SAPO"', '"CRF"'), "is the run of chunking/crf-seed0.jsonl by its first line"),
        (lambda text: text.replace('{"n": 5, "epochs": 20}', "5"), "'settings' must be an object, not 5"),
    ],
)
def test_a_damaged_run_is_left_out_and_named(make_run: MakeRun, tmp_path: Path, change, why: str) -> None:  # type: ignore[no-untyped-def]
    make_run("chunking", "CRF", [90.0])
    path = make_run("chunking", "SAPO", [90.0, 91.0])
    path.write_text(change(path.read_text()))
    found = read_runs(tmp_path / "runs")
    assert [run.system for run in found.runs] == ["CRF"]
    assert [(one.path, one.why) for one in found.skipped] == [("chunking/sapo-seed0.jsonl", why)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(at=st.integers(0, 10_000), cut=st.integers(0, 60), noise=st.binary(max_size=20))
def test_no_damage_stops_the_reading(make_run: MakeRun, tmp_path: Path, at: int, cut: int, noise: bytes) -> None:
    """Some bytes of one run replaced by others: it is read, or left out with a reason; the other run is read."""
    make_run("chunking", "CRF", [90.0])
    path = make_run("chunking", "SAPO", [90.0, 91.0])
    data = path.read_bytes()
    begin = at % len(data)
    path.write_bytes(data[:begin] + noise + data[begin + cut :])
    found = read_runs(tmp_path / "runs")
    assert len(found.runs) + len(found.skipped) == 2
    assert "CRF" in {run.system for run in found.runs}
    assert all(one.why and "\n" not in one.why for one in found.skipped)


def test_a_file_that_is_too_large_is_not_read(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run("chunking", "CRF", [90.0])
    path = make_run("chunking", "SAPO", [90.0])
    path.write_text(path.read_text() + " " * (2 << 20))
    monkeypatch.setattr(run_records, "MOST_BYTES", 1 << 20)
    assert [one.why for one in read_runs(tmp_path / "runs").skipped] == ["larger than 1 MB"]


def test_tuning_is_the_mean_over_folds(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run("chunking", "CRF", [90.0])
    lines = [{"kind": "tuning", "strength": 1.0, "fold": fold, "score": 90.0 + fold} for fold in range(4)]
    end = {"kind": "end", "strength": 1.0, "how": "4-fold cross-validation"}
    path.with_name("tuning.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*lines, end]))
    (tuning,) = read_runs(tmp_path / "runs").tunings
    assert (tuning.task, tuning.scores, tuning.strength) == ("chunking", {1.0: 91.5}, 1.0)


def test_no_directory_and_no_run_are_mistakes_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="nowhere: no such directory; give one that `python -m laboratory experiment`"):
        read_runs(tmp_path / "nowhere")
    with pytest.raises(SapoError, match="holds no finished run; make some with `python -m laboratory experiment`"):
        read_runs(tmp_path)


def test_tags_are_read_by_sentence(tmp_path: Path) -> None:
    path = tmp_path / "gold.tags"
    path.write_text("B\nI\n\nO\n\n")
    assert read_tags(path) == [["B", "I"], ["O"]]
    path.write_text("B\nI\n\nO")
    assert read_tags(path) == [["B", "I"], ["O"]]
    assert read_tags(tmp_path / "none.tags") is None
    path.write_bytes(b"\xff\n")
    assert read_tags(path) is None
    assert fit_together([["B", "I"]], [["O", "O"]])
    assert not fit_together([["B", "I"]], [["O"]])
