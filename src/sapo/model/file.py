"""A model as one file without code in it: written, read, and checked before anything uses it.

It keeps what is not zero (see weight_arrays.py), and features that have a weight (see encode/frozen.py).
"""

from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoder import TemplateEncoder
from sapo.encode.frozen import from_frozen_arrays
from sapo.encode.interface import Encoder
from sapo.encode.ready import FeatureEncoder
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.model.arrayfile import load_arrays, pack_arrays, save_arrays, unpack_arrays
from sapo.model.checks import check_constraints, check_header, check_weights
from sapo.model.model import Model
from sapo.model.weight_arrays import encoder_arrays, small_model, weight_arrays, weights_of
from sapo.tags import Constraints
from sapo.text import Rules

FORMAT = 2
WHAT = "a sapo model"
NEURAL = "neural"  # the kind of a network, which is loaded only where there is one


def save_model(model: Model, path: str | Path, *, half: bool = False) -> None:
    """Save a model. The old file at `path` stays until the new one is whole.

    `half` keeps the weights of features as 16-bit numbers: a smaller file, and scores that differ in the fourth digit.
    """
    save_arrays(path, *_parts(model, half))


def model_bytes(model: Model, *, half: bool = False) -> bytes:
    """Return the bytes that `save_model` writes."""
    return pack_arrays(*_parts(model, half))


def model_from_bytes(data: bytes, *, name: str | Path = "bytes") -> Model:
    """Return the model of `model_bytes`, checked like that of a file. Messages begin with the name."""
    return _model(name, *unpack_arrays(data, name, WHAT))


def _parts(model: Model, half: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if model.parameters.rows.features != model.encoder.features:
        raise SapoError("this model has weights for other features than its encoder makes; take it anew, then save it")
    encoder, parameters = small_model(model.encoder, model.parameters)
    header: dict[str, Any] = {
        "format": FORMAT,
        "kind": encoder.kind,
        "labels": list(model.labels),
        "encoder": encoder.header(),
        "reader": model.reader,
        "record": model.record,
    }
    if model.temperature != 1.0:
        header["temperature"] = model.temperature
    if model.constraints != Constraints():
        header["constraints"] = model.constraints.as_json()
    if model.shown:
        header["shown"] = list(model.shown)
    if model.bias:
        header["bias"] = dict(model.bias)
    if model.text_rules != Rules():
        header["text"] = model.text_rules.as_json()
    return header, {**weight_arrays(parameters, half=half), **encoder_arrays(encoder)}


def load_model(path: str | Path) -> Model:
    """Load a model. Check everything that a kernel will use as an index first."""
    return _model(path, *load_arrays(path, WHAT))


def _model(path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    version = header.get("format")
    if not isinstance(version, int):
        raise SapoError(f"{path}: not {WHAT}: it has no format number")
    if version != FORMAT:
        way = "install a newer sapo" if version > FORMAT else "train the model again"
        raise SapoError(f"{path}: has format {version}, this sapo reads format {FORMAT}; {way}")
    if header.get("kind") == NEURAL:
        from sapo.neural.options import need_torch

        need_torch()
    try:
        check_header(header)
        labels, shown = tuple(header["labels"]), tuple(header.get("shown", []))
        encoder = _encoder(header["kind"], header["encoder"], arrays)
        parameters = weights_of(arrays, encoder, len(labels))
        check_weights(parameters, encoder.kind)
        constraints = Constraints.from_json(header["constraints"]) if "constraints" in header else Constraints()
        check_constraints(constraints, labels, shown)
        bias = {name: float(value) for name, value in header.get("bias", {}).items()}
        reader, record = dict(header["reader"]), dict(header["record"])
        temperature = float(header.get("temperature", 1.0))
        rules = Rules.from_json(header["text"]) if "text" in header else Rules()
        return Model(labels, encoder, parameters, reader, record, temperature, constraints, shown, bias, rules)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise SapoError(f"{path}: not {WHAT}: its parts do not fit together ({error})") from None


def _encoder(kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Encoder:
    if kind == TemplateEncoder.kind:
        return from_frozen_arrays(header, arrays)
    if kind == FeatureEncoder.kind:
        return FeatureEncoder(StringTable.from_small_arrays(arrays, "names"))
    if kind == NEURAL:
        from sapo.neural.encoder import NeuralEncoder

        return NeuralEncoder.from_arrays(header, arrays)
    raise ValueError(f"kind {kind!r:.40}")
