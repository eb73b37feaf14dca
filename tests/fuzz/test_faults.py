"""A short form of the matrix of faults: `make faults` runs all of it."""

import random
import signal
from pathlib import Path

import pytest

from fuzz import faults


@pytest.fixture
def room(tmp_path: Path) -> Path:
    faults.prepare(tmp_path, 10)
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_is_stopped_leaves_nothing_behind(room: Path, number: int) -> None:
    assert faults.killed(room, "convert", number, 0.5, random.Random(0)) == []


def test_a_full_disk_leaves_the_old_file(room: Path) -> None:
    assert faults.full_disk(room, "tag") == []


def test_an_input_that_vanishes_is_told(room: Path) -> None:
    assert faults.vanished(room, "tag") == []


def test_a_clock_that_jumps_does_no_harm(room: Path) -> None:
    assert faults.clock(room, "prune") == []
