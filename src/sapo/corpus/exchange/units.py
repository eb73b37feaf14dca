"""Offsets as browsers count them: a character beyond the basic plane, such as an emoji, counts twice (UTF-16)."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from sapo.corpus.char_spans import CharSpan
from sapo.text import Splitter


def has_wide(text: str) -> bool:
    """Return whether a text has characters that browsers count twice."""
    return not text.isascii() and max(text) > "\uffff"


def from_browser(text: str, spans: Sequence[CharSpan]) -> list[CharSpan]:
    """Return spans that a browser has counted as Python counts them.

    >>> from_browser("😀 Oslo", [CharSpan(3, 7, "LOC")])
    [CharSpan(start=2, end=6, type='LOC')]
    """
    # the second halves of wide characters, as a browser counts
    halves = [at + number + 1 for number, at in enumerate(_wide_places(text))]
    return [_moved(span, lambda at: at - bisect_right(halves, at)) for span in spans]


def to_browser(text: str, spans: Sequence[CharSpan]) -> list[CharSpan]:
    """Return spans of Python as a browser counts them.

    >>> to_browser("😀 Oslo", [CharSpan(2, 6, "LOC")])
    [CharSpan(start=3, end=7, type='LOC')]
    """
    wide = _wide_places(text)
    return [_moved(span, lambda at: at + bisect_left(wide, at)) for span in spans]


def _wide_places(text: str) -> list[int]:
    return [at for at, letter in enumerate(text) if letter > "\uffff"]


def _moved(span: CharSpan, move: Callable[[int], int]) -> CharSpan:
    return CharSpan(move(span.start), move(span.end), span.type)


def counted_by_browser(text: str, spans: Sequence[CharSpan]) -> bool:
    """Return whether spans fit the tokens of a text better if a browser has counted them."""
    if not spans or not has_wide(text):
        return False
    tokens = Splitter().tokens(text)
    borders = {start for start, _ in tokens}, {end for _, end in tokens}

    def fitting(listed: Sequence[CharSpan]) -> int:
        return sum((span.start in borders[0]) + (span.end in borders[1]) for span in listed)

    return fitting(from_browser(text, spans)) > fitting(spans)
