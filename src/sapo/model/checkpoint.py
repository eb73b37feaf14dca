"""A training run that can be stopped and gone on with: its state as one file."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.learn import PassRecord, Settings, State
from sapo.model.arrayfile import load_arrays, save_arrays
from sapo.search.lattice import Parameters

WHAT = "a checkpoint of sapo"
FREE_TO_CHANGE = {"epochs", "patience", "tolerance"}  # when to stop may be decided anew

BLOCKS = ("features", "edges", "pair_weights")
ARRAYS = (*BLOCKS, "state", "sums", "edge_sums", "pair_sums", "received", "edge_received", "pair_received")


def save_checkpoint(path: str | Path, state: State, settings: Settings, fingerprint: str) -> None:
    header = checkpoint_header(state, settings.as_json(), fingerprint)
    arrays = {name: getattr(state.weights, name) for name in ARRAYS}
    if state.best is not None:
        arrays.update((f"best_{name}", getattr(state.best, name)) for name in BLOCKS)
    save_arrays(path, header, arrays)


def checkpoint_header(state: State, settings: dict[str, Any], fingerprint: str) -> dict[str, Any]:
    """All of a checkpoint that is not arrays."""
    return {
        "format": 1,
        "fingerprint": fingerprint,
        "settings": settings,
        "best_epoch": state.best_epoch,
        "history": [dataclasses.asdict(record) for record in state.history],
    }


def check_same_run(path: str | Path, header: dict[str, Any], now: dict[str, Any], fingerprint: str) -> None:
    """Raise where a checkpoint is not of this run, which has the settings `now`."""
    then = dict(header["settings"])
    if header["fingerprint"] != fingerprint:
        raise SapoError(f"{path}: was made with other data, templates or learner; leave --resume out to begin anew")
    changed = [key for key in now if key not in FREE_TO_CHANGE and then.get(key) != now[key]]
    if changed:
        told = ", ".join(f"{key} {then.get(key)} (now {now[key]})" for key in changed)
        raise SapoError(f"{path}: was made with {told}; give the same settings, or leave --resume out")


def take_history(state: State, header: dict[str, Any]) -> None:
    state.history = [PassRecord(**record) for record in header["history"]]
    state.best_epoch = int(header["best_epoch"])


def load_checkpoint(path: str | Path, state: State, settings: Settings, fingerprint: str) -> None:
    """Bring a fresh state to where a run with the same data and settings stood."""
    header, arrays = load_arrays(path, WHAT)
    try:
        check_same_run(path, header, settings.as_json(), fingerprint)
        for name in ARRAYS:
            mine = getattr(state.weights, name)
            _check_like(arrays[name], mine, name)
            setattr(state.weights, name, arrays[name].copy())
        if "best_features" in arrays:
            for name in BLOCKS:
                _check_like(arrays[f"best_{name}"], getattr(state.weights, name), f"best_{name}")
            best = {name: arrays[f"best_{name}"].copy() for name in BLOCKS}
            state.best = Parameters(pairs=state.weights.pairs, bans=state.weights.bans, **best)
        take_history(state, header)
    except (KeyError, TypeError, ValueError) as error:
        raise SapoError(f"{path}: not {WHAT}: {error}") from None


def _check_like(array: np.ndarray, mine: np.ndarray, name: str) -> None:
    if array.shape != mine.shape or array.dtype != mine.dtype:
        raise ValueError(f"its {name} do not fit the data")


def fingerprint(corpus: EncodedCorpus, dev: EncodedCorpus | None, names: list[str]) -> str:
    """Tells runs on different data, and with different names (labels, learner ...), apart."""
    digest = hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass"))
    for part in (corpus, dev):
        if part is not None:
            for array in part.samples:
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
