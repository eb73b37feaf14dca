"""The findings about files as an HTML page: findings, balance of labels, lengths, labels that look alike."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from sapo.check import Report
from sapo.check.summary import Summary
from sapo.render.findings import counted, verdict
from sapo.render.page import bars, table, whole_page

CLASSES = {"error": "disagrees", "warning": "in-part", "note": ""}
MOST = 60  # labels in a list


def check_page(report: Report) -> str:
    """Return a report as an HTML page."""
    names = ", ".join(file.name for file in report.files)
    parts = [f"<h1>{escape(names)}</h1>", f"<p>{escape(verdict(report))}.</p>"]
    for finding in report.findings:
        parts.append(
            f'<div class="finding {CLASSES[finding.severity]}">'
            f'<p class="verdict"><strong>{escape(finding.place)}</strong> '
            f"<span>{escape(finding.severity)}: {escape(finding.kind)}</span></p><p>{escape(finding.message)}</p></div>"
        )
    for file in report.files:
        parts += _file(file)
    return whole_page(f"sapo check: {names}", "\n".join(parts))


def _file(file: Summary) -> Sequence[str]:
    scheme = f" in {file.scheme.upper()}" if file.scheme else ""
    sizes = (
        f"{counted(file.sentences, 'sentence')}, {counted(file.tokens, 'token')}, "
        f"{counted(len(file.labels), 'label')}{scheme}; columns: {', '.join(file.columns)}."
    )
    parts = [f"<h2>{escape(file.name)}</h2>", f"<p>{escape(sizes)}</p>", "<h3>Labels</h3>"]
    shown = list(file.labels.items())[:MOST]
    rows = [(label, count, f"{count:,} ({100 * count / file.tokens:.2f} %)") for label, count in shown]
    parts.append(bars(rows))
    if len(file.labels) > MOST:
        parts.append(f'<p class="soft">And {counted(len(file.labels) - MOST, "rarer label")}.</p>')
    if file.similar:
        parts.append("<h3>Labels that look alike</h3>")
        titles = ("label", "tokens", "looks like", "tokens")
        cells = [
            (label, f"{file.labels.get(label, 0):,}", meant, f"{file.labels.get(meant, 0):,}")
            for label, meant in file.similar
        ]
        parts.append(table(titles, cells))
    parts.append("<h3>Lengths of sentences</h3>")
    edges = [least for least, _ in file.lengths]
    names = [f"{a} to {b - 1}" for a, b in pairwise(edges)] + [f"{edges[-1]} or more"]
    filled = [(name, count, f"{count:,}") for name, (_, count) in zip(names, file.lengths, strict=True) if count]
    parts.append(bars(filled))
    parts.append(
        f'<p class="soft">Tokens a sentence: from {file.shortest:,} to {file.longest:,}, median {file.median:g}, '
        f"mean {file.mean:.1f}.</p>"
    )
    return parts
