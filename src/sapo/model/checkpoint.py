"""A training run that can be stopped and gone on with: its state as one file."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.learn import Observer, PassRecord, State
from sapo.model.arrayfile import load_arrays, save_arrays

WHAT = "a checkpoint of sapo"
FREE_TO_CHANGE = {"epochs", "patience", "tolerance"}  # when to stop may be decided anew


class Checkpoint(Observer):
    """Saves the state of a run after every pass, and brings it back.

    `settings` and `fingerprint` tell this run from others: one cannot go on with the state of another.
    """

    def __init__(self, path: str | Path, settings: dict[str, Any], fingerprint: str) -> None:
        self.path, self.settings, self.fingerprint = path, settings, fingerprint

    def passed(self, record: PassRecord, state: State) -> None:
        header = {
            "format": 1,
            "fingerprint": self.fingerprint,
            "settings": self.settings,
            "best_epoch": state.best_epoch,
            "history": [dataclasses.asdict(record) for record in state.history],
        }
        save_arrays(self.path, header, state.weights.arrays(state.best))

    def load(self, state: State) -> None:
        """Bring a fresh state to where a run with the same data and settings stood."""
        header, arrays = load_arrays(self.path, WHAT)
        try:
            self._check_same_run(header)
            state.history = [PassRecord(**record) for record in header["history"]]
            state.best = state.weights.load(arrays, state.epoch)
            state.best_epoch = int(header["best_epoch"])
        except (KeyError, TypeError, ValueError) as error:
            raise SapoError(f"{self.path}: not {WHAT}: {error}") from None

    def _check_same_run(self, header: dict[str, Any]) -> None:
        then, now = dict(header["settings"]), self.settings
        if header["fingerprint"] != self.fingerprint:
            raise SapoError(
                f"{self.path}: was made with other data, templates or learner; leave --resume out to begin anew"
            )
        changed = [key for key in now if key not in FREE_TO_CHANGE and then.get(key) != now[key]]
        if changed:
            told = ", ".join(f"{key} {then.get(key)} (now {now[key]})" for key in changed)
            raise SapoError(f"{self.path}: was made with {told}; give the same settings, or leave --resume out")


def fingerprint(corpus: EncodedCorpus, dev: EncodedCorpus | None, names: list[str]) -> str:
    """Return a name that runs on other data, or with other labels or learners (`names`), do not have."""
    digest = hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass"))
    for part in (corpus, dev):
        if part is not None:
            for array in part.samples[:-1]:  # the words say no more than the features
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
