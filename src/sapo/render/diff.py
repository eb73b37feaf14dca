"""Render the changes between two models (`sapo.model.diff.changes`) as text."""

from typing import Any


def changes_text(found: dict[str, Any]) -> str:
    """Return the changes as text. `found` also needs the names of the model files (`old_file` and `file`)."""
    old, new = found["sizes"]["old"], found["sizes"]["new"]
    lines = [f"from {found['old_file']} to {found['file']}", "", f"{'':18}{'old':>14}{'new':>14}{'change':>14}"]
    for name, before in old.items():
        if before or new[name]:
            change = new[name] - before
            shown_change = f"{change:+,}" if isinstance(change, int) else f"{change:+.6f}"
            lines.append(f"{name.replace('_', ' '):18}{before:>14,}{new[name]:>14,}{shown_change:>14}")
    labels, features = found["labels"], found["features"]
    lines += [f"labels {what}: {' '.join(labels[what])}" for what in ("added", "removed") if labels[what]]
    lines += ["", f"features: {features['common']:,} in both" + _counts(features)]
    edge_features = found["edge_features"]
    if any(edge_features.values()):
        lines.append(
            f"edge features: {edge_features['common']:,} in both, {edge_features['added']:,} added, "
            f"{edge_features['removed']:,} removed"
        )
    if found["settings"]:
        lines += ["", "settings that differ"]
        lines += [f"  {name}: {entry['old']} -> {entry['new']}" for name, entry in found["settings"].items()]
    for what in ("added", "removed"):
        lines += _section(f"template lines {what}", [f"  {line}" for line in found["template"][what]])
    for what in ("added", "removed"):
        strongest = [
            f"  {entry['weight']:+9.4f}  {entry['label']}  {entry['feature']}" for entry in features[what]["strongest"]
        ]
        lines += _section(f"strongest features {what}", strongest)
    weights = []
    for label, entries in found["weights"].items():
        if entries:
            weights += [f"  {label}", *(f"  {_arrow(entry)}  {entry['feature']}" for entry in entries)]
    lines += _section("weights that changed most, of features in both (change: old -> new)", weights)
    lines += _section("transitions that changed most", [f"{_arrow(e)}  {_pair(e)}" for e in found["transitions"]])
    edge_weights = [f"{_arrow(entry)}  {_pair(entry)}  {entry['feature']}" for entry in found["edge_weights"]]
    lines += _section("edge features that changed most", edge_weights)
    if not (found["settings"] or weights or found["transitions"] or edge_weights) and not _any_came_or_went(found):
        lines += ["", "nothing changed"]
    return "\n".join(lines)


def _any_came_or_went(found: dict[str, Any]) -> bool:
    counts = [found["features"][what]["count"] + found["edge_features"][what] for what in ("added", "removed")]
    return any(counts) or any(found["labels"][what] for what in ("added", "removed"))


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _counts(features: dict[str, Any]) -> str:
    return f", {features['added']['count']:,} added, {features['removed']['count']:,} removed"


def _arrow(entry: dict[str, Any]) -> str:
    return f"  {entry['change']:+9.4f}: {entry['old']:+9.4f} -> {entry['new']:+9.4f}"


def _pair(entry: dict[str, Any]) -> str:
    return f"{entry['from']} -> {entry['to']}"
