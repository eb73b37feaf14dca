"""The example of Ray Tune finds settings."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "tune_hyperparameters.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    found = importlib.util.spec_from_file_location("tune_hyperparameters", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_trial_is_judged_on_sentences_that_it_did_not_see(example: ModuleType) -> None:
    assert 0.5 < example.objective({"rate": 0.2, "strength": 0.3}, example.sample())["score"] < 1


@pytest.mark.filterwarnings("ignore")
def test_the_search_returns_the_best_of_its_trials(ray_cluster: Any, example: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("ray.tune", reason="Ray Tune is not installed: pip install 'ray[tune]'", exc_type=ImportError)
    settings, score = example.search(2, str(tmp_path))
    assert set(settings) == {"rate", "strength", "piece"}
    assert score > 0.3
