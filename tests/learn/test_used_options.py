"""The table of docs/reference/learners.md that tells which learner uses which option, beside what the learners do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.learn import LEARNERS
from sapo.learn.settings import Settings

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "learners.md"
BASE = Settings(n=4, rate=0.4, strength=0.5)
CHANGES: dict[str, dict[str, Any]] = {
    "n": {"n": 1},
    "search": {"search": "beam", "width": 1},
    "stop_ratio": {"stop_ratio": 1.5},
    "rate": {"rate": 0.2},
    "strength": {"strength": 2.0},
}


def table() -> dict[tuple[str, str], bool]:
    """Whether a learner (second) uses the option (first), as the documentation says."""
    lines = DOCS.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("| setting | `sapo` |"))
    _, *learners = cells(lines[at])
    found = {}
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            break
        option, *marks = cells(line)
        for learner, mark in zip(learners, marks, strict=True):
            found[option.split("`")[1], learner.strip("`")] = mark == "yes"
    return found


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def learned(tiny: Any, learner: str, seed: int, **changes: Any) -> bytes:
    corpus = tiny.corpus(seed)
    weights = tiny.weights(seed, corpus)
    settings = Settings(**{**BASE.as_json(), "stop_ratio": np.inf, **changes})
    list(LEARNERS[learner].run(weights, corpus, np.arange(4), settings.rate, settings, np.zeros(10)))
    return b"".join(block.tobytes() for block in weights.true_weights().blocks)


@pytest.mark.parametrize("option", CHANGES)
@pytest.mark.parametrize("learner", ["sapo", "crf", "perceptron", "mira", "mira-nbest"])
def test_a_learner_uses_the_options_that_the_documentation_says(tiny: Any, learner: str, option: str) -> None:
    differs = any(learned(tiny, learner, seed, **CHANGES[option]) != learned(tiny, learner, seed) for seed in range(12))
    assert differs == table()[option, learner]
