"""Spans of characters and tokens in, tokens that fit the spans out: no span cuts a token, and no two overlap."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sapo.corpus.char_spans import CharSpan
from sapo.corpus.exchange.notices import Notices
from sapo.errors import SapoError

AROUND = 20  # characters of the text that a message shows beside a span


def fit_spans(
    text: str, tokens: Sequence[tuple[int, int]], spans: Sequence[CharSpan], place: str, notices: Notices
) -> tuple[list[tuple[int, int]], list[CharSpan]]:
    """Return the tokens, split where a span cuts one, and the spans that are kept, in the order of the text.

    Blanks at both ends of a span do not count. Of spans that overlap, the longest is kept.

    >>> fit_spans("preTokyo", [(0, 8)], [CharSpan(3, 8, "LOC"), CharSpan(3, 5, "X")], "a:1", _Silent("a"))
    ([(0, 3), (3, 8)], [CharSpan(start=3, end=8, type='LOC')])
    """
    kept = _without_overlap(_trimmed(text, spans, place, notices), text, place, notices)
    borders = sorted({border for span in kept for border in (span.start, span.end)})
    split: list[tuple[int, int]] = []
    for start, end in tokens:
        inside = borders[bisect_right(borders, start) : bisect_left(borders, end)]
        split += list(zip([start, *inside], [*inside, end], strict=True))
    if len(split) > len(tokens):
        _tell_cuts(text, tokens, kept, place, notices)
    starts, ends = {start for start, _ in split}, {end for _, end in split}
    fitting = []
    for span in kept:
        if span.start in starts and span.end in ends:
            fitting.append(span)
        else:
            notices.tell(f"{place}: span {_show(text, span)} begins or ends outside the tokens of the file; left out")
    return split, fitting


def _trimmed(text: str, spans: Sequence[CharSpan], place: str, notices: Notices) -> list[CharSpan]:
    found = []
    for span in spans:
        if not 0 <= span.start <= span.end <= len(text):
            raise SapoError(
                f"{place}: span {span.start}:{span.end} {span.type!r} is not in the text, which has {len(text)} "
                "characters; correct it"
            )
        piece = text[span.start : span.end]
        start = span.start + len(piece) - len(piece.lstrip())
        end = span.end - (len(piece) - len(piece.rstrip()))
        if start >= end:
            notices.tell(f"{place}: span {_show(text, span)} holds no character; left out")
        else:
            found.append(CharSpan(start, end, span.type))
    return list(dict.fromkeys(found))


def _without_overlap(spans: list[CharSpan], text: str, place: str, notices: Notices) -> list[CharSpan]:
    kept: list[CharSpan] = []  # in the order of the text
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        at = bisect_left(kept, span.start, key=lambda other: other.start)
        others = [other for other in kept[max(at - 1, 0) : at + 1] if other.start < span.end and span.start < other.end]
        if others:
            notices.tell(
                f"{place}: span {_show(text, span)} overlaps {_show(text, others[0])}, which is kept; left out"
            )
        else:
            kept.insert(at, span)
    return kept


def _tell_cuts(
    text: str, tokens: Sequence[tuple[int, int]], spans: Sequence[CharSpan], place: str, notices: Notices
) -> None:
    starts = [start for start, _ in tokens]
    for span in spans:
        for border in (span.start, span.end):
            at = bisect_left(starts, border) - 1
            if at >= 0 and starts[at] < border < tokens[at][1]:
                start, end = tokens[at]
                notices.tell(
                    f"{place}: span {_show(text, span)} cuts the token {text[start:end]!r} at {start}:{end} "
                    f"in {_context(text, span)!r}; the token is split"
                )
                break


def _show(text: str, span: CharSpan) -> str:
    return f"{span.start}:{span.end} {span.type!r} ({text[span.start : span.end]!r:.40})"


def _context(text: str, span: CharSpan) -> str:
    begin, end = max(0, span.start - AROUND), span.end + AROUND
    return f"{'…' * (begin > 0)}{text[begin:end]}{'…' * (end < len(text))}"


class _Silent(Notices):
    def tell(self, message: str) -> None:
        """Say nothing."""
