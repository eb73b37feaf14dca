"""The mistakes of a model as text: by kind, in context, with the confusion matrix and what to look at first."""

from collections.abc import Iterator, Sequence

from sapo.render.findings import counted
from sapo.review import ErrorReport, Mistake
from sapo.review.errors import Doubt
from sapo.review.mistakes import KINDS

AROUND = 4  # words of context on either side


def errors_text(report: ErrorReport, top: int) -> str:
    """Return a report as text, with at most `top` lines in each part."""
    lines = [headline(report)]
    for kind, mistakes in grouped(report):
        lines += ["", f"{kind}: {KINDS[kind]} ({len(mistakes):,})"]
        lines += _cut([_mistake(mistake) for mistake in mistakes], top)
    if report.confusion:
        lines += ["", "taken for another type or label: gold, found, how often ('-': no span)"]
        widths = [max(len(pair[side]) for pair in report.confusion) for side in (0, 1)]
        table = [
            f"  {gold:{widths[0]}}  {found:{widths[1]}}  {count:,}"
            for (gold, found), count in report.confusion.most_common()
        ]
        lines += _cut(table, top)
    if report.suspects:
        lines += ["", f"the gold tags may be wrong: the model is sure of something else ({len(report.suspects):,})"]
        lines += _cut([_mistake(mistake) for mistake in report.suspects], top)
    lines += ["", "the least sure, one token of a sentence"]
    return "\n".join([*lines, *(_doubt(doubt) for doubt in report.least_sure[:top])])


def headline(report: ErrorReport) -> str:
    """Return how good the model is, and how many mistakes there are."""
    name, value = report.scores.main
    what = "wrong token" if name == "accuracy" else "wrong span"
    return (
        f"{report.file}: {counted(report.scores.sentences, 'sentence')}, {counted(report.scores.tokens, 'token')}, "
        f"{name} {100 * value:.2f}, {counted(len(report.mistakes), what)}"
    )


def grouped(report: ErrorReport) -> Iterator[tuple[str, list[Mistake]]]:
    """Yield each kind of mistake with its mistakes, sorted by their pairs of labels, the most frequent pair first."""
    for kind in KINDS:
        mistakes = [mistake for mistake in report.mistakes if mistake.kind == kind]
        sizes = dict[tuple[str, str], int]()
        for mistake in mistakes:
            sizes[types_of(mistake)] = sizes.get(types_of(mistake), 0) + 1
        if mistakes:
            yield kind, sorted(mistakes, key=lambda mistake: (-sizes[types_of(mistake)], types_of(mistake)))


def types_of(mistake: Mistake) -> tuple[str, str]:
    """Return the gold and the found type of a mistake."""
    return mistake.gold_type, mistake.found_type


def context(words: Sequence[str], start: int, end: int) -> tuple[str, str, str]:
    """Return the words before, in and behind a mistake.

    >>> context(["He", "saw", "Ann", "."], 2, 3)
    ('He saw', 'Ann', '.')
    """
    before, after = words[max(0, start - AROUND) : start], words[end : end + AROUND]
    return (
        " ".join(["…"] * (start > AROUND) + list(before)),
        " ".join(words[start:end]),
        " ".join(list(after) + ["…"] * (end + AROUND < len(words))),
    )


def said(mistake: Mistake) -> str:
    """Return what gold says and what the model says, with the probabilities that the model gives.

    >>> from sapo.tags import Span
    >>> said(Mistake("missed", "a.txt", 3, ("in", "Oslo"), Span(1, 2, "LOC"), None, 0.25))
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


def _mistake(mistake: Mistake) -> str:
    before, middle, after = context(mistake.words, mistake.start, mistake.end)
    sentence = f"{before} [{middle}] {after}".strip()
    return f"  {mistake.line:>6}  {sentence}  {said(mistake)}"


def _doubt(doubt: Doubt) -> str:
    before, middle, after = context(doubt.words, doubt.token, doubt.token + 1)
    sentence = f"{before} [{middle}] {after}".strip()
    wrong = "" if doubt.found == doubt.gold else f", gold {doubt.gold}"
    chances = f"{doubt.found} ({doubt.probability:.2f}) or {doubt.rival} ({doubt.rival_probability:.2f})"
    return f"  {doubt.line:>6}  {sentence}  {chances}{wrong}"


def _cut(lines: Sequence[str], top: int) -> list[str]:
    more = len(lines) - top
    return [*lines[:top], *([f"  … and {more:,} more"] if more > 0 else [])]
