"""A trained model: everything that tagging needs, in one value."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from sapo.errors import ModelError, OptionError, did_you_mean
from sapo.features.encoder import Encoder
from sapo.jit.arrays import Ints
from sapo.search.lattice import ALL_LABELS, Parameters, with_bias
from sapo.tags.constraints import Constraints
from sapo.text.tokens import Rules

LARGEST_BIAS = 1e6


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model: labels, an encoder and its weights.

    A model may learn other labels than it shows: trained with `scheme="bioes"` on IOB2 tags, it learns S-NP and shows
    it as B-NP. `labels` are the learned labels, and `shown` has the name that each of them is shown by.

    >>> import sapo
    >>> model = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2).model
    >>> model.labels, model.temperature
    (('DT', 'NN'), 1.0)
    """

    labels: tuple[str, ...]
    encoder: Encoder
    parameters: Parameters
    reader: dict[str, Any] = field(default_factory=dict)  # how the training file was read; other files are read alike
    record: dict[str, Any] = field(default_factory=dict)  # how the model was trained
    temperature: float = 1.0  # scores are divided by it before they become probabilities
    constraints: Constraints = field(default_factory=Constraints)  # the source of the parameters' bans
    shown: tuple[str, ...] = ()  # the name that each label is shown by; empty if all labels are shown as learned
    bias: dict[str, float] = field(default_factory=dict)  # added to the scores in tagging, by shown label
    text_rules: Rules = field(default_factory=Rules)  # how text is cut into the tokens that it was trained on
    first: "Model | None" = None  # tags a text before it, so that it sees how words are tagged nearby

    @property
    def calibrated(self) -> bool:
        """Whether the probabilities were fitted to sentences that were not trained on."""
        return self.temperature != 1.0 or "calibration" in self.record

    @property
    def outer_labels(self) -> tuple[str, ...]:
        """Return the labels as they are shown, each once."""
        return tuple(dict.fromkeys(self.shown)) if self.shown else self.labels

    @property
    def shown_places(self) -> Ints | None:
        """Return the index in `outer_labels` of each learned label, or None if the two are the same."""
        return shown_places(self.shown, self.outer_labels)

    def as_shown(self, tags: Ints) -> Ints:
        """Turn learned labels into indices in `outer_labels`."""
        places = self.shown_places
        return tags if places is None else places[tags]

    @property
    def tagging(self) -> Parameters:
        """Return the weights for tagging: the parameters with the bias added."""
        if not self.bias:
            return self.parameters
        bias = np.array([self.bias.get(name, 0.0) for name in self.shown or self.labels], np.float32)
        return with_bias(self.parameters, bias)

    def with_bias(self, label: str, value: float) -> "Model":
        """Return a model with the same weights that predicts a label more often (value > 0) or less often.

        The value is added to the bias that the label already has. Raises SapoError if the model does not have the
        label, or the value is not a number of reasonable size.

        >>> import sapo
        >>> model = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2).model
        >>> model.with_bias("NN", 1.5).with_bias("NN", 1).bias
        {'NN': 2.5}
        """
        if label not in self.outer_labels:
            raise OptionError(f"bias: the model has no label '{label}'{did_you_mean(str(label), self.outer_labels)}")
        if not isinstance(value, Real) or not abs(float(value)) <= LARGEST_BIAS:
            most = f"{LARGEST_BIAS:,.0f}"
            raise OptionError(f"bias of '{label}' must be a number between -{most} and {most}, not {value}")
        total = math.fsum((self.bias.get(label, 0.0), float(value)))
        return dataclasses.replace(self, bias={**self.bias, label: total})

    def exact(self) -> "Model":
        """Return a model with the same weights that looks at all labels of every token.

        A model that was trained with short lists of labels has not learned to work without them; see
        docs/how-to/many-labels.md.
        """
        return dataclasses.replace(self, parameters=dataclasses.replace(self.parameters, lists=ALL_LABELS))

    def linear_encoder(self, cannot: str) -> Encoder:
        """Return the encoder. Raise SapoError if the model is a network; `cannot` says what networks cannot do."""
        if self.encoder.linear:
            return self.encoder
        raise ModelError(f"this model is a network: {cannot}")


def shown_places(shown: Sequence[str], outer: Sequence[str]) -> Ints | None:
    """Return the index in `outer` of each name in `shown`, or None if `shown` is empty.

    >>> shown_places(("O", "B-X", "B-X"), ("O", "B-X")).tolist()
    [0, 1, 1]
    """
    place = {name: number for number, name in enumerate(outer)}
    return np.array([place[name] for name in shown], np.int32) if shown else None
