"""Compare two models: what changed from the old one to the new one.

Features and labels are matched by name, because each model numbers them in its own way.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapo.encode.matching import matching_edge_features, matching_features
from sapo.errors import SapoError
from sapo.kernels.types import Floats, Ints, Longs
from sapo.model import Model
from sapo.model.inspect import largest

COMPARED = ("learner", "template", "sentences", "tokens", "passes", "kept_pass")  # of a training record


def changes(old: Model, new: Model, *, top: int = 5, label: str | None = None) -> dict[str, Any]:
    """Return the labels, features, weights, transitions and settings that were added, removed or changed.

    The result can be written as JSON. It lists the `top` largest changes; with `label`, only those of this label's
    weights. Raises SapoError if a model is a network, or does not have the label.

    >>> import sapo
    >>> old = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2)
    >>> new = sapo.train([(["it", "rains"], ["PRP", "VBZ"])], template="pos", epochs=2)
    >>> changes(old.model, new.model)["labels"]["added"]
    ['PRP', 'VBZ']
    """
    if top < 0:
        raise SapoError(f"top must be 0 or more, not {top}")
    common = [name for name in old.labels if name in new.labels]
    if label is not None and label not in common:
        raise SapoError(f"'{label}' is not a label of both models; common: {', '.join(common) or 'none'}")
    mine, theirs = (model.linear_encoder("it has no features to compare with another model's") for model in (old, new))
    matched, edge_matched = matching_features(mine, theirs), matching_edge_features(mine, theirs)
    return {
        "labels": {
            "common": common,
            "added": [name for name in new.labels if name not in common],
            "removed": [name for name in old.labels if name not in common],
        },
        "sizes": {"old": _sizes(old), "new": _sizes(new)},
        "settings": _settings(old, new),
        "template": _template_lines(old, new),
        "features": {
            "common": int(np.count_nonzero(matched >= 0)),
            "added": _strongest(new, _missing(new.encoder.features, matched), top, label),
            "removed": _strongest(old, np.flatnonzero(matched < 0), top, label),
        },
        "edge_features": {
            "common": int(np.count_nonzero(edge_matched >= 0)),
            "added": new.encoder.edge_features - int(np.count_nonzero(edge_matched >= 0)),
            "removed": int(np.count_nonzero(edge_matched < 0)),
        },
        "weights": _changed_weights(old, new, matched, common if label is None else [label], top),
        "transitions": _changed_transitions(old, new, common, top * 4),
        "edge_weights": _changed_edge_weights(old, new, edge_matched, common, top * 4),
    }


def _sizes(model: Model) -> dict[str, Any]:
    parameters = model.parameters
    rows = parameters.rows.arrays
    blocks = (rows.dense, rows.values, parameters.edges, parameters.pair_weights)
    count = parameters.size
    total = sum(float(np.abs(block).sum(dtype=float)) for block in blocks)
    return {
        "labels": len(model.labels),
        "features": model.encoder.features,
        "edge_features": model.encoder.edge_features,
        "weights": count,
        "nonzero_weights": parameters.nonzero,
        "mean_weight": round(total / max(count, 1), 6),  # the paper's w-complexity
        "forbidden": int(np.count_nonzero(model.parameters.bans)),
    }


def _settings(old: Model, new: Model) -> dict[str, Any]:
    """Return the differences between the training records, and between the ways the files were read."""
    mine, theirs = _training_options(old), _training_options(new)
    names = dict.fromkeys([*mine, *theirs])
    return {
        name: {"old": mine.get(name), "new": theirs.get(name)} for name in names if mine.get(name) != theirs.get(name)
    }


def _training_options(model: Model) -> dict[str, Any]:
    record = model.record
    listed = {name: record[name] for name in COMPARED if name in record}
    reading = {f"reader {name}": value for name, value in model.reader.items()}
    return {**listed, **record.get("settings", {}), **reading}


def _template_lines(old: Model, new: Model) -> dict[str, list[str]]:
    mine, theirs = (
        [line.strip() for line in encoder.description().get("template", "").splitlines() if line.strip()]
        for encoder in (old.encoder, new.encoder)
    )
    return {
        "added": [line for line in theirs if line not in mine],
        "removed": [line for line in mine if line not in theirs],
    }


def _missing(count: int, matched: Ints) -> Longs:
    """Return the features of the new model that the old one does not have."""
    new = np.ones(count, bool)
    new[matched[matched >= 0]] = False
    return np.flatnonzero(new)


def _strongest(model: Model, rows: Longs, top: int, label: str | None) -> dict[str, Any]:
    """Return the number of these features, and those with the largest weights for this label (or for any label)."""
    if label is None:
        best, weights = (values[rows] for values in model.parameters.rows.strongest())
    else:
        number = model.labels.index(label)
        best, weights = np.full(len(rows), number), model.parameters.rows.column(number)[rows]
    chosen = largest(np.abs(weights), top)
    names = model.encoder.feature_names(rows[chosen].tolist())
    return {
        "count": len(rows),
        "strongest": [
            {"feature": name, "label": model.labels[best[place]], "weight": _rounded(weights[place])}
            for name, place in zip(names, chosen.tolist(), strict=True)
        ],
    }


def _changed_weights(
    old: Model, new: Model, matched: Ints, common: Sequence[str], top: int
) -> dict[str, list[dict[str, Any]]]:
    """Return the largest changes of weights by label, among the features that both models have."""
    rows = np.flatnonzero(matched >= 0)
    found = {}
    for name in common:
        before = old.parameters.rows.column(old.labels.index(name))[rows]
        after = new.parameters.rows.column(new.labels.index(name))[matched[rows]]
        chosen = largest(np.abs(after - before), top)
        names = old.encoder.feature_names(rows[chosen].tolist())
        found[name] = [
            {"feature": feature, **_change(before[place], after[place])}
            for feature, place in zip(names, chosen.tolist(), strict=True)
            if before[place] != after[place]
        ]
    return found


def _changed_transitions(old: Model, new: Model, common: Sequence[str], top: int) -> list[dict[str, Any]]:
    before, after = (
        model.parameters.edges[np.ix_(numbers, numbers)].ravel()
        for model in (old, new)
        for numbers in [[model.labels.index(name) for name in common]]
    )
    return [
        {
            "from": common[place // len(common)],
            "to": common[place % len(common)],
            **_change(before[place], after[place]),
        }
        for place in largest(np.abs(after - before), top).tolist()
        if before[place] != after[place]
    ]


def _changed_edge_weights(
    old: Model, new: Model, matched: Ints, common: Sequence[str], top: int
) -> list[dict[str, Any]]:
    """Return the largest changes among edge features; a pair of labels that one model does not have counts as 0."""
    shared = {name: number for number, name in enumerate(common)}
    keys, values = _entries(old, matched, shared)
    new_keys, new_values = _entries(new, np.arange(new.encoder.edge_features, dtype=np.int32), shared)
    matched_rows = np.zeros(new.encoder.edge_features, bool)
    matched_rows[matched[matched >= 0]] = True
    kept = matched_rows[new_keys // max(len(common) ** 2, 1)]
    new_keys, new_values = new_keys[kept], new_values[kept]
    all_keys = np.union1d(keys, new_keys)
    before, after = np.zeros(len(all_keys), np.float32), np.zeros(len(all_keys), np.float32)
    before[np.searchsorted(all_keys, keys)] = values
    after[np.searchsorted(all_keys, new_keys)] = new_values
    found = []
    for place in largest(np.abs(after - before), top).tolist():
        if before[place] != after[place]:
            row, code = divmod(int(all_keys[place]), len(common) ** 2)
            labels = {"from": common[code // len(common)], "to": common[code % len(common)]}
            (name,) = new.encoder.edge_feature_names([row])
            found.append({"feature": name, **labels, **_change(before[place], after[place])})
    return found


def _entries(model: Model, row_of: Ints, shared: dict[str, int]) -> tuple[Longs, Floats]:
    """Return a key for each weight of an edge feature, made of its feature (as numbered by `row_of`) and labels."""
    pairs, L = model.parameters.pairs, len(model.labels)
    label_of = np.array([shared.get(name, -1) for name in model.labels], np.int64)
    rows = row_of[pairs.owners].astype(np.int64)
    before, after = label_of[pairs.codes // L], label_of[pairs.codes % L]
    kept = (rows >= 0) & (before >= 0) & (after >= 0)
    keys = (rows * len(shared) + before) * len(shared) + after
    return keys[kept], model.parameters.pair_weights[kept, 0]


def _change(before: Any, after: Any) -> dict[str, float]:
    return {"old": _rounded(before), "new": _rounded(after), "change": _rounded(float(after) - float(before))}


def _rounded(value: Any) -> float:
    return round(float(value), 4)
