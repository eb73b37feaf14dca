"""Store the state of training in a file, so that a stopped run can be resumed."""

import hashlib
import math
import warnings
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo.errors import FileWarning, ModelError, SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.features.strings import bounded
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.file import is_count, is_number

WHAT = "a checkpoint of sapo"
LARGEST = 1e300
FREE_TO_CHANGE = {"epochs", "patience", "tolerance"}  # a resumed run may stop earlier or later


class Checkpoint(Observer):
    """Save the state of training after every pass, and load it again.

    `settings` and `fingerprint` identify the run: a run cannot be resumed with the state of another one.

    >>> import sapo, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     checkpoint = Checkpoint(directory + "/state", {}, "any name")
    ...     _ = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", observers=[checkpoint])
    ...     Path(checkpoint.path).exists()
    True
    """

    def __init__(self, path: str | Path, settings: dict[str, Any], fingerprint: str) -> None:
        self.path, self.settings, self.fingerprint = path, settings, fingerprint
        self.more: dict[str, Any] = {}  # how far the next pass is, where it is made on a cluster
        self._warned = False  # that it cannot be written

    def passed(self, record: PassRecord, state: State) -> None:
        """Save the state after a pass."""
        self.save(state)

    def save(self, state: State) -> None:
        """Save the state. Warn, once, if it cannot be written."""
        header: dict[str, Any] = {
            "format": 1,
            "fingerprint": self.fingerprint,
            "settings": self.settings,
            "best_epoch": state.best_epoch,
            "history": [record.as_json() for record in state.history],
        }
        if self.more:
            header["more"] = self.more
        self.guard(lambda: save_arrays(self.path, header, state.weights.arrays(state.best)))

    def guard(self, save: Callable[[], object]) -> None:
        """Save something. Warn, once, if it cannot be written."""
        try:
            save()
        except SapoError as error:  # the disk may have filled since the run began; the model is worth more
            if not self._warned:
                warnings.warn(f"{error}; training continues without it", FileWarning, stacklevel=2)
            self._warned = True

    def load(self, state: State) -> None:
        """Load the file into a fresh state. Raise SapoError if it is damaged, or from another run."""
        header, arrays = load_arrays(self.path, WHAT)
        try:
            self._check_same_run(header)
            history = [pass_record(record, number) for number, record in enumerate(header["history"], 1)]
            if not is_count(header["best_epoch"]) or header["best_epoch"] > len(history):
                raise ValueError("its best pass was never made")
            for name, array in arrays.items():
                if array.dtype.kind == "f" and not bounded(array, LARGEST):
                    raise ValueError(f"its {name} are not finite numbers")
            state.history = history
            state.best = state.weights.load(arrays, state.epoch)
            state.best_epoch = header["best_epoch"]
            self.more = dict(header.get("more", {}))
        except SapoError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            raise ModelError(f"{self.path}: not {WHAT}: {error}") from None

    def _check_same_run(self, header: dict[str, Any]) -> None:
        then, now = header["settings"], self.settings
        if not isinstance(then, dict):
            raise ValueError("it has no settings")
        if header["fingerprint"] != self.fingerprint:
            raise ModelError(
                f"{self.path}: was made with other data, templates or learner; leave `resume` out to start over"
            )
        changed = [key for key in now if key not in FREE_TO_CHANGE and then.get(key) != now[key]]
        if changed:
            listed = ", ".join(f"{key} {then.get(key)} (now {now[key]})" for key in changed)
            raise ModelError(f"{self.path}: was made with {listed}; give the same settings, or leave `resume` out")


def pass_record(stored: Any, number: int) -> PassRecord:
    """Return the record of a pass from a checkpoint. Raise ValueError, KeyError or TypeError if it is malformed."""
    record = PassRecord(**stored)
    counts = all(is_count(value) for value in (record.epoch, record.n, record.updates))
    optional = (record.dev, record.looked, record.lost)
    numbers = [record.objective, record.w_complexity, record.rate, record.updated, record.candidates, record.accuracy]
    numbers += [record.seconds, record.tokens_per_second, *record.probabilities]
    fits = counts and all(is_number(value) for value in numbers + [one for one in optional if one is not None])
    if not fits or record.epoch != number or not isinstance(record.probabilities, list):
        raise ValueError(f"its pass {number} is damaged")
    return record


def saved_choice(path: str | Path, settings: Settings, names: Collection[str]) -> Settings:
    """Return the settings with those of a checkpoint that were chosen from the data: they are not chosen again.

    Raises SapoError if the file is not a checkpoint.
    """
    header, _ = load_arrays(path, WHAT)
    saved = header.get("settings")
    if not isinstance(saved, dict):
        raise ModelError(f"{path}: not {WHAT}: it has no settings")
    try:
        chosen: dict[str, Any] = {
            name: math.inf if saved[name] is None else saved[name] for name in names if name in saved
        }
        return replace(settings, **chosen)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: not {WHAT}: {error}") from None


def fingerprint(corpus: EncodedCorpus | None, dev: EncodedCorpus | None, names: list[str]) -> str:
    """Return a hash that differs between runs with different data, or different `names` (of labels, learners ...).

    A corpus in shards is None here, and its checksums are among the names.
    """
    digest = hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass"))
    for part in (corpus, dev):
        if part is not None:
            for array in part.samples._replace(words=part.words[:0]):  # which say no more than the features
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
