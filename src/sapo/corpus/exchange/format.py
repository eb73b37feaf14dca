"""What all tools for annotation have in common: blocks of whole documents in, documents with other spans out."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.corpus.char_spans import CharSpan
from sapo.corpus.exchange.documents import Cut, Document, cut_document
from sapo.corpus.exchange.notices import Notices
from sapo.corpus.files import show_path
from sapo.corpus.jsonl import joined
from sapo.corpus.predictions import TaggedSpan, Taggings
from sapo.errors import SapoError
from sapo.kernels.types import Doubles, Ints, Longs
from sapo.tags import Span, looks_like_spans
from sapo.text import Splitter

SENTENCES = 500  # in a block, if no document has more


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file of a tool."""

    path: str | Path
    labelled: bool
    label: str | None
    notices: Notices


@dataclass(frozen=True, slots=True)
class Found:
    """The spans to write into a document, and by whom: people, or a model that may know their probabilities."""

    spans: Sequence[CharSpan]
    tokens: Sequence[tuple[int, int]]  # of the document
    starts: Sequence[int]  # of its sentences
    gold: bool = False
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class DocumentOrigin:
    """The origin of a block of documents."""

    tool: str
    cuts: tuple[Cut, ...]

    def first_lines(self) -> Longs:
        return np.array([cut.document.line for cut in self.cuts for _ in cut.sentences], np.int64)

    def line_of(self, token: int, sentence: int) -> int:
        return int(self.first_lines()[sentence])

    def check_labels(self, labels: Sequence[str]) -> None:
        check_span_labels(labels, self.tool)

    def texts(self) -> Sequence[str | None]:
        return [sentence.text for cut in self.cuts for sentence in cut.sentences]

    def other_lines(self) -> int:
        return 0

    def other_keys(self, label: str) -> Sequence[str]:
        return list(dict.fromkeys(key for cut in self.cuts for key in cut.document.other_keys))


class DocumentFormat:
    """The format of a tool: the functions that modules such as `corpus/jsonl.py` have."""

    def __init__(
        self,
        tool: str,
        read: Callable[[Reading], Iterator[Document]],
        write: Callable[[Document, Found], str],
    ) -> None:
        self.tool, self._read, self._write = tool, read, write

    def read_blocks(
        self,
        path: str | Path,
        *,
        label: str | None = None,
        columns: Sequence[str] | None = None,
        labelled: bool = True,
        splitter: Splitter | None = None,
    ) -> Iterator[Block]:
        """Read a file in blocks of whole documents, and warn of what had to be changed or left out.

        `splitter` cuts text that the tool has not cut itself.
        """
        name = show_path(path)
        if columns is not None:
            raise SapoError(f"{name}: files of {self.tool} have no columns; leave their names out")
        notices = Notices(name)
        splitter = splitter or Splitter()
        cuts: list[Cut] = []
        count = 0
        for document in self._read(Reading(path, labelled, label, notices)):
            cuts.append(cut_document(document, labelled, notices, splitter))
            count += len(cuts[-1].sentences)
            if count >= SENTENCES:
                yield self._block(cuts, name, labelled)
                cuts, count = [], 0
        if cuts:
            yield self._block(cuts, name, labelled)
        notices.close()

    def _block(self, cuts: Sequence[Cut], name: str, labelled: bool) -> Block:
        origin = DocumentOrigin(self.tool, tuple(cuts))
        plain = [Sentence(sentence.columns, sentence.tags) for cut in cuts for sentence in cut.sentences]
        return block_from_sentences(plain, name, origin, columns=("word",), labelled=labelled)

    def sentences(self, block: Block) -> Iterator[Sentence]:
        """Yield the sentences with their text and the places of their tokens in it."""
        for cut in block.origin_as(DocumentOrigin).cuts:
            yield from cut.sentences

    def tagged(self, block: Block, tags: Ints, labels: Sequence[str]) -> bytes:
        """Return the documents with the spans of these tags, as suggestions of a model."""
        names = [labels[tag] for tag in tags.tolist()]
        lines = []
        for cut, sentences in _by_document(block):
            found = cut.spans([names[first:last] for first, last in sentences])
            lines.append(self._write(cut.document, Found(found, cut.tokens(), cut.begins)))
        return "".join(lines).encode()

    def with_spans(
        self, block: Block, tags: Ints, spans: Sequence[Sequence[TaggedSpan]], labels: Sequence[str]
    ) -> bytes:
        """Return the documents with these spans and their probabilities."""
        lines = []
        following = iter(spans)
        for cut in block.origin_as(DocumentOrigin).cuts:
            of_document = list(enumerate(itertools.islice(following, len(cut.sentences))))
            found = [
                cut.char_span(number, Span(span.start, span.end, span.type))
                for number, listed in of_document
                for span in listed
            ]
            shares = [span.probability for _, listed in of_document for span in listed]
            lines.append(self._write(cut.document, Found(found, cut.tokens(), cut.begins, probabilities=shares)))
        return "".join(lines).encode()

    def nbest(self, block: Block, taggings: Iterable[Taggings], labels: Sequence[str]) -> Iterator[bytes]:
        raise SapoError(f"{self.tool} shows one tagging of a text; use --spans, or convert the file to JSONL")

    def with_marginals(self, block: Block, tags: Ints, marginal: Doubles, labels: Sequence[str]) -> bytes:
        raise SapoError(f"{self.tool} has no room for probabilities of tokens; use --spans, or convert it to JSONL")

    def retagged(self, block: Block, sentences: Sequence[Sentence], **_: Any) -> bytes:
        """Return the documents of a block, which may come from another tool, with the tags of these sentences."""
        lines = []
        following = iter(sentences)
        for cut in block.origin_as(DocumentOrigin).cuts:
            tags = [sentence.tags for sentence in itertools.islice(following, len(cut.sentences))]
            for of_sentence in tags:
                check_span_labels(of_sentence or (), self.tool)
            found = cut.spans([of_sentence or () for of_sentence in tags])
            document = cut.document
            if block.origin_as(DocumentOrigin).tool != self.tool:
                document = Document(document.place, document.line, document.text, tokens=document.tokens)
            lines.append(self._write(document, Found(found, cut.tokens(), cut.begins, gold=True)))
        return "".join(lines).encode()

    def write_sentence(self, sentence: Sentence, **_: Any) -> str:
        """Return a sentence as a document of its own."""
        check_span_labels(sentence.tags or (), self.tool)
        text, offsets = sentence.text, sentence.offsets
        if text is None or offsets is None:
            text, offsets = joined(sentence.words)
        cut = Cut(Document("", 0, text), (Sentence(sentence.columns, text=text, offsets=offsets),), (0,))
        return self._write(cut.document, Found(cut.spans([sentence.tags or ()]), cut.tokens(), cut.begins, gold=True))


def check_span_labels(labels: Sequence[str], tool: str) -> None:
    """Raise SapoError if a label is not that of a span, such as O or B-PER."""
    if labels and not looks_like_spans(sorted(set(labels) | {"B-X"})):
        strange = next(label for label in labels if not looks_like_spans([label, "B-X"]))
        raise SapoError(f"{tool} holds spans; {strange!r} is not a label of a span, such as B-PER; write JSONL")


def _by_document(block: Block) -> Iterator[tuple[Cut, list[tuple[int, int]]]]:
    """Yield each document with the first and last token of its sentences in the block."""
    borders = itertools.pairwise(block.offsets.tolist())
    for cut in block.origin_as(DocumentOrigin).cuts:
        yield cut, list(itertools.islice(borders, len(cut.sentences)))
