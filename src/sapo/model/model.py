"""All that tagging needs, as one value and as one file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoder import TemplateEncoder
from sapo.encode.ready import FeatureEncoder
from sapo.errors import SapoError
from sapo.kernels.types import Floats
from sapo.model.arrayfile import load_arrays, save_arrays

FORMAT = 1
WHAT = "a sapo model"
Encoder = TemplateEncoder | FeatureEncoder
ENCODERS: dict[str, type[TemplateEncoder] | type[FeatureEncoder]] = {
    TemplateEncoder.kind: TemplateEncoder,
    FeatureEncoder.kind: FeatureEncoder,
}


@dataclass(frozen=True, slots=True)
class Model:
    """Labels, an encoder and its weights. `reader` says how the training file was read, so that others are read alike;
    `record` says how it was trained."""

    labels: tuple[str, ...]
    encoder: Encoder
    weights: Floats  # [features, labels]
    edges: Floats  # [labels, labels]
    reader: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)


def save_model(model: Model, path: str | Path) -> None:
    """The old file at `path` stays until the new one is whole."""
    header = {
        "format": FORMAT,
        "kind": model.encoder.kind,
        "labels": list(model.labels),
        "encoder": model.encoder.header(),
        "reader": model.reader,
        "record": model.record,
    }
    arrays = {"weights": model.weights, "edges": model.edges, **model.encoder.arrays()}
    save_arrays(path, header, arrays)


def load_model(path: str | Path) -> Model:
    """Load by memory map; everything that a kernel will use as an index is checked first."""
    header, arrays = load_arrays(path, WHAT)
    version = header.get("format")
    if not isinstance(version, int):
        raise SapoError(f"{path}: not {WHAT}: it has no format number")
    if version > FORMAT:
        raise SapoError(f"{path}: has format {version}, this sapo reads up to {FORMAT}; install a newer sapo")
    try:
        labels = tuple(header["labels"])
        if not isinstance(header["labels"], list) or not _distinct_strings(labels):
            raise ValueError("labels")
        _check_reader(header["reader"])
        _check_record(header["record"])
        encoder = ENCODERS[header["kind"]].from_arrays(header["encoder"], arrays)
        weights, edges = arrays["weights"], arrays["edges"]
        if weights.dtype != np.float32 or weights.shape != (encoder.features, len(labels)):
            raise ValueError("weights")
        if edges.dtype != np.float32 or edges.shape != (len(labels), len(labels)) or not labels:
            raise ValueError("edges")
        return Model(labels, encoder, weights, edges, dict(header["reader"]), dict(header["record"]))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, SapoError) as error:
        raise SapoError(f"{path}: not {WHAT}: its parts do not fit together ({error})") from None


def _distinct_strings(values: Any) -> bool:
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


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
        if not (entry["dev"] is None or isinstance(entry["dev"], float)):
            raise ValueError("record")
