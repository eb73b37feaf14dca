"""A block and labels in; an error where a label cannot be written into the file that the block came from."""

import re
from collections.abc import Sequence

from sapo.corpus.blocks import Block
from sapo.corpus.scanner import Scanned
from sapo.errors import SapoError

ELSEWHERE = "; write JSONL, which holds every tag"


def check_labels(block: Block, labels: Sequence[str]) -> None:
    """Once, before anything is written: the labels of a model may come from another format."""
    scanned: Scanned | None = block.extra.get("scanned")
    if scanned is None:  # JSON can hold everything
        return
    feature = block.extra.get("label") if scanned.layout.conllu else None
    for label in labels:
        check_tag(label, tabs=scanned.layout.tabs)
        if isinstance(feature, str) and re.search(r"[|=]", label):
            raise SapoError(f"the tag {label!r} cannot stand in FEATS, where | and = separate; use another column")


def check_tag(tag: str, *, tabs: bool) -> None:
    """Whether a tag can be a field, of columns that single TABs or runs of blanks separate.

    >>> check_tag("proper noun", tabs=True)
    """
    if not tag:
        raise SapoError("an empty tag cannot stand in this file" + ELSEWHERE)
    if re.search(r"[\t\r\n]", tag) or (not tabs and re.search(r"\s", tag, re.ASCII)):
        raise SapoError(
            f"the tag {tag!r} holds a blank and cannot stand in this file"
            + (ELSEWHERE if tabs or re.search(r"[\t\r\n]", tag) else "; separate its columns by TABs")
        )
    if re.search("[\ud800-\udfff]", tag):
        raise SapoError(f"the tag {tag!r} holds half of a surrogate pair, which is no text" + ELSEWHERE)
