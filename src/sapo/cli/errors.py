"""sapo errors: show what a model gets wrong, as text or on a page."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from sapo.cli.options import (
    announce_compiling,
    counted,
    encoding_option,
    format_option,
    label_option,
    model_first,
    refuse_same_file,
)

if TYPE_CHECKING:
    from sapo.tagger.errors import Doubt, ErrorReport, Mistake

AROUND = 4  # words of context on either side
MOST_CONFUSED = 25  # labels in the confusion matrix; more would not be readable


@click.command("errors")
@click.argument("model")
@click.argument("input")
@click.option("--top", default=10, show_default=True, type=click.IntRange(1), help="How many of each kind to show.")
@format_option
@encoding_option
@label_option
@click.option("--html", metavar="PAGE", help="Write a page, too, with ten times as many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs, with all mistakes.")
def errors_command(
    model: str,
    input: str,
    top: int,
    format: str | None,
    encoding: str | None,
    label: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Show what a model gets wrong.

    sapo errors chunk.sapo test.txt

    Tags INPUT, a labeled file, and shows wrong spans (or tokens) in context, grouped by kind, which labels are
    confused, likely mistakes of the gold tags, and what the model is least sure of.
    """
    from sapo.cli.pages import write_page
    from sapo.corpus.files import check_writable
    from sapo.tagger.errors import find_errors
    from sapo.tagger.tagger import Tagger

    model, input = model_first(model, input)
    refuse_same_file({"the model": model, "the input": input}, {"--html": html})
    if html is not None:
        check_writable(html)
    announce_compiling()
    report = find_errors(Tagger.load(model), input, format=format, encoding=encoding, label=label)
    if html is not None:
        write_page(html, errors_page(report, 10 * top))
    if html != "-":
        shown = json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if as_json else errors_text(report, top)
        click.echo(shown)


def errors_text(report: "ErrorReport", top: int) -> str:
    """Return a report as text, with at most `top` lines in each part."""
    from sapo.evaluate.scores import text_table
    from sapo.tagger.errors import KINDS

    lines = [_headline(report)]
    for kind, mistakes in _by_kind(report):
        lines += ["", f"{kind}: {KINDS[kind]} ({len(mistakes):,})", *_cut(map(_mistake_line, mistakes), top)]
    if report.confusion:
        pairs = [(gold, found, f"{count:,}") for (gold, found), count in report.confusion.most_common()]
        lines += ["", "taken for another type or label: gold, found, how often ('-': no span)"]
        lines += _cut(("  " + line for line in text_table(pairs, left=(0, 1, 2))), top)
    if report.suspects:
        lines += ["", f"the gold tags may be wrong: the model is sure of something else ({len(report.suspects):,})"]
        lines += _cut(map(_mistake_line, report.suspects), top)
    doubts = (_line(one.line, one.words, one.token, one.token + 1, _labels(one)) for one in report.least_sure[:top])
    return "\n".join([*lines, "", "the least sure, one token of a sentence", *doubts])


def _headline(report: "ErrorReport") -> str:
    """Return how good the model is, and how many mistakes there are."""
    name, value = report.scores.main
    what = "wrong token" if name == "accuracy" else "wrong span"
    return (
        f"{report.file}: {counted(report.scores.sentences, 'sentence')}, {counted(report.scores.tokens, 'token')}, "
        f"{name} {100 * value:.2f}, {counted(len(report.mistakes), what)}"
    )


def _by_kind(report: "ErrorReport") -> "Iterator[tuple[str, list[Mistake]]]":
    """Yield each kind of mistake with its mistakes, those with the most frequent pair of types first."""
    from sapo.tagger.errors import KINDS

    def pair(mistake: "Mistake") -> tuple[str, str]:
        return mistake.gold_type, mistake.found_type

    for kind in KINDS:
        mistakes = [mistake for mistake in report.mistakes if mistake.kind == kind]
        sizes = Counter(map(pair, mistakes))
        if mistakes:
            yield kind, sorted(mistakes, key=lambda mistake: (-sizes[pair(mistake)], pair(mistake)))


def context(words: Sequence[str], start: int, end: int) -> tuple[str, str, str]:
    """Return the words before, in and after a mistake.

    >>> context(["He", "saw", "Ann", "."], 2, 3)
    ('He saw', 'Ann', '.')
    """
    before, after = words[max(0, start - AROUND) : start], words[end : end + AROUND]
    return (
        " ".join(["…"] * (start > AROUND) + list(before)),
        " ".join(words[start:end]),
        " ".join(list(after) + ["…"] * (end + AROUND < len(words))),
    )


def both_types(mistake: "Mistake") -> str:
    """Return the gold and the found type of a mistake, with the probabilities that the model gives.

    >>> from sapo.tagger.errors import Mistake
    >>> from sapo.tags.spans import Span
    >>> both_types(Mistake("missed", "a.txt", 3, ("in", "Oslo"), Span(1, 2, "LOC"), None, 0.25))
    'gold LOC (0.25), found nothing'
    """
    parts = []
    for what, span, chance in (
        ("gold", mistake.gold, mistake.gold_probability),
        ("found", mistake.found, mistake.found_probability),
    ):
        exactly = ""
        if span and (span.start, span.end) != (mistake.start, mistake.end):
            exactly = f" '{' '.join(mistake.words[span.start : span.end])}'"
        parts.append(f"{what} {span.type}{exactly} ({chance:.2f})" if span else f"{what} nothing")
    return ", ".join(parts)


def _labels(doubt: "Doubt") -> str:
    """Return the two most probable labels of a token, and the gold label if it is not the first of them."""
    wrong = "" if doubt.found == doubt.gold else f", gold {doubt.gold}"
    return f"{doubt.found} ({doubt.probability:.2f}) or {doubt.rival} ({doubt.rival_probability:.2f}){wrong}"


def _mistake_line(mistake: "Mistake") -> str:
    return _line(mistake.line, mistake.words, mistake.start, mistake.end, both_types(mistake))


def _line(number: int, words: Sequence[str], start: int, end: int, what: str) -> str:
    before, middle, after = context(words, start, end)
    return f"  {number:>6}  {f'{before} [{middle}] {after}'.strip()}  {what}"


def _cut(lines: Iterator[str], top: int) -> list[str]:
    listed = list(lines)
    more = len(listed) - top
    return [*listed[:top], *([f"  … and {more:,} more"] if more > 0 else [])]


def errors_page(report: "ErrorReport", top: int) -> str:
    """Return a report as an HTML page, with at most `top` rows in each table."""
    from sapo.cli.pages import bars, element, whole_page
    from sapo.tagger.errors import KINDS

    kinds = [(f"{kind}: {KINDS[kind]}", count, f"{count:,}") for kind, count in report.by_kind.most_common()]
    parts = [element("h1", f"Errors in {report.file}"), element("p", f"{_headline(report)}."), bars(kinds)]
    if report.confusion:
        explained = "<p>Rows are gold, columns what the model finds; '-' means no span.</p>"
        parts += ["<h2>Confusion</h2>", explained, _matrix(report.confusion)]
    if report.suspects:
        parts += ["<h2>The gold tags may be wrong</h2>", "<p>The model is sure of something else.</p>"]
        parts.append(_mistakes_table(report.suspects, top))
    for kind, mistakes in _by_kind(report):
        parts += [element("h2", kind.capitalize()), element("p", f"{KINDS[kind].capitalize()}.")]
        parts.append(_mistakes_table(mistakes, top))
    doubts = [(one.line, one.words, one.token, one.token + 1, _labels(one)) for one in report.least_sure[:top]]
    parts += ["<h2>The least sure</h2>", "<p>One token of each sentence.</p>", _sentences_table("labels", doubts)]
    return whole_page(f"sapo errors: {report.file}", "\n".join(parts))


def _matrix(confusion: Counter[tuple[str, str]]) -> str:
    from sapo.cli.pages import element, table

    totals = Counter[str]()
    for pair, count in confusion.items():
        for label in pair:
            totals[label] += count
    labels = sorted(label for label, _ in totals.most_common(MOST_CONFUSED))
    rows = [
        [gold, *(f"{confusion[gold, found]:,}" if (gold, found) in confusion else "" for found in labels)]
        for gold in labels
    ]
    left = element("p", f"Only the {MOST_CONFUSED} most confused labels.", "soft") if len(totals) > len(labels) else ""
    return table(["", *labels], rows, numbers=range(1, len(labels) + 1)) + left


def _mistakes_table(mistakes: "Sequence[Mistake]", top: int) -> str:
    from sapo.cli.pages import element

    rows = [(one.line, one.words, one.start, one.end, both_types(one)) for one in mistakes[:top]]
    left = element("p", f"And {len(mistakes) - top:,} more.", "soft") if len(mistakes) > top else ""
    return _sentences_table("tags", rows) + left


def _sentences_table(what: str, rows: Sequence[tuple[int, Sequence[str], int, int, str]]) -> str:
    """Return a table of line numbers, marked sentences, and what is said about them."""
    from html import escape

    from sapo.cli.pages import Html, table

    cells = []
    for line, words, start, end, note in rows:
        before, middle, after = map(escape, context(words, start, end))
        cells.append((str(line), Html(f"{before} <mark>{middle}</mark> {after}"), note))
    return table(("line", "sentence", f"{what} and their probabilities"), cells, numbers=(0,), wrapped=(1, 2))
