"""A trained model with the methods of `pycrfsuite.Tagger`."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sapo.errors import SapoError
from sapo.model import model_bytes
from sapo.search.lattice import Parameters
from sapo.search.probabilities import distribution
from sapo.sklearn.sequences import Label
from sapo.tagger import Tagger


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is in a model. Numbers of labels and attributes, and those in the header, are strings, as in pycrfsuite."""

    header: dict[str, str]
    labels: dict[Label, str]
    attributes: dict[str, str]
    transitions: dict[tuple[Label, Label], float]
    state_features: dict[tuple[str, Label], float]


class CrfsuiteTagger:
    """The methods of `pycrfsuite.Tagger`. `tagger` is the `sapo.Tagger` inside."""

    def __init__(
        self,
        tagger: Tagger,
        prepare: Callable[[Any], list[list[Any]]],
        to_labels: Callable[[Sequence[str]], list[Label]],
    ) -> None:
        self.tagger = tagger
        self._prepare, self._to_labels = prepare, to_labels
        self._tokens: list[Any] = []

    def set(self, xseq: Any) -> None:
        """Choose the sequence that `tag`, `probability` and `marginal` are about."""
        self._tokens = self._prepare([xseq])[0]

    def tag(self, xseq: Any = None) -> list[Label]:
        """Return the labels of a sequence, or of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        return self._to_labels(self.tagger.tag(self._tokens))

    def probability(self, yseq: Sequence[Label]) -> float:
        """Return the probability of these labels for the sequence that was set or tagged last."""
        if len(yseq) != len(self._tokens):
            raise SapoError(f"there are {len(yseq)} labels for {len(self._tokens)} tokens; give one for each")
        if not self._tokens:
            return 1.0
        path = [self._place(label) for label in yseq]
        (lattice,) = self.tagger.lattices([self._tokens])
        return distribution(lattice).probability(path)

    def marginal(self, y: Label, pos: int) -> float:
        """Return the probability of a label at a position of the sequence that was set or tagged last."""
        if not 0 <= pos < len(self._tokens):
            raise SapoError(f"position {pos} is outside of the sequence, which has {len(self._tokens)} tokens")
        (rows,) = self.tagger.marginal_arrays([self._tokens])
        return float(rows[pos, self._place(y)])

    def labels(self) -> list[Label]:
        """Return all labels."""
        return self._to_labels(self.tagger.labels)

    def info(self) -> ModelInfo:
        """Return what is in the model."""
        labels, names = self.labels(), self._names()
        parameters = self.tagger.model.parameters
        header = {
            "size": str(len(model_bytes(self.tagger.model))),
            "type": "FOMC",
            "num_features": str(parameters.nonzero),
            "num_labels": str(len(labels)),
            "num_attrs": str(len(names)),
        }
        return ModelInfo(
            header,
            {label: str(number) for number, label in enumerate(labels)},
            {name: str(number) for number, name in enumerate(names)},
            transition_weights(parameters, labels),
            state_weights(parameters, names, labels),
        )

    def dump(self, filename: str | Path | None = None) -> None:
        """Write what is in the model as text, to a file or to standard output."""
        if filename is None:
            self._write(sys.stdout)
            return
        with Path(filename).open("w", encoding="utf-8") as file:
            self._write(file)

    def _write(self, file: TextIO) -> None:
        info = self.info()
        parts = {
            "FILEHEADER": [f"  {name}: {value}" for name, value in info.header.items()],
            "LABELS": [f"{number:>7}: {label}" for label, number in info.labels.items()],
            "ATTRIBUTES": [f"{number:>7}: {name}" for name, number in info.attributes.items()],
            "TRANSITIONS": [f"  (1) {p} --> {y}: {value:.6f}" for (p, y), value in info.transitions.items()],
            "STATE_FEATURES": [
                f"  (0) {name} --> {y}: {value:.6f}" for (name, y), value in info.state_features.items()
            ],
        }
        for title, lines in parts.items():
            file.write("\n".join([f"{title} = {{", *lines, "}\n\n"]))

    def _names(self) -> list[str]:
        encoder = self.tagger.model.encoder
        return encoder.feature_names(range(encoder.features))

    def _place(self, label: Label) -> int:
        labels = self.labels()
        if label not in labels:
            raise SapoError(f"unknown label {label!r}; known: {', '.join(map(str, labels))}")
        return labels.index(label)


def state_weights(parameters: Parameters, names: Sequence[str], labels: Sequence[Label]) -> dict[Any, float]:
    """Return the weights that are not 0, by feature and label."""
    counts, columns, values = parameters.rows.entries()
    rows = np.repeat(np.arange(len(counts)), counts)
    return {
        (names[row], labels[column]): value
        for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)
    }


def transition_weights(parameters: Parameters, labels: Sequence[Label]) -> dict[Any, float]:
    """Return the transition weights that are not 0, by label and next label."""
    edges = parameters.edges
    return {(labels[p], labels[y]): float(edges[p, y]) for p, y in np.argwhere(edges).tolist()}
