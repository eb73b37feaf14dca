"""Tag with the methods of python-crfsuite, and show the contents of a model as it does. Needs no scikit-learn."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sapo.errors import DataError, OptionError
from sapo.search.lattice import Parameters
from sapo.search.marginals import Distribution
from sapo.sklearn.sequences import Label
from sapo.tagger.decoding import (
    best_tags,
    encoded_sentence,
    label_names,
    sentence_distribution,
    shown_marginal,
    tagging_probability,
)
from sapo.tagger.file import model_bytes
from sapo.tagger.tagger import Tagger


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The contents of a model. Numbers of labels and attributes, and in the header, are strings, as in pycrfsuite."""

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
        self._places = {label: place for place, label in enumerate(self.labels())}
        self.set([])

    def set(self, xseq: Any) -> None:
        """Choose the sequence for `tag`, `probability` and `marginal`, which is encoded and summed over only once."""
        self._corpus = encoded_sentence(self.tagger.model, self._prepare([xseq])[0])
        self._sums: Distribution | None = None
        self._marginals: list[list[float]] = []

    def tag(self, xseq: Any = None) -> list[Label]:
        """Return the labels of a sequence, or of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        model = self.tagger.model
        return self._to_labels(label_names(model, best_tags(model, self._corpus)))

    def probability(self, yseq: Sequence[Label]) -> float:
        """Return the probability of these labels for the sequence that was set or tagged last."""
        tokens = self._corpus.tokens
        if len(yseq) != tokens:
            raise DataError(f"there are {len(yseq)} labels for {tokens} tokens; give one for each")
        path = [self._place(label) for label in yseq]
        if self.tagger.model.shown:  # several learned labels may be shown as one
            return tagging_probability(
                self.tagger.model, self._corpus, 0, [self.tagger.labels[place] for place in path]
            )
        return self._distribution().probability(path) if tokens else 1.0

    def marginal(self, y: Label, pos: int) -> float:
        """Return the probability of a label at a position of the sequence that was set or tagged last."""
        tokens = self._corpus.tokens
        if not 0 <= pos < tokens:
            raise DataError(f"position {pos} is outside the sequence, which has {tokens} tokens")
        if not self._marginals:
            self._marginals = shown_marginal(self.tagger.model, self._distribution().marginal).tolist()
        return self._marginals[pos][self._place(y)]

    def _distribution(self) -> Distribution:
        if self._sums is None:
            self._sums = sentence_distribution(self.tagger.model, self._corpus, 0, exact=True)
        return self._sums

    def labels(self) -> list[Label]:
        """Return all labels."""
        return self._to_labels(self.tagger.labels)

    def info(self) -> ModelInfo:
        """Return the contents of the model."""
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
        """Write the contents of the model as text, to a file or to standard output."""
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
        place = self._places.get(decoded(label))
        if place is None:
            raise OptionError(f"unknown label {label!r}; known: {', '.join(map(str, self._places))}")
        return place


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


def decoded(label: Any) -> Any:
    """Return a label that is bytes as a string."""
    return label.decode("utf-8") if isinstance(label, bytes) else label
