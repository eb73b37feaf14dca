"""A training run that can be stopped and gone on with: its state as one file."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.learn import PassRecord, Settings, State, Weights
from sapo.model.arrayfile import load_arrays, save_arrays

WHAT = "a checkpoint of sapo"
FREE_TO_CHANGE = {"epochs", "patience", "tolerance"}  # when to stop may be decided anew


def save_checkpoint(path: str | Path, state: State, settings: Settings, fingerprint: str) -> None:
    header = {
        "format": 1,
        "fingerprint": fingerprint,
        "settings": settings.as_json(),
        "scale": state.weights.scale,
        "transitions": state.weights.transitions,
        "best_epoch": state.best_epoch,
        "history": [dataclasses.asdict(record) for record in state.history],
    }
    arrays = {"features": state.weights.features, "edges": state.weights.edges}
    if state.best is not None:
        arrays.update(best_features=state.best[0], best_edges=state.best[1])
    save_arrays(path, header, arrays)


def load_checkpoint(path: str | Path, settings: Settings, fingerprint: str) -> State:
    """The state of a run with the same data and settings."""
    header, arrays = load_arrays(path, WHAT)
    try:
        then, now = dict(header["settings"]), settings.as_json()
        if header["fingerprint"] != fingerprint:
            raise SapoError(f"{path}: was made with other data or templates; leave --resume out to begin anew")
        changed = [key for key in now if key not in FREE_TO_CHANGE and then.get(key) != now[key]]
        if changed:
            told = ", ".join(f"{key} {then.get(key)} (now {now[key]})" for key in changed)
            raise SapoError(f"{path}: was made with {told}; give the same settings, or leave --resume out")
        weights = Weights(
            arrays["features"].copy(), arrays["edges"].copy(), bool(header["transitions"]), float(header["scale"])
        )
        best = (arrays["best_features"].copy(), arrays["best_edges"].copy()) if "best_features" in arrays else None
        history = [PassRecord(**record) for record in header["history"]]
        return State(weights, history, best, int(header["best_epoch"]))
    except (KeyError, TypeError, ValueError) as error:
        raise SapoError(f"{path}: not {WHAT}: {error}") from None


def fingerprint(corpus: EncodedCorpus, dev: EncodedCorpus | None, labels: list[str]) -> str:
    """Tells runs on different data apart."""
    digest = hashlib.sha256("\n".join(labels).encode())
    arrays: list[Any] = [corpus.offsets, corpus.rows, corpus.values, corpus.gold]
    if dev is not None:
        arrays += [dev.offsets, dev.rows, dev.gold]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
