"""A reader who follows one sentence through the package opens few files, and does not go back up."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sapo

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "walk.py"

# The most files of a walk (benchmarks/walk.py leaves some rooms out), and the most ways back into a room above.
LIMITS = {
    # The aim was 32; weights as rows, and files of features that grow or are frozen, have added four, and the choice of
    # settings two: the trials, and the part of the sentences that they see. Four warn about the data. One hides rare
    # features, and one cuts a pass into chunks where the data is larger than memory. The loop has its records, its
    # state, the dev set and the rules for stopping in files of their own: together they had 400 lines. One makes slots
    # that hostile words cannot crowd, and one chooses who shows the progress.
    "sapo.train": (49, 0),
    "SequenceLabeler.fit": (48, 0),
    # The aim was 25. An update meets nearly all that training meets (reading, encoding, gold tags, the loop), and also
    # what grows: the encoder, its arrays and the weights, which have a file each; and which labels belong to the model.
    "Trainer.update": (38, 0),
    # One file checks a model whole, and asks what tags and rules mean.
    "Tagger.load": (19, 0),
    # The aim was 12. Eight files turn words into features (strings, templates, functions of words, values, layout,
    # tables, slots, encoder), and one keeps what new words have; to join them would join ideas that are used apart.
    "Tagger.tag": (19, 0),
    # The aim was 16. The files of Tagger.tag but one, nine more that read and write a column file as a stream, and one
    # that refuses running text; and one puts the output into its place.
    "sapo tag": (29, 0),
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
    assert len(walk["files"]) <= files, walk["files"]
    assert len(walk["ways back"]) <= back, walk["ways back"]


def test_every_walk_has_a_limit(walks: dict[str, dict[str, list[str]]]) -> None:
    assert walks.keys() == LIMITS.keys()
