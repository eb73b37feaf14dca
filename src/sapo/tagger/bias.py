"""A model and a bias on a label in, a model that finds more of it or less out: a lever for precision and recall."""

import dataclasses
import math
from numbers import Real

import numpy as np

from sapo.errors import SapoError, did_you_mean
from sapo.model import Model
from sapo.search.lattice import Parameters, with_bias

LARGEST = 1e6


def biased_model(model: Model, label: str, value: float) -> Model:
    """Where the label has a bias already, this is added to it."""
    if label not in model.outer_labels:
        raise SapoError(f"bias: the model has no label '{label}'{did_you_mean(str(label), model.outer_labels)}")
    if not isinstance(value, Real) or not abs(float(value)) <= LARGEST:
        raise SapoError(f"bias of '{label}' must be a number between -{LARGEST:,.0f} and {LARGEST:,.0f}, not {value}")
    total = math.fsum((model.bias.get(label, 0.0), float(value)))
    return dataclasses.replace(model, bias={**model.bias, label: total})


def with_label_bias(model: Model) -> Parameters:
    """The weights of a model with its bias, as tagging takes them."""
    if not model.bias:
        return model.parameters
    bias = np.array([model.bias.get(name, 0.0) for name in model.shown or model.labels], np.float32)
    return with_bias(model.parameters, bias)
