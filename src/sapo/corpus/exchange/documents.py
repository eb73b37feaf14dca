"""Turn a document (a text with spans of characters, perhaps with tokens) into tagged sentences.

Every format that has texts with spans goes through here: JSONL, CSV, tables, annotation tools. A span may begin or end
inside a token: the token is split there, and training learns to split text in the same way.
"""

import json
import re
import warnings
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sapo.corpus.annotations import CharSpan
from sapo.corpus.blocks import Sentence, check_labels
from sapo.errors import DataError, DataWarning, check_limit
from sapo.tags.spans import Span, loose_spans, spans_to_tags
from sapo.text.splitter import Splitter

SHOWN = 5
LONGEST_WORD = 100  # characters before and after a token that can belong to it


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
        """Warn about everything that had no warning of its own."""
        if self._count > SHOWN:
            warnings.warn(f"{self.name}: {self._count - SHOWN:,} more spans like these", DataWarning, stacklevel=2)
        for what, count in self._left_out.items():
            warnings.warn(f"{self.name}: left out {count:,} {what}", DataWarning, stacklevel=2)
        self._count, self._left_out = 0, {}


@dataclass(frozen=True, slots=True)
class SplitToken:
    """A token that was split because a span begins or ends inside it."""

    message: str  # without what was done about it
    chunk: str  # the text without blanks around it
    border: int  # where the chunk is to be split


def fit_spans(
    text: str, tokens: Sequence[tuple[int, int]], spans: Sequence[CharSpan], place: str, notices: Notices
) -> tuple[list[tuple[int, int]], list[CharSpan], list[SplitToken]]:
    """Return the tokens, split where a span cuts one, the spans that are kept in the order of the text, and the cuts.

    Blanks at both ends of a span do not count. Of spans that overlap, the longest is kept.

    >>> found = fit_spans("preTokyo", [(0, 8)], [CharSpan(3, 8, "LOC"), CharSpan(3, 5, "X")], "a:1", _Silent("a"))
    >>> found[:2]
    ([(0, 3), (3, 8)], [CharSpan(start=3, end=8, type='LOC')])
    >>> found[2][0].message
    "a:1: span 3:8 'Tokyo' begins inside the token 'preTokyo' (0:8)"
    """
    kept = _without_overlap(_trimmed(text, spans, place, notices), text, place, notices)
    borders = sorted({border for span in kept for border in (span.start, span.end)})
    split: list[tuple[int, int]] = []
    for start, end in tokens:
        inside = borders[bisect_right(borders, start) : bisect_left(borders, end)]
        split += list(zip([start, *inside], [*inside, end], strict=True))
    cuts = list(_cuts(text, tokens, kept, place)) if len(split) > len(tokens) else []
    starts, ends = {start for start, _ in split}, {end for _, end in split}
    fitting = []
    for span in kept:
        if span.start in starts and span.end in ends:
            fitting.append(span)
        else:
            notices.tell(f"{place}: span {_show(text, span)} begins or ends outside the tokens of the file; left out")
    return split, fitting, cuts


def _trimmed(text: str, spans: Sequence[CharSpan], place: str, notices: Notices) -> list[CharSpan]:
    found = []
    words: tuple[array[int], array[int]] | None = None  # where they start and end
    for span in spans:
        start, end = span.start, span.end
        if start < end and (text[start].isspace() or text[end - 1].isspace()):
            # spans may be as many as characters, and as long as the text: looking into each would never end
            words = words or _words(text)
            first, after = bisect_right(words[1], start), bisect_left(words[0], end)
            if first < after:
                start, end = max(start, words[0][first]), min(end, words[1][after - 1])
            else:
                end = start
        if start >= end:
            notices.tell(f"{place}: span {_show(text, span)} is empty; left out")
        else:
            found.append(CharSpan(start, end, span.type))
    return list(dict.fromkeys(found))


def _words(text: str) -> tuple["array[int]", "array[int]"]:
    """Return where runs of characters that are not blank start and end."""
    found = [array("q"), array("q")]
    for match in re.finditer(r"\S+", text):
        found[0].append(match.start())
        found[1].append(match.end())
    return found[0], found[1]


def check_spans(text: str, spans: Sequence[CharSpan], place: str) -> None:
    """Raise SapoError unless all spans lie in the text, and their types can be labels."""
    check_labels([span.type for span in spans], place)
    for span in spans:
        if not 0 <= span.start <= span.end <= len(text):
            raise DataError(
                f"{place}: span {span.start}:{span.end} {span.type!r} is not in the text, which has {len(text)} "
                "characters; correct it"
            )


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


def _cuts(text: str, tokens: Sequence[tuple[int, int]], spans: Sequence[CharSpan], place: str) -> Iterator[SplitToken]:
    starts = [start for start, _ in tokens]
    for span in spans:
        for border, verb in ((span.start, "begins"), (span.end, "ends")):
            at = bisect_left(starts, border) - 1
            if at >= 0 and starts[at] < border < tokens[at][1]:
                start, end = tokens[at]
                marked = f"span {span.start}:{span.end} {_begin(text, span)!r:.40}"
                first, last = start, end
                while first > max(0, start - LONGEST_WORD) and not text[first - 1].isspace():
                    first -= 1
                while last < min(len(text), end + LONGEST_WORD) and not text[last].isspace():
                    last += 1
                yield SplitToken(
                    f"{place}: {marked} {verb} inside the token {text[start:end]!r:.40} ({start}:{end})",
                    text[first:last],
                    border - first,
                )


def _show(text: str, span: CharSpan) -> str:
    return f"{span.start}:{span.end} {span.type!r} ({_begin(text, span)!r:.40})"


def _begin(text: str, span: CharSpan) -> str:
    """Return the first characters of a span, for messages: as many spans as there are could be as long as the text."""
    return text[span.start : min(span.end, span.start + 40)]


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
    id: str | None = None  # the name that the file gives it


@dataclass(frozen=True, slots=True)
class Cut:
    """A document and its sentences, whose texts and offsets begin at `begins` in the text of the document."""

    document: Document
    sentences: tuple[Sentence, ...]
    begins: tuple[int, ...]
    splits: tuple[SplitToken, ...] = ()

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

    A span that cuts a token splits it; `Cut.splits` lists them. Of spans that overlap the longest is kept; `notices`
    says so.

    >>> document = Document("a.jsonl:1", 1, "Anna sings. She smiles.", (CharSpan(0, 4, "PER"),))
    >>> made = cut_document(document, True, Notices("a.jsonl"), Splitter())
    >>> [(one.words, one.tags) for one in made.sentences]
    [(('Anna', 'sings', '.'), ('B-PER', 'O', 'O')), (('She', 'smiles', '.'), ('O', 'O', 'O'))]
    """
    text = document.text
    if labeled:
        check_spans(text, document.spans, document.place)
    tokens, starts = document.tokens, document.starts
    if tokens is None or starts is None:
        sentences_of = getattr(splitter, "sentences", splitter)  # a function of the user returns all of them
        cut = list(_limited(sentences_of(text), document.place))
        if tokens is None:
            tokens = [token for sentence in cut for token in sentence]
        if starts is None:
            starts = [sentence[0][0] for sentence in cut]
    spans: list[CharSpan] = []
    splits: list[SplitToken] = []
    if labeled:
        tokens, spans, splits = fit_spans(text, tokens, document.spans, document.place, notices)
        starts = _outside(starts, spans)
    groups: dict[int, list[tuple[int, int]]] = {}
    for token in tokens:
        groups.setdefault(bisect_right(starts, token[0]), []).append(token)
    sentences, begins = [], []
    firsts = [span.start for span in spans]
    for group in groups.values():
        begin, end = group[0][0], group[-1][1]
        inside = spans[bisect_left(firsts, begin) : bisect_left(firsts, end)]
        sentences.append(_sentence(document, group, inside if labeled else None))
        begins.append(begin)
    return Cut(document, tuple(sentences), tuple(begins), tuple(splits))


def _limited(sentences: Iterable[Offsets], place: str) -> Iterator[Offsets]:
    """Yield sentences. Raise SapoError if they have more tokens than the limit: there are as many as characters."""
    count = 0
    for sentence in sentences:
        count += len(sentence)
        check_limit("tokens", count, place, "tokens in a document")
        yield sentence


def _outside(starts: Sequence[int], spans: Sequence[CharSpan]) -> list[int]:
    """Return where sentences begin, without beginnings inside a span; spans are in order and do not overlap."""
    firsts = [span.start for span in spans]
    kept = []
    for start in starts:
        before = bisect_right(firsts, start - 1) - 1  # the last span that begins before it
        if before < 0 or spans[before].end <= start:
            kept.append(start)
    return kept


def _sentence(document: Document, tokens: Offsets, spans: Sequence[CharSpan] | None) -> Sentence:
    text = document.text
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
        document=document.id,
    )


ID_KEYS = ("document", "document_id", "doc", "doc_id", "id", "uid", "text_id")  # of the name of a document
FORM = 'start, end and label: [{"start": 0, "end": 4, "label": "PER"}], [[0, 4, "PER"]] or 0:4:PER'
_COLONS = re.compile(r"\s*(\d+)\s*[:-]\s*(\d+)\s*:\s*([^;|\n]+?)\s*(?:[;|\n]|$|[,\s]\s*(?=\d+\s*[:-]\s*\d+\s*:))")
_KEYS = (("start", "start_offset", "begin"), ("end", "end_offset", "stop"), ("label", "type", "entity", "tag"))


def id_of(record: Mapping[str, Any]) -> str | None:
    """Return the name of the document that a record has, if it has one.

    >>> id_of({"text": "...", "id": 7}), id_of({"text": "..."})
    ('7', None)
    """
    for key in ID_KEYS:
        value = record.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return " ".join(str(value).split())
    return None


def read_spans(value: object, place: str) -> tuple[CharSpan, ...]:
    """Return the spans that a key of JSON or a cell of a table holds; raise SapoError if they have no known form.

    They are lists of objects or of [start, end, label], the same as JSON in a string, or 0:4:PER; 10:14:LOC.

    >>> read_spans("0:4:PER; 10:14:LOC", "a.csv:2")
    (CharSpan(start=0, end=4, type='PER'), CharSpan(start=10, end=14, type='LOC'))
    >>> read_spans('[{"start": 0, "end": 4, "label": "PER"}]', "a.csv:2") == read_spans([[0, 4, "PER"]], "a.csv:2")
    True
    """
    if value is None or value != value or (isinstance(value, str) and not value.strip()):  # NaN is not equal
        return ()
    if isinstance(value, str):
        value = _parsed(value.strip(), place)
    elif hasattr(value, "tolist"):  # an array of a table
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise DataError(f"{place}: spans must be a list, found {value!r:.60}; write {FORM}")
    return tuple(make_span(_parts(span), span, place) for span in value)


def _parsed(text: str, place: str) -> object:
    if text[0] in "[{":
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: the spans are not JSON ({error}), found {text!r:.60}") from None
        return [found] if isinstance(found, dict) else found
    spans, at = [], 0
    while at < len(text):
        match = _COLONS.match(text, at)
        if match is None:
            raise DataError(f"{place}: spans must be {FORM}, separated by ';', found {text[at:]!r:.60}")
        spans.append([int(match[1]), int(match[2]), match[3]])
        at = match.end()
    return spans


def _parts(span: object) -> Sequence[object]:
    if isinstance(span, Mapping):
        return [next((span[key] for key in keys if key in span), None) for keys in _KEYS]
    return list(span) if isinstance(span, list | tuple) else []


def make_span(parts: Sequence[object], shown: object, place: str) -> CharSpan:
    """Return (start, end, label) as a span; numbers may be strings. Raise SapoError, with `shown`, for all else."""
    if len(parts) == 3 and isinstance(parts[2], str) and (label := parts[2].strip()):
        start, end = map(_number, parts[:2])
        if start is not None and end is not None:
            return CharSpan(start, end, label)
    hint = "; use `format='doccano'` for its exports" if "start_offset" in str(shown) else ""
    raise DataError(f'{place}: a span must have "start", "end" and "label", found {shown!r:.80}{hint}')


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}(\.0*)?\s*", value):
        return int(float(value))
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if isinstance(value, int | float) else None
