"""sapo inspect: show what is in a model."""

import json
from pathlib import Path
from typing import Any

import click


@click.command("inspect")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--top", default=5, show_default=True, help="How many of the strongest features to show for each label.")
@click.option("--label", metavar="NAME", help="Show the features of this label only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def inspect_command(model: Path, top: int, label: str | None, as_json: bool) -> None:
    """Look into a model.

    Shows labels, templates, sizes, how it was trained, its strongest features and transitions.
    """
    from sapo.tagger.file import load_model
    from sapo.tagger.inspect import describe

    found = describe(load_model(model), top=top, label=label)
    found = {"file": str(model), "megabytes": round(model.stat().st_size / 1e6, 2), **found}
    click.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else describe_text(found))


def _knowledge_lines(knowledge: dict[str, int]) -> list[str]:
    """Return what the model knows of words besides its weights.

    >>> _knowledge_lines({"cluster": 27933, "city": 200})
    ['knows     cluster (27,933), city (200)']
    """
    known = ", ".join(f"{name} ({count:,})" for name, count in knowledge.items())
    return [f"knows     {known}"] if known else []


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
        *_knowledge_lines(description["knowledge"]),
        *_constraint_lines(description),
    ]
    if description["temperature"] != 1.0 or "calibration" in record:
        lines.append(f"calibrated  temperature {description['temperature']:.4g}")
    lines += _training_lines(record, len(description["learned_as"] or description["labels"])) if record else []
    if description["template"]:
        lines += ["", "template", *("  " + line for line in description["template"].strip().splitlines())]
    if description["strongest_features"]:
        lines += ["", "strongest features"]
    for label, features in description["strongest_features"].items():
        lines += [f"  {label}", *(_weight_line(entry, entry["feature"]) for entry in features)]
    for what in ("transitions", "edge features"):
        if entries := description[f"strongest_{what.replace(' ', '_')}"]:
            lines += ["", f"strongest {what}"]
        for entry in entries:
            feature = f"  {entry['feature']}" if "feature" in entry else ""
            lines.append(_weight_line(entry, f"{entry['from']} -> {entry['to']}{feature}"))
    return "\n".join(lines)


def _weight_line(entry: dict[str, Any], name: str) -> str:
    return f"    {entry['weight']:+8.4f}  {name}"


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
    """Return how many labels were considered in an epoch, as a line; None if it was all of them.

    >>> looked_text({"looked": 4.1, "lost": 0.0005}, 453)
    'considered 4.1 of 453 labels per token; the correct one was not among them for 0.05 % of the tokens'
    >>> looked_text({"looked": 16.0, "lost": 0.0}, 321)
    'considered 16 of 321 labels per token; the correct one was always among them'
    """
    if "looked" not in kept or "lost" not in kept:
        return None
    considered = f"{kept['looked']:.1f}".removesuffix(".0")
    share = f"{max(100 * kept['lost'], 0.01):.2f}"  # what is not 0 is not shown as 0
    among = f"was not among them for {share} % of the tokens" if kept["lost"] else "was always among them"
    return f"considered {considered} of {labels:,} labels per token; the correct one {among}"


def _training_lines(record: dict[str, Any], labels: int) -> list[str]:
    """Return how the model was trained; `labels` is the number of labels that it learned."""
    from sapo.evaluate.scores import text_table

    history = record["history"]
    settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items() if value is not None)
    notes = [
        settings,
        f"{record['passes']} epochs, kept epoch {record['kept_pass']}; stopped: {record['stopped']}",
    ]
    if record["settings"].get("n") == "auto":
        notes.append(f"n by epoch: {', '.join(str(entry['n']) for entry in history if 'n' in entry)}")
    kept = (looked_text(entry, labels) for entry in history if entry["epoch"] == record["kept_pass"])
    notes += [line for line in kept if line is not None]
    rows = [["epoch", "objective", f"{'dev ' + record['score_name']:>12}", "w-complexity"]]
    for entry in history:
        dev = "" if entry["dev"] is None else f"{100 * entry['dev']:.2f}"
        rows.append([str(entry["epoch"]), f"{entry['objective']:.4f}", dev, f"{entry['w_complexity']:.6f}"])
    return [
        f"trained   {record['learner']} on {record['sentences']:,} sentences, {record['tokens']:,} tokens",
        *(f"          {note}" for note in notes),
        *(_continued(entry, record["settings"]) for entry in record.get("continued", [])),
        "",
        *text_table(rows, left=(3,)),
    ]


def _continued(entry: dict[str, Any], trained: dict[str, Any]) -> str:
    """Return a line about later training, with the settings that were different then."""
    other = (f"{key} {value}" for key, value in entry["settings"].items() if trained.get(key) != value)
    return (
        f"continued {entry['sentences']:,} sentences in {entry['updates']:,} updates, {entry['passes']:,} epochs "
        f"({', '.join(other) or 'settings as before'}); stopped: {entry['stopped']}"
    )
