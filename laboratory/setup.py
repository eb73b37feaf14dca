"""What all runs of one command share: where the data is, where the files go, how long to train."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laboratory.datasets.registry import cache_directory
from laboratory.systems import System
from laboratory.tasks import Task
from sapo.errors import SapoError

Say = Callable[[str], None]  # hears what is being done
PASSES, TUNING_PASSES, SEEDS = 20, 20, 3
SMALL_PASSES, SMALL_SEEDS = 3, 1
SMALL_TRAIN, SMALL_TEST = 200, 100  # sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    data: Path  # SAPO_DATA
    runs: Path
    passes: int = PASSES
    tuning_passes: int = TUNING_PASSES
    small: bool = False
    treebank: Path | None = None

    def command(self, task: Task, system: System, seed: int) -> str:
        """Return the shortest command that makes this run; runs that must not be mixed up have different commands."""
        words = ["python", "-m", "laboratory", "experiment", task.name]
        words += ["--systems", system.name, "--seeds", str(seed + 1)]
        words += ["--small"] if self.small else []
        words += ["--passes", str(self.passes)] if self.passes != (SMALL_PASSES if self.small else PASSES) else []
        if self.tuning_passes != (SMALL_PASSES if self.small else TUNING_PASSES):
            words += ["--tuning-passes", str(self.tuning_passes)]
        if self.treebank is not None and task.name == "pos-wsj":
            words += ["--treebank", str(self.treebank)]
        return shlex.join(words)

    def directory(self, task: Task) -> Path:
        return self.runs / task.name


def data_directory(*, needed: bool = True) -> Path:
    """Return SAPO_DATA, or the cache of fetched corpora. Raise SapoError if it is needed and missing."""
    cache = cache_directory()
    value = os.environ.get("SAPO_DATA") or (str(cache) if cache.is_dir() else "")
    if not needed:
        return Path(value or ".").absolute()
    if not value:
        raise SapoError(
            "SAPO_DATA is not set; set it to the directory of the corpora, or use python -m laboratory data get"
        )
    if not Path(value).is_dir():
        raise SapoError(f"SAPO_DATA is {value}, which is not a directory")
    return Path(value).absolute()
