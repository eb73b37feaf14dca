"""Describe a model: its labels, sizes, template, training record and strongest weights."""

from typing import Any

import numpy as np

from sapo.errors import OptionError, did_you_mean
from sapo.tagger.model import Model


def describe(model: Model, *, top: int = 5, label: str | None = None) -> dict[str, Any]:
    """Return a description of the model that can be written as JSON.

    It has the `top` strongest features of each label (or only of `label`), and four times as many transitions and edge
    features. Raises SapoError if `top` is negative or the model does not have the label.

    >>> import sapo
    >>> model = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2).model
    >>> description = describe(model, top=1)
    >>> description["labels"], description["record"]["learner"]
    (['DT', 'NN'], 'sapo')
    """
    if top < 0:
        raise OptionError(f"top must be 0 or more, not {top}")
    shown = model.shown or model.labels
    chosen = [name for name, outer in zip(model.labels, shown, strict=True) if label in (None, name, outer)]
    if not chosen:
        raise OptionError(f"the model has no label '{label}'{did_you_mean(str(label), model.outer_labels)}")
    encoder, parameters = model.encoder, model.parameters
    details = encoder.description()
    neural = details.get("network")
    chosen = chosen if neural is None else []  # a network has no weights of single features
    return {
        "labels": list(model.outer_labels),
        "learned_as": dict(zip(model.labels, model.shown, strict=True)) if model.shown else {},
        "constraints": {**model.constraints.as_json(), "forbidden": int(np.count_nonzero(model.parameters.bans < 0))},
        "bias": dict(model.bias),
        "features": encoder.features,
        "edge_features": encoder.edge_features,
        "weights": parameters.size if neural is None else neural["weights"],
        "nonzero_weights": parameters.nonzero if neural is None else None,
        "columns": list(encoder.columns),
        "knowledge": details.get("knowledge", {}),
        "template": details.get("template"),
        "reader": model.reader,
        "temperature": model.temperature,
        "record": model.record,
        "network": neural,
        "strongest_features": _strongest_features(model, chosen, top),
        "strongest_transitions": _strongest_transitions(model, top * 4) if model.encoder.transitions else [],
        "strongest_edge_features": _strongest_edge_features(model, top * 4),
    }


def _strongest_features(model: Model, chosen: list[str], top: int) -> dict[str, list[dict[str, Any]]]:
    entries = model.parameters.rows.entries() if chosen else None
    found = {}
    for label in chosen:
        column = model.parameters.rows.column(model.labels.index(label), entries)
        rows = largest(np.abs(column), top)
        names = model.encoder.feature_names(rows.tolist())
        found[label] = [
            {"feature": name, "weight": round(float(column[row]), 4)} for name, row in zip(names, rows, strict=True)
        ]
    return found


def _strongest_transitions(model: Model, top: int) -> list[dict[str, Any]]:
    flat = model.parameters.edges.ravel()
    return [
        {
            "from": model.labels[place // len(model.labels)],
            "to": model.labels[place % len(model.labels)],
            "weight": round(float(flat[place]), 4),
        }
        for place in largest(np.abs(flat), top).tolist()
    ]


def _strongest_edge_features(model: Model, top: int) -> list[dict[str, Any]]:
    pairs, weights = model.parameters.pairs, model.parameters.pair_weights.ravel()
    if not len(weights):
        return []
    entries = largest(np.abs(weights), top)
    names = model.encoder.edge_feature_names(pairs.owners[entries].tolist())
    found = []
    for name, entry in zip(names, entries.tolist(), strict=True):
        before, after = divmod(int(pairs.codes[entry]), len(model.labels))
        pair = {"from": model.labels[before], "to": model.labels[after]}
        found.append({"feature": name, **pair, "weight": round(float(weights[entry]), 4)})
    return found


def largest(values: Any, top: int) -> Any:
    """Return the indices of the `top` largest values, largest first; among equal values the first ones win.

    >>> largest(np.array([1.0, 2.0, 3.0, 2.0]), 2).tolist()
    [2, 1]
    """
    if top == 0 or not len(values):
        return np.arange(0)
    least = np.partition(values, -min(top, len(values)))[-min(top, len(values))]
    some = np.flatnonzero(values >= least)
    return some[np.argsort(-values[some], kind="stable")[:top]]
