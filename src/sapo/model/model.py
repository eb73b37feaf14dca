"""All that tagging needs, as one value."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from sapo.encode.interface import Encoder
from sapo.errors import SapoError, did_you_mean
from sapo.kernels.types import Ints
from sapo.search.lattice import Parameters, with_bias
from sapo.tags import Constraints

LARGEST_BIAS = 1e6


@dataclass(frozen=True, slots=True)
class Model:
    """Labels, an encoder and its weights. `reader` says how the training file was read, so that others are read alike;
    `record` says how it was trained. Probabilities are those of scores divided by `temperature`."""

    labels: tuple[str, ...]
    encoder: Encoder
    parameters: Parameters
    reader: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    temperature: float = 1.0
    constraints: Constraints = field(default_factory=Constraints)  # what the bans of the parameters come from
    shown: tuple[str, ...] = ()  # the name by which each label is shown; empty where it is its own
    bias: dict[str, float] = field(default_factory=dict)  # what labels, by the names shown, score more in tagging

    @property
    def outer_labels(self) -> tuple[str, ...]:
        """The labels as they are shown, each once."""
        return tuple(dict.fromkeys(self.shown)) if self.shown else self.labels

    @property
    def shown_places(self) -> Ints | None:
        """The place in `outer_labels` of each label; None where both are the same."""
        return shown_places(self.shown, self.outer_labels)

    @property
    def tagging(self) -> Parameters:
        """The weights with the bias, as tagging takes them."""
        if not self.bias:
            return self.parameters
        bias = np.array([self.bias.get(name, 0.0) for name in self.shown or self.labels], np.float32)
        return with_bias(self.parameters, bias)

    def with_bias(self, label: str, value: float) -> "Model":
        """Return a model that finds more of a label, or less: a lever for precision and recall.

        Where the label has a bias already, this is added to it.
        """
        if label not in self.outer_labels:
            raise SapoError(f"bias: the model has no label '{label}'{did_you_mean(str(label), self.outer_labels)}")
        if not isinstance(value, Real) or not abs(float(value)) <= LARGEST_BIAS:
            most = f"{LARGEST_BIAS:,.0f}"
            raise SapoError(f"bias of '{label}' must be a number between -{most} and {most}, not {value}")
        total = math.fsum((self.bias.get(label, 0.0), float(value)))
        return dataclasses.replace(self, bias={**self.bias, label: total})

    def linear_encoder(self, cannot: str) -> Encoder:
        """Return the encoder of a linear model. For a network raise an error that says what it cannot do."""
        if self.encoder.linear:
            return self.encoder
        raise SapoError(f"this model is a network: {cannot}")


def shown_places(shown: Sequence[str], outer: Sequence[str]) -> Ints | None:
    """Return the place in `outer` of each name; None where there is none."""
    place = {name: number for number, name in enumerate(outer)}
    return np.array([place[name] for name in shown], np.int32) if shown else None
