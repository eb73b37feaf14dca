"""The mixings since a checkpoint, each in a small file beside it.

All weights of a large model take long to write, and the workers need the cores. So a pass writes them once, after its
first mixing, and then what each mixing changed. A run that goes on takes the checkpoint and makes these changes again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from sapo.cluster.changes import Change
from sapo.cluster.replica import follow, size_of
from sapo.cluster.worker import Step
from sapo.errors import SapoError
from sapo.learn import State
from sapo.learn.weights import Weights
from sapo.model import Checkpoint
from sapo.model.arrayfile import load_arrays, save_arrays

WHAT = "a mixing of sapo"
ID = "journal"  # of a checkpoint; its files have the same


@dataclass(slots=True)
class Journal:
    """The files of a checkpoint: PATH.mixing-1, PATH.mixing-2 ..."""

    checkpoint: Checkpoint
    _id: str = ""  # none: the next to be saved are all weights
    _count: int = 0

    def begin(self) -> None:
        """Begin a pass: what is there belongs to an earlier one."""
        self._id = ""

    def save(self, state: State, step: Step | None, more: dict[str, Any]) -> None:
        """Save the state after a step, with what `more` says of it."""
        if not self._id or step is None:
            self._id, self._count = uuid4().hex, 0
            self.checkpoint.more = more | {ID: self._id}
            self.checkpoint.save(state)
            return
        self._count += 1
        change = step.change
        header = {"format": 1, ID: self._id, "shrunk": change.shrunk, "fold": step.fold, "more": more}
        places = change.places.view(np.int32) if change.places.dtype == np.uint32 else change.places
        self.checkpoint.guard(
            lambda: save_arrays(self._path(self._count), header, {"places": places, "values": change.values})
        )

    def replay(self, weights: Weights) -> None:
        """Bring weights that were loaded from the checkpoint up to the last mixing that was saved."""
        for header, step in self._steps(weights):
            follow(weights, step.change, fold=step.fold)
            self.checkpoint.more = dict(header["more"])

    def remove(self) -> None:
        """Remove all files, where the checkpoint itself is later."""
        number = 1
        while (path := self._path(number)).exists():
            path.unlink()
            number += 1

    def _path(self, number: int) -> Path:
        return Path(f"{self.checkpoint.path}.mixing-{number}")

    def _steps(self, weights: Weights) -> Iterator[tuple[dict[str, Any], Step]]:
        wanted, number = self.checkpoint.more.get(ID), 1
        while wanted and (path := self._path(number)).exists():
            header, arrays = load_arrays(path, WHAT)
            if header.get(ID) != wanted:  # of an earlier checkpoint
                return
            try:
                yield header, _step(header, arrays, size_of(weights))
            except (KeyError, TypeError, ValueError) as error:
                raise SapoError(f"{path}: not {WHAT} ({error}); delete it, and the run goes on before it") from None
            number += 1


def _step(header: dict[str, Any], arrays: dict[str, Any], size: int) -> Step:
    """Return the step of a file. Raise KeyError, TypeError or ValueError if it is damaged."""
    places, values = arrays["places"], arrays["values"]
    if places.dtype == np.int32:
        places = places.view(np.uint32)
    if places.dtype not in (np.uint32, np.int64) or values.dtype != np.float32 or places.shape != values.shape:
        raise ValueError("places")
    if len(places) and not (places[0] >= 0 and places[-1] < size and (places[1:] > places[:-1]).all()):
        raise ValueError("places")
    shrunk = float(header["shrunk"])
    if not (np.isfinite(values).all() and 0 < shrunk <= 1 and isinstance(header["more"], dict)):
        raise ValueError("values")
    return Step(Change(places, values, shrunk), bool(header["fold"]))
