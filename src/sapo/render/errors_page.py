"""The mistakes of a model as an HTML page, without scripts or external files."""

from collections.abc import Sequence
from html import escape

from sapo.render.errors import context, grouped, headline, said
from sapo.render.page import bars, table, whole_page
from sapo.review import ErrorReport, Mistake
from sapo.review.errors import Doubt
from sapo.review.mistakes import KINDS

MOST_LABELS = 25  # in the confusion matrix; with more it cannot be read


def errors_page(report: ErrorReport, top: int) -> str:
    """Return a report as an HTML page, with at most `top` rows in each table."""
    parts = [f"<h1>Errors in {escape(report.file)}</h1>", f"<p>{escape(headline(report))}.</p>"]
    parts.append(
        bars([(f"{kind}: {KINDS[kind]}", count, f"{count:,}") for kind, count in report.by_kind.most_common()])
    )
    if report.confusion:
        parts += ["<h2>Confusion</h2>", "<p>Rows are gold, columns what the model finds; '-' means no span.</p>"]
        parts.append(_matrix(report))
    if report.suspects:
        parts += ["<h2>The gold tags may be wrong</h2>", "<p>The model is sure of something else.</p>"]
        parts.append(_mistakes(report.suspects, top))
    for kind, mistakes in grouped(report):
        parts += [f"<h2>{escape(kind.capitalize())}</h2>", f"<p>{escape(KINDS[kind].capitalize())}.</p>"]
        parts.append(_mistakes(mistakes, top))
    parts += ["<h2>The least sure</h2>", "<p>One token of each sentence.</p>", _doubts(report.least_sure[:top])]
    return whole_page(f"sapo errors: {report.file}", "\n".join(parts))


def _matrix(report: ErrorReport) -> str:
    totals = dict[str, int]()
    for (gold, found), count in report.confusion.items():
        for label in (gold, found):
            totals[label] = totals.get(label, 0) + count
    labels = sorted(sorted(totals, key=lambda label: -totals[label])[:MOST_LABELS])
    rows = []
    for gold in labels:
        counts = [report.confusion.get((gold, found), 0) for found in labels]
        rows.append([gold, *(f"{count:,}" if count else "" for count in counts)])
    left = f'<p class="soft">Only the {MOST_LABELS} most confused labels.</p>' if len(totals) > MOST_LABELS else ""
    return table(["", *labels], rows, numbers=range(1, len(labels) + 1)) + left


def _mistakes(mistakes: Sequence[Mistake], top: int) -> str:
    rows = [(str(one.line), _marked(one.words, one.start, one.end), escape(said(one))) for one in mistakes[:top]]
    left = f'<p class="soft">And {len(mistakes) - top:,} more.</p>' if len(mistakes) > top else ""
    return _rows(("line", "sentence", "tags and their probabilities"), rows) + left


def _doubts(doubts: Sequence[Doubt]) -> str:
    rows = []
    for one in doubts:
        gold = "" if one.gold == one.found else f", gold {one.gold}"
        chances = f"{one.found} ({one.probability:.2f}) or {one.rival} ({one.rival_probability:.2f}){gold}"
        rows.append((str(one.line), _marked(one.words, one.token, one.token + 1), escape(chances)))
    return _rows(("line", "sentence", "labels and their probabilities"), rows)


def _marked(words: Sequence[str], start: int, end: int) -> str:
    before, middle, after = map(escape, context(words, start, end))
    return f"{before} <mark>{middle}</mark> {after}"


def _rows(titles: Sequence[str], rows: Sequence[tuple[str, str, str]]) -> str:
    """Return a table of cells that are HTML already."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    lines = [
        f'<tr><td class="number">{line}</td><td class="wrapped">{sentence}</td><td class="wrapped">{tags}</td></tr>'
        for line, sentence, tags in rows
    ]
    return f'<div class="table"><table><tr>{head}</tr>\n' + "\n".join(lines) + "</table></div>"
