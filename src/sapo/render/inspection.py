"""Render the description of a model (`sapo.model.inspect.describe`) as text."""

from typing import Any


def describe_text(description: dict[str, Any]) -> str:
    """Return the description as text.

    `description` also needs the name of the model file (`file`) and its size (`megabytes`).
    """
    record = description["record"]
    lines = [
        f"{description['file']}  {description['megabytes']} MB",
        "",
        f"labels    {len(description['labels'])}: {' '.join(description['labels'])}",
        *(_network_lines(description["network"]) if description["network"] else _linear_lines(description)),
        f"columns   {', '.join(description['columns']) or 'ready-made features'}",
        *_constraint_lines(description),
    ]
    if description["temperature"] != 1.0 or "calibration" in record:
        lines.append(f"calibrated  temperature {description['temperature']:.4g}")
    if record:
        settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items() if value is not None)
        lines += [
            f"trained   {record['learner']} on {record['sentences']:,} sentences, {record['tokens']:,} tokens",
            f"          {settings}",
            f"          {record['passes']} epochs, kept epoch {record['kept_pass']}; stopped: {record['stopped']}",
            *_n_of_each_pass(record),
            *_looked(record, len(description["learned_as"] or description["labels"])),
            *(_continued(entry, record["settings"]) for entry in record.get("continued", [])),
            "",
            f"epoch  objective  {'dev ' + record['score_name']:>12}  w-complexity",
        ]
        for entry in record["history"]:
            dev = f"{100 * entry['dev']:12.2f}" if entry["dev"] is not None else " " * 12
            lines.append(f"{entry['epoch']:5d}  {entry['objective']:9.4f}  {dev}  {entry['w_complexity']:.6f}")
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


def _linear_lines(description: dict[str, Any]) -> list[str]:
    edge_features = f" and {description['edge_features']:,} edge features" if description["edge_features"] else ""
    return [
        f"features  {description['features']:,}" + edge_features,
        f"weights   {description['weights']:,}, of which {description['nonzero_weights']:,} are not 0",
    ]


def _network_lines(network: dict[str, Any]) -> list[str]:
    options = ", ".join(f"{key} {value}" for key, value in network["options"].items() if value is not None)
    return [f"network   {network['words']:,} words; {options}", f"weights   {network['weights']:,}"]


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


def looked_text(kept: dict[str, Any], labels: int) -> str | None:
    """Return how many labels were looked at in a pass, as a line; None if it was all of them.

    >>> looked_text({"looked": 4.1, "lost": 0.0005}, 453)
    'looked at 4.1 of 453 labels a token; 0.05 % of the gold labels would have been left out'
    """
    if "looked" not in kept or "lost" not in kept:
        return None
    left_out = f"{100 * kept['lost']:.2f} % of the gold labels would have been left out"
    return f"looked at {kept['looked']:.1f} of {labels:,} labels a token; {left_out}"


def _looked(record: dict[str, Any], labels: int) -> list[str]:
    lines = (looked_text(entry, labels) for entry in record["history"] if entry["epoch"] == record["kept_pass"])
    return [f"          {line}" for line in lines if line is not None]


def _n_of_each_pass(record: dict[str, Any]) -> list[str]:
    if record["settings"].get("n") != "auto":
        return []
    return [f"          n by epoch: {', '.join(str(entry['n']) for entry in record['history'] if 'n' in entry)}"]


def _continued(entry: dict[str, Any], trained: dict[str, Any]) -> str:
    """Return a line about later training, with the settings that were different then."""
    other = (f"{key} {value}" for key, value in entry["settings"].items() if trained.get(key) != value)
    return (
        f"continued {entry['sentences']:,} sentences in {entry['updates']:,} updates, {entry['passes']:,} epochs "
        f"({', '.join(other) or 'settings as before'}); stopped: {entry['stopped']}"
    )
