"""Findings about words: blanks, invisible characters, characters lost in a conversion, empty words."""

from collections.abc import Iterator

from sapo.check.finding import NOTE, WARNING, Finding, at_lines
from sapo.check.sheet import Sheet
from sapo.check.spelling import BLANK, INVISIBLE

LOST = "\ufffd"


def check_tokens(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the words of a file."""
    words = sheet.words
    column = next((name for name, values in sheet.columns.items() if values is words), None)
    if column is None:
        return
    distinct = set(words)  # far fewer than tokens
    lost = {word for word in distinct if LOST in word}
    if any(fault.kind == "not-utf8" for fault in sheet.faults):  # such bytes are read as LOST, and told already
        lost = set()
    # multiword tokens with blanks are part of CoNLL-U
    of_blanks = NOTE if sheet.format == "conllu" else WARNING
    kinds = (
        ("invisible", WARNING, {word for word in distinct if INVISIBLE.search(word)}, "has an invisible character"),
        ("blank", of_blanks, {word for word in distinct if BLANK.search(word)}, "has a blank in it"),
        (
            "lost-character",
            WARNING,
            lost,
            "has the character for unreadable text",
        ),
        ("empty-word", WARNING, distinct & {""}, "is empty"),
    )
    for kind, severity, found, what in kinds:
        if found:
            first = next(word for word in words if word in found)
            text = f"token {first!a} {what}"[:120]
            yield at_lines(kind, severity, sheet.name, text, "", sheet.value_lines(column, found))
