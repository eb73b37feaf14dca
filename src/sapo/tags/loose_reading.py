"""Tags of one sentence in, valid or not, the spans that conlleval reads in them out.

No scheme is needed: some letters begin a span in every scheme that has them, some end one, and a change of type does
both. `span_arrays` reads the tags of a whole corpus in the same way.
"""

from collections.abc import Sequence
from functools import lru_cache

from sapo.tags.letters import ALWAYS_BEGIN, ALWAYS_END
from sapo.tags.spans import Span


def loose_spans(tags: Sequence[str]) -> list[Span]:
    """Return the spans of tags that may break every scheme, such as those that a model predicts.

    >>> loose_spans(["O", "I-NP", "I-NP", "I-VP", "S-NP", "E-NP"])
    [Span(start=1, end=3, type='NP'), Span(start=3, end=4, type='VP'), Span(start=4, end=5, type='NP'), \
Span(start=5, end=6, type='NP')]
    """
    return [Span(start, end, kind) for start, end, kind in span_borders(tags)]


def span_borders(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the start, the end and the type of each span of `loose_spans`."""
    found: list[tuple[int, int, str]] = []
    before, start, kind = "O", 0, ""  # an empty kind: no span is open
    for position, tag in enumerate(tags):
        if not joined(before, tag):
            if kind:
                found.append((start, position, kind))
            start, kind = position, type_of(tag)
        before = tag
    if kind:
        found.append((start, len(tags), kind))
    return found


@lru_cache(maxsize=1 << 14)
def joined(before: str, tag: str) -> bool:
    """Tell whether a tag continues the span of the tag before it. Without a letter, as in '-NP', it never does.

    >>> joined("B-NP", "I-NP"), joined("I-NP", "B-NP"), joined("E-NP", "I-NP"), joined("I-NP", "I-VP")
    (True, False, False, False)
    """
    letter_before, _, kind_before = before.partition("-")
    letter, _, kind = tag.partition("-")
    if not (letter_before and letter and kind):
        return False
    return kind == kind_before and letter_before not in ALWAYS_END and letter not in ALWAYS_BEGIN


@lru_cache(maxsize=1 << 14)
def type_of(tag: str) -> str:
    """Return the type of the span that a tag belongs to, and an empty string for O.

    >>> type_of("B-cell-type"), type_of("O")
    ('cell-type', '')
    """
    return tag.partition("-")[2]
