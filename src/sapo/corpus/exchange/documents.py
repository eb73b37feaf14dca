"""Turn a document (a text with spans of characters, perhaps with tokens) into tagged sentences."""

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sapo.corpus.annotations import CharSpan
from sapo.corpus.blocks import Sentence, check_labels
from sapo.errors import DataError, DataWarning
from sapo.tags.spans import Span, loose_spans, spans_to_tags
from sapo.text.splitter import Splitter

SHOWN = 5


class Notices:
    """Warnings about one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._count = 0
        self._left_out: dict[str, int] = {}

    def tell(self, message: str) -> None:
        """Warn of a change; `message` begins with its place."""
        self._count += 1
        if self._count <= SHOWN:
            warnings.warn(message, DataWarning, stacklevel=2)

    def leave_out(self, what: str) -> None:
        """Count something that is left out; `close` says how many there are."""
        self._left_out[what] = self._left_out.get(what, 0) + 1

    def close(self) -> None:
        """Warn of all that was not told one by one."""
        if self._count > SHOWN:
            warnings.warn(f"{self.name}: {self._count - SHOWN:,} more spans like these", DataWarning, stacklevel=2)
        for what, count in self._left_out.items():
            warnings.warn(f"{self.name}: left out {count:,} {what}", DataWarning, stacklevel=2)
        self._count, self._left_out = 0, {}


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
            raise DataError(
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


Offsets = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with annotations, as a tool keeps it."""

    place: str  # for messages: 'export.jsonl:3'
    line: int  # in its file
    text: str
    spans: tuple[CharSpan, ...] = ()
    tokens: Offsets | None = None  # start and end of each, if the tool has cut the text
    starts: Sequence[int] | None = None  # where sentences begin in the text, if the tool knows
    source: Any = None  # all that the tool had, to write it back
    other_keys: tuple[str, ...] = ()  # what another format would lose


@dataclass(frozen=True, slots=True)
class Cut:
    """A document and its sentences, whose texts and offsets begin at `begins` in the text of the document."""

    document: Document
    sentences: tuple[Sentence, ...]
    begins: tuple[int, ...]

    def spans(self, tags: Sequence[Sequence[str]]) -> list[CharSpan]:
        """Return the spans of characters that these tags of the sentences mark."""
        return [
            self.char_span(number, span) for number, of_sentence in enumerate(tags) for span in loose_spans(of_sentence)
        ]

    def char_span(self, sentence: int, span: Span) -> CharSpan:
        """Return a span of tokens of a sentence as characters of the document."""
        offsets, begin = self.sentences[sentence].offsets or (), self.begins[sentence]
        return CharSpan(begin + offsets[span.start][0], begin + offsets[span.end - 1][1], span.type)

    def tokens(self) -> list[tuple[int, int]]:
        """Return the offsets of all tokens in the text of the document."""
        return [
            (begin + start, begin + end)
            for begin, sentence in zip(self.begins, self.sentences, strict=True)
            for start, end in sentence.offsets or ()
        ]


def cut_document(document: Document, labeled: bool, notices: Notices, splitter: Splitter) -> Cut:
    """Cut a document into sentences and tokens; no sentence ends inside a span.

    `splitter` cuts what the tool has not cut itself.

    A span that cuts a token splits it, and of spans that overlap the longest is kept; `notices` says so.

    >>> document = Document("a.jsonl:1", 1, "Anna sings. She smiles.", (CharSpan(0, 4, "PER"),))
    >>> made = cut_document(document, True, Notices("a.jsonl"), Splitter())
    >>> [(one.words, one.tags) for one in made.sentences]
    [(('Anna', 'sings', '.'), ('B-PER', 'O', 'O')), (('She', 'smiles', '.'), ('O', 'O', 'O'))]
    """
    text = document.text
    tokens, starts = document.tokens, document.starts
    if tokens is None or starts is None:
        cut = splitter(text)
        if tokens is None:
            tokens = [token for sentence in cut for token in sentence]
        if starts is None:
            starts = [sentence[0][0] for sentence in cut]
    spans: list[CharSpan] = []
    if labeled:
        check_labels([span.type for span in document.spans], document.place)
        tokens, spans = fit_spans(text, tokens, document.spans, document.place, notices)
        starts = _outside(starts, spans)
    groups: dict[int, list[tuple[int, int]]] = {}
    for token in tokens:
        groups.setdefault(bisect_right(starts, token[0]), []).append(token)
    sentences, begins = [], []
    firsts = [span.start for span in spans]
    for group in groups.values():
        begin, end = group[0][0], group[-1][1]
        inside = spans[bisect_left(firsts, begin) : bisect_left(firsts, end)]
        sentences.append(_sentence(text, group, inside if labeled else None))
        begins.append(begin)
    return Cut(document, tuple(sentences), tuple(begins))


def _outside(starts: Sequence[int], spans: Sequence[CharSpan]) -> list[int]:
    """Return where sentences begin, without beginnings inside a span; spans are in order and do not overlap."""
    firsts = [span.start for span in spans]
    kept = []
    for start in starts:
        before = bisect_right(firsts, start - 1) - 1  # the last span that begins before it
        if before < 0 or spans[before].end <= start:
            kept.append(start)
    return kept


def _sentence(text: str, tokens: Offsets, spans: Sequence[CharSpan] | None) -> Sentence:
    begin, end = tokens[0][0], tokens[-1][1]
    tags = None
    if spans is not None:
        first = {start: number for number, (start, _) in enumerate(tokens)}
        last = {stop: number + 1 for number, (_, stop) in enumerate(tokens)}
        inner = [Span(first[span.start], last[span.end], span.type) for span in spans]
        tags = tuple(spans_to_tags(inner, len(tokens), "iob2"))
    return Sentence(
        {"word": tuple(text[start:stop] for start, stop in tokens)},
        tags,
        text=text[begin:end],
        offsets=tuple((start - begin, stop - begin) for start, stop in tokens),
    )
