"""The course of training as `training_log_` of sklearn-crfsuite shows it."""

from math import sqrt
from typing import Any

import numpy as np

from sapo.kernels import vectors
from sapo.learn import Observer, PassRecord, State


class TrainingLog(Observer):
    """Collect an entry for each iteration: num, loss, feature_norm, active_features, time, and dev with a dev set."""

    def __init__(self, sentences: int, *, verbose: bool = False) -> None:
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []  # a line for each iteration
        self._sentences, self._verbose = sentences, verbose

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The entry of the last iteration; None before the first."""
        return self.iterations[-1] if self.iterations else None

    def passed(self, record: PassRecord, state: State) -> None:
        """Add the entry of a pass."""
        parameters = state.weights.true_weights()
        weights = np.concatenate([parameters.rows.entries()[2], parameters.edges.ravel()]).astype(np.float64)
        entry: dict[str, Any] = {
            "num": record.epoch,
            "scores": {},
            "loss": record.objective * self._sentences,
            "feature_norm": sqrt(vectors.dot(weights, weights)),
            "active_features": int(np.count_nonzero(weights)),
            "time": record.seconds,
        }
        line = (
            f"Iter {entry['num']:<3} time={entry['time']:<5.2f} loss={entry['loss']:<8.2f} "
            f"active={entry['active_features']:<5} feature_norm={entry['feature_norm']:<8.2f}"
        ).strip()
        if record.dev is not None:
            entry["dev"] = record.dev
            line += f" dev={record.dev:.3f}"
        self.iterations.append(entry)
        self.log.append(f"{line}\n")
        if self._verbose:
            print(line)
