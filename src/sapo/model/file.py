"""A model as one file without code in it: written, read, and checked before anything uses it.

Format 2 keeps what is not zero (see weight_arrays.py), and features that have a weight (see encode/frozen.py). Files of
format 1, with a matrix of all weights, are still read.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoder import TemplateEncoder
from sapo.encode.frozen import from_frozen_arrays
from sapo.encode.interface import Encoder
from sapo.encode.ready import FeatureEncoder
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.model.arrayfile import LONGEST_HEADER, SHORTEST, load_arrays, pack_arrays, save_arrays, unpack_arrays
from sapo.model.model import Model
from sapo.model.weight_arrays import encoder_arrays, first_parameters, small_model, weight_arrays, weights_of
from sapo.neural.options import need_torch
from sapo.tags import Constraints
from sapo.text import Rules

FORMAT = 2
WHAT = "a sapo model"
NEURAL = "neural"  # the kind of a network, which is loaded only where there is one
ENCODERS: dict[str, type[TemplateEncoder] | type[FeatureEncoder]] = {
    TemplateEncoder.kind: TemplateEncoder,
    FeatureEncoder.kind: FeatureEncoder,
}


def save_model(model: Model, path: str | Path, *, half: bool = False) -> None:
    """Save a model. The old file at `path` stays until the new one is whole.

    `half` keeps the weights of features as 16-bit numbers: a smaller file, and scores that differ in the fourth digit.
    """
    save_arrays(path, *_parts(model, half))


def model_bytes(model: Model, *, half: bool = False) -> bytes:
    """Return what `save_model` writes."""
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


def is_model(path: str | Path) -> bool:
    """Return whether a file begins as a model does; it may still be damaged.

    >>> is_model(__file__)
    False
    """
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(SHORTEST)
    except (OSError, ValueError):
        return False
    return int.from_bytes(start[:8], "little") <= LONGEST_HEADER and start[8:9] == b"{"


def load_model(path: str | Path) -> Model:
    """Load by memory map; everything that a kernel will use as an index is checked first."""
    return _model(path, *load_arrays(path, WHAT))


def _model(path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    version = header.get("format")
    if not isinstance(version, int):
        raise SapoError(f"{path}: not {WHAT}: it has no format number")
    if version > FORMAT:
        raise SapoError(f"{path}: has format {version}, this sapo reads up to {FORMAT}; install a newer sapo")
    if header.get("kind") == NEURAL:
        need_torch()
    try:
        labels = tuple(header["labels"])
        if not isinstance(header["labels"], list) or not _distinct_strings(labels):
            raise ValueError("labels")
        _check_reader(header["reader"])
        _check_record(header["record"])
        if not labels:
            raise ValueError("labels")
        if version == 1:
            encoder = _encoder_class(header["kind"]).from_arrays(header["encoder"], arrays)
            parameters = first_parameters(arrays, encoder, len(labels))
        else:
            encoder = _encoder(header["kind"], header["encoder"], arrays)
            parameters = weights_of(arrays, encoder, len(labels))
        constraints = Constraints.from_json(header["constraints"]) if "constraints" in header else Constraints()
        shown = _shown(header.get("shown", []), labels)
        bias = _bias(header.get("bias", {}), shown or labels)
        reader, record = dict(header["reader"]), dict(header["record"])
        temperature = _temperature(header.get("temperature", 1.0))
        rules = Rules.from_json(header["text"]) if "text" in header else Rules()
        return Model(labels, encoder, parameters, reader, record, temperature, constraints, shown, bias, rules)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, SapoError) as error:
        raise SapoError(f"{path}: not {WHAT}: its parts do not fit together ({error})") from None


def _encoder(kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Encoder:
    if kind == TemplateEncoder.kind:
        return from_frozen_arrays(header, arrays)
    if kind == FeatureEncoder.kind:
        return FeatureEncoder(StringTable.from_small_arrays(arrays, "names"))
    loaded: Encoder = _encoder_class(kind).from_arrays(header, arrays)
    return loaded


def _encoder_class(kind: str) -> Any:
    if kind == NEURAL:
        from sapo.neural.encoder import NeuralEncoder

        return NeuralEncoder
    return ENCODERS[kind]


def _temperature(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError("temperature")
    return float(value)


def _distinct_strings(values: Any) -> bool:
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def _shown(shown: Any, labels: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(shown, list) or not all(isinstance(name, str) for name in shown):
        raise ValueError("shown")
    if len(shown) not in (0, len(labels)):
        raise ValueError("shown")
    return tuple(shown)


def _bias(bias: Any, labels: Sequence[str]) -> dict[str, float]:
    if not isinstance(bias, dict) or not all(name in labels and math.isfinite(value) for name, value in bias.items()):
        raise ValueError("bias")
    return bias


def _check_reader(reader: dict[str, Any]) -> None:
    columns = reader.get("columns")
    if columns is not None and not (isinstance(columns, list) and _distinct_strings(columns)):
        raise ValueError("reader")
    if not all(reader.get(key) is None or isinstance(reader[key], str) for key in ("format", "label")):
        raise ValueError("reader")


def _check_record(record: dict[str, Any]) -> None:
    """A model made by hand has none; that of a training run is shown by `sapo inspect`."""
    if not record:
        return
    dict(record["settings"])
    for key in ("sentences", "tokens", "passes", "kept_pass"):
        if not isinstance(record[key], int):
            raise ValueError("record")
    for key in ("learner", "stopped", "score_name", "template"):
        if not isinstance(record[key], str):
            raise ValueError("record")
    for entry in record["history"]:
        if not all(isinstance(entry[key], int | float) for key in ("epoch", "objective", "w_complexity")):
            raise ValueError("record")
        if not all(isinstance(entry.get(key, 0.0), int | float) for key in ("looked", "lost")):
            raise ValueError("record")
        if not (entry["dev"] is None or isinstance(entry["dev"], float)):
            raise ValueError("record")
