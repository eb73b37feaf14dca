"""Runs made by formula, to try the report on: they show no result of any system."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ALL = (
    *("SAPO", "CRF", "Perc-Naive", "Perc-Avg", "MIRA-Naive", "MIRA-Avg", "MIRA-Nbest-Naive", "MIRA-Nbest-Avg"),
    *("SAPO-n1", "SAPO-n2", "SAPO-n10", "SAPO-n20", "SAPO-astar", "SAPO-beam"),
)
NEURAL = ("Bi-LSTM", "Bi-LSTM-CRF", "Bi-LSTM-SAPO")
MakeRun = Callable[..., Path]


def header(task: str, system: str, seed: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "run",
        "task": task,
        "title": f"The task {task}",
        "metric": "accuracy" if task.startswith("pos") else "F1",
        "system": system,
        "learner": system.lower(),
        "seed": seed,
        "command": f"python -m laboratory experiment {task} --seeds 3",
        "template": "chunking",
        "settings": {"n": 5, "epochs": 20},
        "features": 1000,
        "paper_features": 900,
        "labels": 22,
        "train_sentences": 100,
        "train_tokens": 2000,
        "test_sentences": 3,
        "test_tokens": 6,
        "version": "0.1.0",
        **more,
    }


def one_pass(epoch: int, score: float, seconds: float = 0.5, w_complexity: float | None = 0.01) -> dict[str, Any]:
    return {
        "kind": "pass",
        "epoch": epoch,
        "score": score,
        "token_accuracy": score + 1,
        "objective": 1.0,
        "w_complexity": w_complexity,
        "rate": 0.05,
        "updates": 10,
        "updated": 0.1,
        "candidates": 5.0,
        "probabilities": [0.8, 0.2],
        "accuracy": 0.9,
        "seconds": seconds,
        "tokens_per_second": 1000,
    }


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Write one run with these scores, and seconds and w-complexities if given, into tmp_path/runs."""

    def make(
        task: str,
        system: str,
        scores: list[float],
        *,
        seed: int = 0,
        seconds: list[float] | None = None,
        weights: list[float] | None = None,
        tags: str | None = None,
        **more: Any,
    ) -> Path:
        directory = tmp_path / "runs" / task
        directory.mkdir(parents=True, exist_ok=True)
        passes = [
            one_pass(
                epoch,
                score,
                *(() if seconds is None else (seconds[epoch - 1],)),
                **({} if weights is None else {"w_complexity": weights[epoch - 1]}),
            )
            for epoch, score in enumerate(scores, start=1)
        ]
        end = {"kind": "end", "passes": len(passes), "seconds": 1.0, "interrupted": False}
        path = directory / f"{system.lower()}-seed{seed}.jsonl"
        lines = [header(task, system, seed, **more), *passes, end]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if tags is not None:
            path.with_suffix(".tags").write_text(tags)
        return path

    return make


@pytest.fixture
def many_runs(make_run: MakeRun, tmp_path: Path) -> Path:
    """Two tasks, all systems, three seeds of twenty passes, by formula."""
    for task in ("chunking", "pos-xpos"):
        systems = (*ALL, *NEURAL) if task == "chunking" else ALL
        for at, system in enumerate(systems):
            for seed in range(3):
                high = 0.4 if "Naive" in system else 0.07
                wave = [high * math.sin(7 * epoch * (at + 1) + seed) for epoch in range(20)]
                scores = [93 - 0.15 * at - 8 * math.exp(-epoch / 2) + wave[epoch] for epoch in range(20)]
                weights = [0.002 * (1 + at * epoch / 10) for epoch in range(20)]
                seconds = [0.1 * (at + 1) + 0.01 * seed] * 20
                make_run(task, system, scores, seed=seed, seconds=seconds, weights=weights, tags="B\nI\n\nO\n\n")
        (tmp_path / "runs" / task / "gold.tags").write_text("B\nI\n\nB\n\n")
    return tmp_path / "runs"
