"""A model in, a description of it out: for people and for programs."""

from typing import Any

import numpy as np

from sapo.errors import SapoError, did_you_mean
from sapo.model import Model


def describe(model: Model, *, top: int = 5, label: str | None = None) -> dict[str, Any]:
    """Labels, sizes, template, training record, and the strongest features and transitions."""
    if top < 0:
        raise SapoError(f"top must be 0 or more, not {top}")
    shown = model.shown or model.labels
    chosen = [name for name, outer in zip(model.labels, shown, strict=True) if label in (None, name, outer)]
    if not chosen:
        raise SapoError(f"the model has no label '{label}'{did_you_mean(str(label), model.outer_labels)}")
    encoder, parameters = model.encoder, model.parameters
    told = encoder.description()
    neural = told.get("network")
    chosen = chosen if neural is None else []  # what single features do in a network cannot be told
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
        "template": told.get("template"),
        "reader": model.reader,
        "temperature": model.temperature,
        "record": model.record,
        "network": neural,
        "strongest_features": {name: _strongest_features(model, model.labels.index(name), top) for name in chosen},
        "strongest_transitions": _strongest_transitions(model, top * 4) if model.encoder.transitions else [],
        "strongest_edge_features": _strongest_edge_features(model, top * 4),
    }


def _strongest_features(model: Model, label: int, top: int) -> list[dict[str, Any]]:
    column = model.parameters.rows.column(label)
    rows = largest(np.abs(column), top)
    names = model.encoder.feature_names(rows.tolist())
    return [{"feature": name, "weight": round(float(column[row]), 4)} for name, row in zip(names, rows, strict=True)]


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


def _linear_lines(description: dict[str, Any]) -> list[str]:
    edge_features = f" and {description['edge_features']:,} edge features" if description["edge_features"] else ""
    return [
        f"features  {description['features']:,}" + edge_features,
        f"weights   {description['weights']:,}, of which {description['nonzero_weights']:,} are not 0",
    ]


def _network_lines(network: dict[str, Any]) -> list[str]:
    told = ", ".join(f"{key} {value}" for key, value in network["options"].items() if value is not None)
    return [f"network   {network['words']:,} words; {told}", f"weights   {network['weights']:,}"]


def largest(values: Any, top: int) -> Any:
    """The places of the largest values, largest first; of equal values those that stand first.

    >>> largest(np.array([1.0, 2.0, 3.0, 2.0]), 2).tolist()
    [2, 1]
    """
    if top == 0 or not len(values):
        return np.arange(0)
    least = np.partition(values, -min(top, len(values)))[-min(top, len(values))]
    some = np.flatnonzero(values >= least)
    return some[np.argsort(-values[some], kind="stable")[:top]]


def _picked(record: dict[str, Any]) -> list[str]:
    if record["settings"].get("n") != "auto":
        return []
    return [f"          n by pass: {', '.join(str(entry['n']) for entry in record['history'] if 'n' in entry)}"]


def _continued(entry: dict[str, Any], trained: dict[str, Any]) -> str:
    """What was learned later, and with which settings that training did not have."""
    other = (f"{key} {value}" for key, value in entry["settings"].items() if trained.get(key) != value)
    return (
        f"continued {entry['sentences']:,} sentences in {entry['updates']:,} updates, {entry['passes']:,} passes "
        f"({', '.join(other) or 'settings as before'}); stopped: {entry['stopped']}"
    )


def _constraint_lines(description: dict[str, Any]) -> list[str]:
    lines = []
    if description["learned_as"]:
        pairs = (f"{name} ({shown})" if name != shown else name for name, shown in description["learned_as"].items())
        lines.append(f"learned   {' '.join(pairs)}")
    constraints = description["constraints"]
    if constraints["scheme"] or constraints["rules"]:
        scheme = f"{constraints['scheme']}; " if constraints["scheme"] else ""
        lines.append(f"tagging   {scheme}{constraints['forbidden']:,} pairs of labels, starts and ends are forbidden")
    if constraints["exceptions"]:
        pairs = (f"{before or 'start'} {after or 'end'}" for before, after in constraints["exceptions"])
        lines.append(f"          allowed, as training has it: {', '.join(pairs)}")
    lines += [f"          rule: {rule}" for rule in constraints["rules"]]
    if description["bias"]:
        lines.append("bias      " + ", ".join(f"{label} {value:+g}" for label, value in description["bias"].items()))
    return lines


def describe_text(description: dict[str, Any]) -> str:
    """The same for people."""
    record = description["record"]
    lines = [
        f"{description['file']}  {description['megabytes']} MB",
        "",
        f"labels    {len(description['labels'])}: {' '.join(description['labels'])}",
        *(_network_lines(description["network"]) if description["network"] else _linear_lines(description)),
        f"columns   {', '.join(description['columns']) or 'ready-made features'}",
        *_constraint_lines(description),
    ]
    if description["temperature"] != 1.0:
        lines.append(f"calibrated  temperature {description['temperature']:.4g}")
    if record:
        settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items() if value is not None)
        lines += [
            f"trained   {record['learner']} on {record['sentences']:,} sentences, {record['tokens']:,} tokens",
            f"          {settings}",
            f"          {record['passes']} passes, kept pass {record['kept_pass']}; stopped: {record['stopped']}",
            *_picked(record),
            *(_continued(entry, record["settings"]) for entry in record.get("continued", [])),
            "",
            f"pass  objective  {'dev ' + record['score_name']:>12}  w-complexity",
        ]
        for entry in record["history"]:
            dev = f"{100 * entry['dev']:12.2f}" if entry["dev"] is not None else " " * 12
            lines.append(f"{entry['epoch']:4d}  {entry['objective']:9.4f}  {dev}  {entry['w_complexity']:.6f}")
    if description["template"]:
        lines += ["", "template", *("  " + line for line in description["template"].strip().splitlines())]
    lines += ["", "strongest features"] if description["strongest_features"] else []
    for label, features in description["strongest_features"].items():
        lines += [f"  {label}", *(f"    {entry['weight']:+8.4f}  {entry['feature']}" for entry in features)]
    lines += ["", "strongest transitions"] if description["strongest_transitions"] else []
    lines += [
        f"    {entry['weight']:+8.4f}  {entry['from']} -> {entry['to']}"
        for entry in description["strongest_transitions"]
    ]
    if description["strongest_edge_features"]:
        lines += ["", "strongest edge features"]
    lines += [
        f"    {entry['weight']:+8.4f}  {entry['from']} -> {entry['to']}  {entry['feature']}"
        for entry in description["strongest_edge_features"]
    ]
    return "\n".join(lines)
