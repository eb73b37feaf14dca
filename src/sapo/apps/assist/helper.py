"""Suggest marks in documents with a model, and learn from those that people make.

A mark is a span with a label. A model that marks spans has a mark for each span; one that gives each token a label, as
for parts of speech, has a mark for each token.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.apps.http import Form, Say
from sapo.apps.limits import TokenCount
from sapo.apps.taggers import OUTSIDE, check_new_labels, doubt, for_model, kind_of, label_names, scheme_of
from sapo.corpus.annotations import CharSpan
from sapo.corpus.blocks import Sentence
from sapo.corpus.exchange.documents import SHOWN, Document, Notices, Offsets, cut_document
from sapo.errors import SapoError
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.tagger.text import TaggedText, check_words_only
from sapo.tags.schemes import looks_like_spans
from sapo.text.splitter import Splitter
from sapo.training.update import Trainer

Pair = tuple[list[str], list[str]]  # words and tags


class Foreign(Form, forbid_unknown_fields=False):  # type: ignore[call-arg]
    """A part of a message of another tool, which may have more fields than we need."""


@dataclass(frozen=True, slots=True)
class Route:
    """How a request with a body is answered, and the status of the answer."""

    form: type[Foreign]
    answer: Callable[[Any], Any]  # takes a request, returns what is sent as JSON, or None for an empty answer
    status: int = 200


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
    notices = KeptNotices(document.place)
    cut = cut_document(document, True, notices, splitter)
    if looks_like_spans(model.outer_labels):
        scheme = scheme_of(model.outer_labels)
        pairs = [(list(one.words), for_model(one.tags or (), scheme)) for one in cut.sentences]
    else:
        pairs = list(_labeled_tokens(cut.sentences, document.place))
    return pairs, notices.kept


def _labeled_tokens(sentences: Sequence[Sentence], place: str) -> Iterator[Pair]:
    """Yield sentences of which every token has a label; a sentence where some have none is not finished."""
    for sentence in sentences:
        words, tags = list(sentence.words), list(sentence.tags or ())
        if any(tag.startswith("I-") for tag in tags):
            raise SapoError(f"{place}: this model gives each token a label; mark single tokens, not spans of several")
        if OUTSIDE not in tags:
            yield words, [tag.removeprefix("B-") for tag in tags]


class KeptNotices(Notices):
    """Keeps what a reader says about a document, for the log."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.kept: list[str] = []

    def tell(self, message: str) -> None:
        """Keep a message; of many the first ones, and how many more there are."""
        self._count += 1
        if self._count <= SHOWN:
            self.kept.append(message)
        else:
            self.kept[SHOWN:] = [f"{self.name}: {self._count - SHOWN:,} more spans like these"]


def document_of(place: str, text: str, marks: Sequence[CharSpan], sentences: Iterable[Offsets]) -> Document:
    """Return a document with marks, cut into sentences. Raise SapoError if the marks are too long to be looked at."""
    size = len(text)
    covered = sum(max(0, min(mark.end, size) - max(mark.start, 0)) for mark in marks)
    if covered > COVERED * size:
        raise SapoError(f"{place}: the marks have {covered:,} characters, the text has {size:,}; remove some of them")
    cut = list(sentences)
    tokens = [token for sentence in cut for token in sentence]
    return Document(place, 0, text, tuple(marks), tokens, [sentence[0][0] for sentence in cut])


COVERED = 100  # marks that may cover each character: to look at one takes time in proportion to its length
SAVE_AFTER = 10.0  # seconds between the first sentence that is learned and the file that has it


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a model says about a document."""

    marks: list[Mark]
    sure: float  # 1 - doubt of its least sure sentence


class Helper:
    """Suggests and learns. Only one thread may use it.

    Without `output` it does not learn. What it has learned is in the file `output` some seconds later, and at the end.
    """

    def __init__(self, tagger: Tagger, name: str, output: Path | None, say: Say) -> None:
        check_words_only(tagger.model)
        self.marks_spans = looks_like_spans(tagger.labels)
        self._tagger, self._name, self._output, self._say = tagger, name, output, say
        self._trainer: Trainer | None = None
        if output is not None:
            if self.marks_spans:
                scheme_of(tagger.labels)
            self._trainer = Trainer(tagger)
            self._tagger = self._trainer.tagger
        self._known: dict[bytes, bytes] = {}  # what was learned: the tags of each sentence, both as digests
        self._learned = 0
        self._unsaved: float | None = None  # since when

    @property
    def labels(self) -> tuple[str, ...]:
        """What marks can be called now."""
        labels = self._tagger.labels
        return tuple(label for label in label_names(kind_of(labels), labels) if label != OUTSIDE)

    @property
    def version(self) -> str:
        """A name for the model as it is now: it ends in the number of sentences that it has learned."""
        return f"{self._name}-{int(self._tagger.model.record.get('sentences', self._learned))}"

    def cut(self, text: str) -> Iterator[Offsets]:
        """Yield the tokens of each sentence of a text, cut as the training data was."""
        return self._tagger.splitter.sentences(text)

    def suggest(self, texts: Sequence[str], count: TokenCount) -> list[Suggestion]:
        """Return the marks of texts."""
        cut = lambda text: list(count(self.cut(text)))  # noqa: E731
        return [self._suggestion(one) for one in self._tagger.tag_texts(texts, probabilities=True, cut=cut)]

    def suggest_for_tokens(self, text: str, sentences: Sequence[Offsets]) -> Suggestion:
        """Return the marks of a text of which the tokens are known."""
        cut = [list(offsets) for offsets in sentences]
        return self._suggestion(self._tagger.tag_text(text, probabilities=True, cut=lambda text: cut))

    def learn(self, documents: Sequence[Document], *, marked_only: bool = False) -> int:
        """Learn annotated documents, and return how many of their sentences are new, or have other tags than before.

        With `marked_only`, sentences without any mark are left out: they may not have been annotated yet. Raises
        SapoError if a document cannot be learned: nothing is learned then.
        """
        if self._trainer is None:
            return 0
        check_new_labels(self.labels, {span.type for document in documents for span in document.spans})
        fresh = list(self._fresh(documents, marked_only))
        if not fresh:
            return 0
        self._trainer.update([pair for pair, *_ in fresh], new_labels=True)
        self._known.update((words, tags) for _, words, tags in fresh)
        self._learned += len(fresh)
        if self._unsaved is None:
            self._unsaved = time.monotonic()
        return len(fresh)

    def save(self) -> None:
        """Save what was learned since the last time. If the disk is full, say so, and try again the next time."""
        if self._unsaved is None or self._trainer is None or self._output is None:
            return
        try:
            self._trainer.snapshot().save(self._output)
        except (SapoError, OSError) as error:
            self._say(f"sapo: warning: the model was not saved ({error}); trying again")
            self._unsaved = time.monotonic()
        else:
            self._unsaved = None

    def idle(self) -> float:
        """Save if it is time, and return how many seconds the next look can wait."""
        if self._unsaved is None:
            return SAVE_AFTER
        waiting = self._unsaved + SAVE_AFTER - time.monotonic()
        if waiting <= 0:
            self.save()
            return SAVE_AFTER
        return waiting

    def _suggestion(self, tagged: TaggedText) -> Suggestion:
        doubts = [doubt([token.probability or 0.0 for token in one.tokens]) for one in tagged.sentences]
        return Suggestion(marks_of(tagged, spans=self.marks_spans), 1.0 - max(doubts, default=0.0))

    def _fresh(self, documents: Sequence[Document], marked_only: bool) -> Iterator[tuple[Pair, bytes, bytes]]:
        for document in documents:
            pairs, notices = pairs_of(document, self._tagger.model, self._tagger.splitter)
            for line in notices:
                self._say(f"sapo: {line}")
            for words, tags in pairs:
                if marked_only and set(tags) == {OUTSIDE}:
                    continue
                digests = _digest(words), _digest(tags)
                if self._known.get(digests[0]) != digests[1]:
                    yield (words, tags), *digests


def _digest(strings: Sequence[str]) -> bytes:
    return hashlib.blake2b("\n".join(strings).encode("utf-8", "surrogatepass"), digest_size=16).digest()
