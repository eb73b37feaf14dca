"""Tag raw text: sentences, tokens and spans with their offsets in it, and probabilities where asked for."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sapo.corpus.annotations import TaggedSpan
from sapo.corpus.blocks import LABEL, is_table
from sapo.errors import DataError, ModelError
from sapo.features.encoded import EncodedCorpus
from sapo.tagger import decoding
from sapo.tagger.decoding import Tagging, encoded_batches
from sapo.tagger.model import Model
from sapo.tags.schemes import as_prefixed, looks_like_spans
from sapo.tags.spans import span_borders
from sapo.text.splitter import Offsets, checked_sentences

Cut = Callable[[str], Sequence[Sequence[tuple[int, int]]]]  # a text in, its sentences out: (start, end) of each token


@dataclass(frozen=True, slots=True)
class TextToken:
    """A token of a text, and its tag. It is `text[start:end]` of the whole text."""

    text: str
    start: int
    end: int
    tag: str
    probability: float | None = None  # of the tag, over all taggings
    columns: Mapping[str, str] = field(default_factory=dict)  # what earlier models of a pipeline said


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span of a text, and its type. It is `text[start:end]` of the whole text."""

    text: str
    start: int
    end: int
    type: str
    probability: float | None = None  # over all taggings


@dataclass(frozen=True, slots=True)
class TextSentence:
    """A sentence of a text. It is `text[start:end]` of the whole text."""

    text: str
    start: int
    end: int
    tokens: tuple[TextToken, ...]
    spans: tuple[TextSpan, ...] = ()  # if the labels mark spans
    taggings: tuple[Tagging, ...] = ()  # the n best, if asked for

    @property
    def words(self) -> list[str]:
        """The tokens as strings."""
        return [token.text for token in self.tokens]

    @property
    def tags(self) -> list[str]:
        """The tag of each token."""
        return [token.tag for token in self.tokens]


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text that was tagged."""

    text: str
    sentences: tuple[TextSentence, ...]

    @property
    def tokens(self) -> list[TextToken]:
        """The tokens of all sentences."""
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def spans(self) -> list[TextSpan]:
        """The spans of all sentences."""
        return [span for sentence in self.sentences for span in sentence.spans]


@dataclass(frozen=True, slots=True)
class CutTexts:
    """Texts, and where the tokens of their sentences are."""

    texts: list[str]
    sentences: list[list[Offsets]]  # of each text

    @property
    def sizes(self) -> list[int]:
        """How many sentences each text has."""
        return [len(sentences) for sentences in self.sentences]

    def words(self) -> Iterator[list[str]]:
        """Yield the words of each sentence of all texts."""
        for text, sentences in zip(self.texts, self.sentences, strict=True):
            for sentence in sentences:
                yield [text[start:end] for start, end in sentence]


class Found(NamedTuple):
    """What a model found in one sentence."""

    tags: list[str]
    probabilities: Sequence[float | None]
    spans: Sequence[TaggedSpan]  # of tokens; their probability is nan unless asked for
    taggings: tuple[Tagging, ...]


def cut_texts(texts: Iterable[str], cut: Cut) -> CutTexts:
    """Cut texts, and check what the function says. Raises SapoError if a text is not a string."""
    if isinstance(texts, str):
        raise DataError("tag_texts takes a list of texts, not a text; use tag_text, or put it into a list")
    if isinstance(texts, Mapping) or is_table(texts):
        raise DataError(f"tag_texts takes a list of texts, not a {type(texts).__name__}; give its column of texts")
    listed = [check_text(text, f"text {number}") for number, text in enumerate(texts, 1)]
    return CutTexts(listed, [checked_sentences(cut(text), text) for text in listed])


def check_text(text: Any, place: str = "text") -> str:
    """Return the text; raise SapoError if it is anything else than a string."""
    if not isinstance(text, str):
        raise DataError(f"{place}: expected a string, found {text!r:.40}; for lists of tokens use tag or tag_many")
    return text


def check_words_only(model: Model) -> None:
    """Raise SapoError if the model needs more of a token than its word, which is all that a text has."""
    columns = tuple(model.encoder.columns)
    if not columns:
        raise ModelError("this model was trained on ready-made features and cannot tag text; give it features instead")
    trained = [column for column in model.reader.get("columns") or () if column != LABEL]
    words = ("word", *trained[:1])
    others = [column for column in columns if column not in words]
    if others:
        steps = "".join(f" --add {column}=MODEL" for column in others)
        raise ModelError(
            f"this model also needs {', '.join(others)} of each word, which text does not have; let other models add "
            f"it: sapo pipeline FILE --format text{steps} --add tag=THIS_MODEL, or sapo.Pipeline in Python"
        )


def find(
    model: Model,
    sentences: Iterable[Sequence[Any]],
    *,
    probabilities: bool,
    nbest: int,
    documents: Sequence[int] | None = None,
) -> Iterator[Found]:
    """Tag sentences, and yield what was found in each of them. `documents` is how many sentences each document has."""
    labels = model.outer_labels
    marks_spans, kinds = looks_like_spans(labels), as_prefixed(labels)
    for corpus in encoded_batches(model, sentences, documents=documents):
        tags = decoding.best_tags(model, corpus)
        numbers = tags.tolist()
        spans = decoding.spans_of(model, corpus, tags) if marks_spans and probabilities else None
        marginal = decoding.all_marginals(model, corpus) if probabilities else None
        for number, (first, last) in enumerate(itertools.pairwise(corpus.offsets.tolist())):
            own = numbers[first:last]
            shares: Sequence[float | None] = [None] * len(own)
            if marginal is not None:
                shares = marginal[range(first, last), own].tolist()
            if spans is not None:
                found = spans[number]
            else:
                borders = span_borders([kinds[tag] for tag in own]) if marks_spans else []
                found = [TaggedSpan(*border, math.nan) for border in borders]
            yield Found([labels[tag] for tag in own], shares, found, _taggings(model, corpus, number, nbest))


def _taggings(model: Model, corpus: EncodedCorpus, sentence: int, n: int) -> tuple[Tagging, ...]:
    if not n:
        return ()
    return tuple(decoding.taggings(model, corpus, sentence, decoding.candidates(model, corpus, sentence, n, "topn", 1)))


def tagged_texts(
    cut: CutTexts, found: Iterator[Found], columns: Iterator[Mapping[str, Sequence[str]]] | None = None
) -> list[TaggedText]:
    """Put together what was cut and what was found; `columns` has further tags of each sentence, by name."""
    result = []
    for text, sentences in zip(cut.texts, cut.sentences, strict=True):
        made = [_sentence(text, offsets, next(found), next(columns) if columns else {}) for offsets in sentences]
        result.append(TaggedText(text, tuple(made)))
    return result


def _sentence(text: str, offsets: Offsets, found: Found, columns: Mapping[str, Sequence[str]]) -> TextSentence:
    further = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    tokens = [
        TextToken(text[start:end], start, end, tag, share, further[at] if columns else {})
        for at, ((start, end), tag, share) in enumerate(zip(offsets, found.tags, found.probabilities, strict=True))
    ]
    spans = []
    for span in found.spans:
        start, end = offsets[span.start][0], offsets[span.end - 1][1]
        share = None if math.isnan(span.probability) else span.probability
        spans.append(TextSpan(text[start:end], start, end, span.type, share))
    start, end = offsets[0][0], offsets[-1][1]
    return TextSentence(text[start:end], start, end, tuple(tokens), tuple(spans), found.taggings)
