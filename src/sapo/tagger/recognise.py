"""Recognise running text in a file that is about to be read as columns, before words are taken for columns."""

import re

from sapo.corpus import LABEL, Block
from sapo.corpus.origins import ScannedOrigin
from sapo.errors import SapoError
from sapo.model import Model
from sapo.text.rules import CHARACTERS

LINES = 200  # to look at
_ENDS_SENTENCE = re.compile(r"\w[.!?\u2026][\"')\]\u201d\u00bb]*")
WAY_OUT = "use --format text, or --format columns if it is a column file"


def refuse_text(block: Block, model: Model) -> None:
    """Raise SapoError if the first block of a column file is running text. Files with TABs are not looked at."""
    if not isinstance(block.origin, ScannedOrigin) or block.origin.scanned.layout.tabs or not len(block.starts):
        return
    if len(block.columns) == 1:
        is_text = _uncut(block, model)
    else:
        is_text = _words_of_text(block) or (not _known_labels(block, model) and _mostly_lower_case(block))
    if is_text:
        raise SapoError(f"{block.place_of(0)}: this looks like running text, not like columns; {WAY_OUT}")


def _first(block: Block, column: str) -> list[str]:
    return block.strings(column, LINES)


def _words_of_text(block: Block) -> bool:
    """Whether most lines end as sentences do, with a mark at the last word."""
    last = _first(block, block.columns[-1])
    return 2 * sum(_ENDS_SENTENCE.search(word) is not None for word in last) > len(last)


def _uncut(block: Block, model: Model) -> bool:
    """Whether words of several characters go to a model of characters."""
    words = _first(block, block.columns[0])
    return model.text_rules.unit == CHARACTERS and 2 * sum(len(word) > 1 for word in words) > len(words)


def _known_labels(block: Block, model: Model) -> bool:
    """Whether the file has labels of the model, or lacks nothing but them and so may have words in lower case."""
    labels = set(model.outer_labels)
    if len(block.columns) + 1 == len(model.reader.get("columns") or ()):
        return True
    columns = [LABEL] if LABEL in block.columns else list(block.columns[1:])
    return any(not labels.isdisjoint(_first(block, column)) for column in columns)


def _mostly_lower_case(block: Block) -> bool:
    """Whether most fields behind the first are words in lower case, as they are in text; tags are not."""
    fields = [field for column in block.columns[1:] for field in _first(block, column)]
    return 2 * sum(field[:1].islower() for field in fields) > len(fields)
