"""A document in (a text with spans of characters, perhaps with tokens), its sentences with tags out, and back."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sapo.corpus.blocks import Sentence
from sapo.corpus.char_spans import CharSpan
from sapo.corpus.exchange.fitting import fit_spans
from sapo.corpus.exchange.notices import Notices
from sapo.corpus.tokens import check_labels
from sapo.tags import Span, loose_spans, spans_to_tags
from sapo.text import Splitter

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


def cut_document(document: Document, labelled: bool, notices: Notices, splitter: Splitter) -> Cut:
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
    if labelled:
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
        sentences.append(_sentence(text, group, inside if labelled else None))
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
