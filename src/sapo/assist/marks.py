"""Tagged sentences in, marks on the characters of a document out, and back.

A mark is a span with a label. A model that marks spans has a mark for each span; one that gives each token a label, as
for parts of speech, has a mark for each token.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sapo.corpus.blocks import Sentence
from sapo.corpus.char_spans import CharSpan
from sapo.corpus.exchange.documents import Document, cut_document
from sapo.corpus.exchange.notices import Notices
from sapo.errors import SapoError
from sapo.model import Model
from sapo.tagger.text import TaggedText
from sapo.tags import looks_like_spans
from sapo.teach.task import OUTSIDE, for_model, scheme_of
from sapo.text import Splitter

Pair = tuple[list[str], list[str]]  # words and tags


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters of a document, from start up to, but not including, end, and their label."""

    start: int
    end: int
    label: str
    probability: float


def marks_of(tagged: TaggedText, *, spans: bool) -> list[Mark]:
    """Return the marks of a document that was tagged with probabilities."""
    if spans:
        return [Mark(one.start, one.end, one.type, one.probability or 0.0) for one in tagged.spans]
    return [Mark(one.start, one.end, one.tag, one.probability or 0.0) for one in tagged.tokens if one.tag != OUTSIDE]


def pairs_of(document: Document, model: Model, splitter: Splitter) -> tuple[list[Pair], list[str]]:
    """Return the sentences of an annotated document as the model learns them, and what was changed or left out.

    Raises SapoError if the annotations do not fit the text or the model.
    """
    notices = Told(document.place)
    cut = cut_document(document, True, notices, splitter)
    if looks_like_spans(model.outer_labels):
        scheme = scheme_of(model.outer_labels)
        pairs = [(list(one.words), for_model(one.tags or (), scheme)) for one in cut.sentences]
    else:
        pairs = list(_labelled_tokens(cut.sentences, document.place))
    return pairs, notices.told


def _labelled_tokens(sentences: Sequence[Sentence], place: str) -> Iterator[Pair]:
    """Yield sentences of which every token has a label; a sentence where some have none is not finished."""
    for sentence in sentences:
        words, tags = list(sentence.words), list(sentence.tags or ())
        if any(tag.startswith("I-") for tag in tags):
            raise SapoError(f"{place}: this model gives each token a label; mark single tokens, not spans of several")
        if OUTSIDE not in tags:
            yield words, [tag.removeprefix("B-") for tag in tags]


class Told(Notices):
    """Keeps what a reader says about a document, for the log."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.told: list[str] = []

    def tell(self, message: str) -> None:
        """Keep a message."""
        self.told.append(message)


def document_of(
    place: str,
    text: str,
    marks: Sequence[tuple[int, int, str]] = (),
    tokens: Sequence[tuple[int, int]] | None = None,
    starts: Sequence[int] | None = None,
) -> Document:
    """Return a document with marks, which are (start, end, label); with tokens and starts of sentences if known."""
    return Document(place, 0, text, tuple(CharSpan(*mark) for mark in marks), tokens, starts)
