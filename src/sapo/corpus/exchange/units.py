"""Offsets as browsers count them: a character beyond the basic plane, such as an emoji, counts twice (UTF-16)."""

from collections.abc import Sequence

from sapo.corpus.char_spans import CharSpan
from sapo.corpus.exchange.cutting import cut_text


def has_wide(text: str) -> bool:
    """Return whether a text has characters that browsers count twice."""
    return not text.isascii() and max(text) > "\uffff"


def from_browser(text: str, span: CharSpan) -> CharSpan:
    """Return a span that a browser has counted as Python counts it.

    >>> from_browser("😀 Oslo", CharSpan(3, 7, "LOC"))
    CharSpan(start=2, end=6, type='LOC')
    """
    units = text.encode("utf-16-le", "surrogatepass")
    start, end = (
        len(units[: 2 * at].decode("utf-16-le", "ignore")) if 0 <= 2 * at <= len(units) else -1
        for at in (span.start, span.end)
    )
    return CharSpan(start, end, span.type)


def to_browser(text: str, span: CharSpan) -> CharSpan:
    """Return a span of Python as a browser counts it.

    >>> to_browser("😀 Oslo", CharSpan(2, 6, "LOC"))
    CharSpan(start=3, end=7, type='LOC')
    """
    start, end = (at + sum(letter > "\uffff" for letter in text[:at]) for at in (span.start, span.end))
    return CharSpan(start, end, span.type)


def counted_by_browser(text: str, spans: Sequence[CharSpan]) -> bool:
    """Return whether spans fit the tokens of a text better if a browser has counted them."""
    if not spans or not has_wide(text):
        return False
    tokens = [token for sentence in cut_text(text) for token in sentence]
    borders = {start for start, _ in tokens}, {end for _, end in tokens}

    def fitting(listed: Sequence[CharSpan]) -> int:
        return sum((span.start in borders[0]) + (span.end in borders[1]) for span in listed)

    return fitting([from_browser(text, span) for span in spans]) > fitting(spans)
