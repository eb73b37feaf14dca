"""Findings about sentences: a file without empty lines, sentences out of all proportion, the same sentence twice."""

from collections.abc import Iterator
from statistics import median

from sapo.check.finding import ERROR, NOTE, WARNING, Finding, at_lines
from sapo.check.sheet import Sheet

GIANT = 300  # tokens: no usual sentence is as long
PROPORTION = 15  # times the median: out of all proportion
WHOLE = 5  # tokens: shorter sentences occur twice by chance


def no_ends(tokens: int, sentences: int) -> str | None:
    """Return what is wrong if sentences hardly ever end.

    >>> no_ends(57811, 1), no_ends(57811, 2000)
    ('one sentence of 57,811 tokens', None)
    """
    if tokens <= GIANT * sentences:
        return None
    return f"one sentence of {tokens:,} tokens" if sentences == 1 else f"sentences have {tokens // sentences:,} tokens"


NO_ENDS_WAY_OUT = "put an empty line after each sentence"


def check_sentences(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the sentences of a file."""
    if not sheet.sentences:
        if not sheet.faults:
            yield Finding("empty", ERROR, sheet.name, "has no sentences")
        return
    if text := no_ends(sheet.tokens, sheet.sentences):
        yield Finding("no-empty-lines", ERROR, sheet.name, text, NO_ENDS_WAY_OUT, (sheet.lines[0],))
        return
    usual = median(sheet.lengths)
    most = max(GIANT, PROPORTION * usual)
    giants = [begin for begin, end in sheet.bounds() if end - begin > most]
    if giants:
        text = f"a very long sentence (the longest has {max(sheet.lengths):,} tokens, the median is {usual:g})"
        lines = [sheet.lines[begin] for begin in giants]
        yield at_lines("long-sentence", WARNING, sheet.name, text, "is an empty line missing?", lines)
    if usual == 1 and sheet.sentences > 20:
        text = "most sentences have one token"
        yield Finding("short-sentences", WARNING, sheet.name, text, "put empty lines only between sentences")
    yield from _repeated(sheet)


def _repeated(sheet: Sheet) -> Iterator[Finding]:
    words, seen, lines = sheet.words, set[tuple[str, ...]](), []
    if not words:
        return
    for begin, end in sheet.bounds():
        sentence = tuple(words[begin:end])
        if end - begin >= WHOLE and sentence in seen:
            lines.append(sheet.lines[begin])
        seen.add(sentence)
    if lines:
        share = 100 * len(lines) / sheet.sentences
        text = f"{len(lines):,} sentences ({share:.1f} %) occur before in the same file"
        if len(lines) == 1:
            text = "this sentence occurs before in the same file"
        yield Finding("repeated", NOTE, sheet.name, text, lines=(lines[0],))
