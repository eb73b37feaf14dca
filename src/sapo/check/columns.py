"""Findings about columns: one that never changes, and one that gives the label away."""

from collections.abc import Iterator, Sequence

from sapo.check.finding import ERROR, NOTE, WARNING, Finding
from sapo.check.sheet import Sheet
from sapo.corpus import LABEL

FEWEST = 100  # tokens: with less, a column easily looks like the label
EQUAL = 0.999  # of the tokens


def check_columns(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the columns of a file. In CoNLL-U they have their fixed meanings."""
    if sheet.format == "conllu" or sheet.tokens < FEWEST:
        return
    for number, (name, values) in enumerate(sheet.columns.items()):
        shown = f"column {number} ({name})" if sheet.format == "columns" else f"'{name}'"
        if len(set(values)) == 1:
            text = f"{shown} is '{values[0]}' for every token"
            severity = WARNING if name == LABEL else NOTE
            yield Finding("constant-column", severity, sheet.name, text, "it carries no information")
        elif name != LABEL and len(sheet.counts) > 1:
            yield from _leak(sheet, shown, values, name == "word")


def _leak(sheet: Sheet, shown: str, values: Sequence[str], is_word: bool) -> Iterator[Finding]:
    labels = sheet.labels
    way_out = "remove it unless new text has it, too"
    if sum(map(str.__eq__, values, labels)) >= EQUAL * sheet.tokens:
        text = f"{shown} equals the label, so a model would only learn to copy it"
        yield Finding("leak", ERROR, sheet.name, text, way_out)
        return
    kinds = len(set(values))
    if is_word or kinds * 20 > sheet.tokens:  # many values: each occurs with few labels by chance
        return
    if len(set(zip(values, labels, strict=True))) == kinds:
        text = f"each value of {shown} has always the same label, so a model would only learn to copy it"
        yield Finding("leak", WARNING, sheet.name, text, way_out)
