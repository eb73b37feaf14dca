"""A reader who follows one sentence through the package opens few files, and does not go back up."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sapo

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "walk.py"

# The most files of a walk (kernels among them), and the most ways back into a room above.
# The aim is 32 files for sapo.train, 25 for Trainer.update, 12 for Tagger.tag and 16 for sapo tag.
LIMITS = {
    "sapo.train": (46, 0),
    "SequenceLabeler.fit": (49, 0),
    "Trainer.update": (41, 0),
    "Tagger.tag": (21, 0),
    "sapo tag": (37, 1),
}


@pytest.fixture(scope="module")
def walks() -> dict[str, dict[str, list[str]]]:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--json"],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    found: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("job", LIMITS)
def test_a_walk_is_short(walks: dict[str, dict[str, list[str]]], job: str) -> None:
    files, back = LIMITS[job]
    walk = walks[job]
    print(f"{job}: {len(walk['files'])} files of {files}, {len(walk['without kernels'])} without kernels")
    assert len(walk["files"]) <= files, walk["files"]
    assert len(walk["ways back"]) <= back, walk["ways back"]


def test_every_walk_has_a_limit(walks: dict[str, dict[str, list[str]]]) -> None:
    assert walks.keys() == LIMITS.keys()
