"""Write results as HTML pages."""

from collections.abc import Collection, Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise

from sapo.check.doctor import Report, Summary
from sapo.cli.tables import (
    both_labels,
    brackets,
    context,
    counted,
    errors_headline,
    explanation_headline,
    grouped,
    nothing_known,
    others,
    said,
    shown_tokens,
    strength,
    sums,
    times,
    verdict,
    weighed_labels,
)
from sapo.tagger.errors import KINDS, Doubt, ErrorReport, Mistake
from sapo.tagger.explain import Explanation


def whole_page(title: str, body: str, more_style: str = "") -> str:
    """Return a page with this title and body, in the style of all pages. The body is HTML already."""
    style = files("sapo.cli").joinpath("page.css").read_text("utf-8") + more_style
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Return a table of texts, which are escaped; the columns `numbers` stand on the right.

    >>> table(["a"], [["<b>"]])
    '<div class="table"><table><tr><th>a</th></tr>\\n<tr><td>&lt;b&gt;</td></tr></table></div>'
    """

    def row(cells: Sequence[str], kind: str) -> str:
        styles = [' class="number"' if place in numbers else "" for place in range(len(cells))]
        made = (f"<{kind}{style}>{escape(cell)}</{kind}>" for cell, style in zip(cells, styles, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    lines = [row(titles, "th"), *(row(cells, "td") for cells in rows)]
    return '<div class="table"><table>' + "\n".join(lines) + "</table></div>"


def bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a list of bars: the name, which is escaped, the length, and what is written at the end."""
    longest = max((length for _, length, _ in rows), default=0) or 1
    lines = [
        f'<li><span class="name">{escape(name)}</span><span class="value">{escape(shown)}</span>'
        f'<span class="track" aria-hidden="true"><span style="width:{100 * length / longest:.2f}%"></span></span></li>'
        for name, length, shown in rows
    ]
    return '<ul class="counts">\n' + "\n".join(lines) + "\n</ul>"


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


MOST_LABELS = 25  # in the confusion matrix; with more it cannot be read


def errors_page(report: ErrorReport, top: int) -> str:
    """Return a report as an HTML page, with at most `top` rows in each table."""
    parts = [f"<h1>Errors in {escape(report.file)}</h1>", f"<p>{escape(errors_headline(report))}.</p>"]
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


PART_NAMES = {"feature": "", "transition": "transition", "edge feature": "edge feature", "bias": "bias"}


def explanation_page(why: Explanation) -> str:
    """Return the explanation as an HTML page."""
    style = files("sapo.cli").joinpath("explanation.css").read_text("utf-8")
    parts = [
        f"<h1>Why {escape(why.tag)}?</h1>",
        f"<p>{escape(explanation_headline(why))}.</p>",
        f'<p class="soft">{escape(strength(why))}.</p>',
        _sentence(why),
        f"<h2>What speaks for {escape(why.tag)}, what for {escape(why.rival)}</h2>",
    ]
    if unknown := nothing_known(why):
        parts.append(f"<p><strong>{escape(unknown)}</strong></p>")
    if note := brackets(why):
        parts.append(f'<p class="soft">{escape(note)}</p>')
    parts += [_legend(why), _bars(why)]
    parts.append(
        '<p class="soft">Each number is a value times the difference of its two weights. Together they are exactly the '
        "difference between the scores of the two taggings; nothing is left out.</p>"
    )
    return whole_page(f"Why {why.tag}? {why.words[why.token]}", "\n".join(parts), style)


def _sentence(why: Explanation) -> str:
    places = shown_tokens(why)
    cells = []
    for place in places:
        tag, rival = why.tags[place], why.rival_tags[place]
        here = ' class="here"' if place == why.token else ""
        other = f'<span class="rival">{escape(rival)}</span>' if rival != tag else ""
        cells.append(
            f'<li{here}><span class="place">{place + 1}</span><b>{escape(why.words[place])}</b>'
            f'<span class="tag">{escape(tag)}</span>{other}</li>'
        )
    start = '<li class="cut">…</li>' if places.start else ""
    end = '<li class="cut">…</li>' if places.stop < len(why.words) else ""
    return f'<ol class="sentence">{start}{"".join(cells)}{end}</ol>'


def _legend(why: Explanation) -> str:
    tag, rival = weighed_labels(why)
    return (
        f'<p class="legend"><span class="against">◀ for {escape(rival)}</span>'
        f'<span class="for">for {escape(tag)} ▶</span></p>'
    )


def _bars(why: Explanation) -> str:
    rows = [
        (
            part.difference,
            PART_NAMES[part.kind],
            part.name + times(part.value),
            f"{part.weight:+.3f} / {part.rival_weight:+.3f}",
        )
        for part in why.contributions
    ]
    if why.others:
        rows.append((why.others_difference, "", others(why.others), ""))
    for one in why.elsewhere:
        rows.append((one.difference, f"token {one.token + 1}", f"{one.word}: {both_labels(one)}", sums(one, 3)))
    longest = max((abs(row[0]) for row in rows), default=0.0) or 1.0
    bars = "\n".join(_bar(*row, longest) for row in rows)
    total = f'<li class="sum"><span class="name">the sum</span><span class="value">{why.difference:+.4f}</span></li>'
    return f'<ul class="bars">\n{bars}\n{total}\n</ul>'


def _bar(difference: float, kind: str, name: str, detail: str, longest: float) -> str:
    side = "for" if difference >= 0 else "against"
    size = 50 * abs(difference) / longest
    kind = f'<span class="kind">{escape(kind)}</span> ' if kind else ""
    detail = f' <span class="detail">{escape(detail)}</span>' if detail else ""
    return (
        f'<li><span class="name">{kind}{escape(name)}{detail}</span><span class="value">{difference:+.4f}</span>'
        f'<span class="track" aria-hidden="true"><span class="{side}" style="width:{size:.2f}%"></span></span></li>'
    )
