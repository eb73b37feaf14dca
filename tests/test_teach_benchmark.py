"""benchmarks/teach.py counts the keys that a person presses, runs nothing twice, and shows what was measured."""

import doctest
import gzip
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
NAMES = ("Oslo", "Rome", "Lima", "Bonn", "Cairo", "Quito")
COLUMNS = "".join(f"in\tO\n{NAMES[number % 6]}\tB-LOC\nit\tO\nrains{number}\tO\n\n" for number in range(24))


@pytest.fixture
def teach(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("teach")


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("teach_table")


def test_the_examples_hold(teach: ModuleType, table: ModuleType) -> None:
    for module in (teach, table):
        assert doctest.testmod(module).failed == 0


def test_a_span_that_is_not_there_is_removed_and_one_under_another_is_replaced(teach: ModuleType) -> None:
    gold = ["B-X", "I-X", "O", "O"]
    assert teach.keystrokes(gold, gold, spans=True) == 1
    assert teach.keystrokes(gold, ["B-X", "B-X", "O", "O"], spans=True) == 3
    assert teach.keystrokes(gold, ["B-X", "I-X", "O", "B-X"], spans=True) == 3
    assert teach.keystrokes(gold, None, spans=True) == 3
    assert teach.keystrokes(["A", "B", "C"], ["A", "X", "X"], spans=False) == 5


def a_run(*points: tuple[int, float]) -> dict[str, Any]:
    made = [{"sentences": size, "keys": 2 * size, "score": score, "live_score": None} for size, score in points]
    return {"measure": "F1", "full": 1.0, "pool": 100, "points": made}


def test_a_goal_is_reached_where_the_next_checkpoint_has_it_too(table: ModuleType) -> None:
    run = a_run((10, 0.5), (20, 0.91), (30, 0.8), (40, 0.9), (50, 0.95))
    assert table.reached(run, 0.9)["sentences"] == pytest.approx(40)
    assert table.reached(run, 0.85)["keys"] == pytest.approx(70)
    assert table.reached(run, 0.99) is None
    assert table.reached(run, 0.2)["sentences"] == 10


def test_a_whole_run_is_kept_and_not_run_again(
    teach: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("train", "test"):
        (tmp_path / "zoo/towns").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"zoo/towns/{part}.txt.gz").write_bytes(gzip.compress(COLUMNS.encode()))
    monkeypatch.setenv("SAPO_DATA", str(tmp_path))
    monkeypatch.setattr(teach, "SEEDS", (0,))
    results = tmp_path / "teach.json"
    arguments = ["--corpora", "towns", "--results", str(results), "--picture", str(tmp_path / "teach.svg")]
    teach.main(arguments)
    printed, kept = capsys.readouterr().out, results.read_bytes()
    assert printed.count("| towns |") == 6
    assert b"<svg" in (tmp_path / "teach.svg").read_bytes()
    runs = json.loads(kept)
    assert len(runs) == 3
    first, second = runs["towns/test/random/0"]["points"][:2]
    assert first["keys"] == first["keys_alone"]  # nothing was learned yet
    assert second["keys"] < second["keys_alone"]
    monkeypatch.setattr(teach.Lesson, "run", None)
    teach.main(arguments)
    assert capsys.readouterr().out == printed
    assert results.read_bytes() == kept
