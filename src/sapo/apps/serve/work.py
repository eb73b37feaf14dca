"""Tag for requests, in worker threads.

Making an object for each span, and JSON from it, would take longer than tagging. So JSON is put together from strings
that are the same for all sentences.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sapo.apps.http import Form, Result, write_json
from sapo.apps.limits import RefusedError, RequestLimits, TokenCount
from sapo.apps.serve import messages
from sapo.corpus.treebank import UDDocument, UDSentence, plain_sentence
from sapo.errors import SapoError
from sapo.tagger import decoding
from sapo.tagger.decoding import encoded_batches
from sapo.tagger.explain import explain
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.tagger.text import Found, check_words_only, find
from sapo.tags.schemes import LabelKinds, label_kinds, looks_like_spans
from sapo.tags.spans import read_spans
from sapo.text.splitter import Offsets
from sapo.training.ud import UD


def plain_answers(name: str, model: Model, sentences: Sequence[Sequence[Any]], counts: Sequence[int]) -> list[bytes]:
    """Tag sentences, and return an answer to each request; `counts` is how many of the sentences each has."""
    found: list[str] = []
    for corpus in encoded_batches(model, sentences, documents=counts):
        found += _tagged_json(model.outer_labels, corpus.offsets, decoding.best_tags(model, corpus))
    head = f'{{"model":{_quoted(name)},"sentences":['
    answers, first = [], 0
    for count in counts:
        own = found[first : first + count]
        listed = ",".join([f'{{"index":{number},{one}}}' for number, one in enumerate(own)])
        answers.append(f"{head}{listed}]}}".encode())
        first += count
    return answers


def _tagged_json(labels: tuple[str, ...], offsets: Any, tags: Any) -> list[str]:
    """Return the fields of each sentence."""
    quoted = _all_quoted(labels)
    names = [quoted[tag] for tag in tags.tolist()]
    spans, owned = _spans(labels, offsets, tags)
    places = zip(itertools.pairwise(offsets.tolist()), itertools.pairwise(owned), strict=True)
    return [
        f'"tags":[{",".join(names[first:last])}],"spans":[{",".join(spans[begin:end])}]'
        for (first, last), (begin, end) in places
    ]


def _spans(labels: tuple[str, ...], offsets: Any, tags: Any) -> tuple[list[str], list[int]]:
    """Return the spans of all sentences, and where those of each sentence begin."""
    if not looks_like_spans(labels):
        return [], [0] * len(offsets)
    kinds = _kinds(labels)
    found = read_spans(kinds, tags, offsets)
    owned = np.searchsorted(found.starts, offsets)
    before = np.repeat(offsets[:-1], np.diff(owned))  # the tokens before the sentence of each span
    heads = [f'{{"type":{type},"token_start":' for type in _all_quoted(kinds.type_names)]
    # many spans of a batch have the same place and type: each string is made once
    longest = np.int64(len(tags) + 1)
    codes = (found.types * longest + found.starts - before) * longest + found.ends - before
    each, which = np.unique(codes, return_inverse=True)
    rest, ends = np.divmod(each, longest)
    types, starts = np.divmod(rest, longest)
    places = zip(types.tolist(), starts.tolist(), ends.tolist(), strict=True)
    strings = [f'{heads[type]}{start},"token_end":{end}}}' for type, start, end in places]
    return [strings[number] for number in which.tolist()], owned.tolist()


@lru_cache(maxsize=16)
def _kinds(labels: tuple[str, ...]) -> LabelKinds:
    return label_kinds(labels)


@lru_cache(maxsize=32)
def _all_quoted(texts: tuple[str, ...]) -> list[str]:
    return [_quoted(text) for text in texts]


def _quoted(text: str) -> str:
    return write_json(text).decode()


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a request."""

    index: int  # of the text or sentence in the request
    tokens: Sequence[Any]
    text: str = ""
    offsets: Offsets | None = None  # of the tokens in the text

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.tokens)


class Key(NamedTuple):
    """What requests have in common that are answered together."""

    name: str
    tagger: Tagger
    kind: str  # tag, nbest, marginals or explain
    probabilities: bool = False
    n: int = 0

    @classmethod
    def of(cls, name: str, tagger: Tagger, kind: str, request: Form) -> "Key":
        """Return the key of a request."""
        return cls(name, tagger, kind, getattr(request, "probabilities", False), getattr(request, "n", 0))


class UDKey(NamedTuple):
    """The UD pipeline that answers a request."""

    name: str
    ud: UD


UD_VALUES = 10  # of an answer, for each word


class TaggingWork:
    """Tags for requests within the limits."""

    def __init__(self, limits: RequestLimits) -> None:
        self.limits = limits

    def __call__(self, key: Key | UDKey, requests: Sequence[Any]) -> list[Result]:
        """Answer requests that have the same key. A bad request does not spoil the others."""
        if isinstance(key, UDKey):
            return [self._annotated(key, request) for request in requests]
        if key.kind == "explain":
            return [self._explained(key, request) for request in requests]
        cut = [self._pieces(key, request) for request in requests]
        good = [pieces for pieces in cut if not isinstance(pieces, Exception)]
        try:
            found = iter(_sentences(key, good))
        except SapoError as error:
            if len(good) == 1:
                return [one if isinstance(one, Exception) else error for one in cut]
            return [result for request in requests for result in self(key, [request])]
        return [one if isinstance(one, Exception) else next(found) for one in cut]

    def _pieces(self, key: Key, request: messages.Input) -> list[Piece] | Exception:
        try:
            self.limits.check_tokens(max(len(request.texts or ()), len(request.sentences or ())))
            values = {"nbest": key.n, "marginals": len(key.tagger.labels)}.get(key.kind, 1)
            return list(TokenCount(self.limits, values)(_cut(key.tagger, request)))
        except (SapoError, RefusedError) as error:
            return error

    def _annotated(self, key: UDKey, request: messages.UDRequest) -> Result:
        try:
            texts = request.texts if request.text is None else [request.text]
            if sum(one is not None for one in (request.text, request.texts, request.sentences)) != 1:
                raise SapoError("give exactly one of text, texts and sentences")
            self.limits.check_tokens(len(texts or request.sentences or ()))
            indices: list[int] = []
            cut: list[UDSentence] = []
            words = 0
            for index, given in enumerate(texts or request.sentences or ()):
                for sentence in key.ud.cut(given) if isinstance(given, str) else [plain_sentence(given)]:
                    words += max(1, len(sentence.words))
                    self.limits.check_tokens(words, UD_VALUES)
                    indices.append(index)
                    cut.append(sentence)
            found = UDDocument(key.ud.annotate(cut))
            if request.format == "conllu":
                return found.to_conllu().encode()
        except (SapoError, RefusedError) as error:
            return error
        sentences = [_ud_sentence(*one) for one in zip(indices, found, strict=True)]
        return write_json(messages.UDAnswer(model=key.name, sentences=sentences))

    def _explained(self, key: Key, request: messages.ExplainRequest) -> Result:
        try:
            if (request.text is None) == (request.tokens is None):
                raise SapoError("give either text or tokens")
            tokens: Sequence[Any] = request.tokens or []
            if request.text is not None:
                check_words_only(key.tagger.model)
                cut = TokenCount(self.limits)(key.tagger.splitter.sentences(request.text))
                tokens = [request.text[start:end] for sentence in cut for start, end in sentence]
            self.limits.check_tokens(len(tokens))
            why = explain(
                key.tagger, tokens, request.token, tag=request.tag, against=request.against, top=request.top
            ).as_dict()
        except (SapoError, RefusedError) as error:
            return error
        return write_json(messages.ExplainAnswer(model=key.name, explanation=why))


def _ud_sentence(index: int, sentence: UDSentence) -> messages.UDSentenceAnswer:
    tokens = [
        messages.UDTokenAnswer(
            text=one.form,
            first=one.first,
            last=one.last,
            start=one.start if one.start >= 0 else None,
            end=one.end if one.end >= 0 else None,
        )
        for one in sentence.tokens
    ]
    words = [
        messages.UDWordAnswer(
            form=one.form,
            lemma=one.lemma,
            upos=one.upos,
            xpos=one.xpos,
            feats=one.feats,
            head=one.head or 0,
            deprel=one.deprel,
        )
        for one in sentence.words
    ]
    return messages.UDSentenceAnswer(index=index, tokens=tokens, words=words)


def _cut(tagger: Tagger, request: messages.Input) -> Iterator[Piece]:
    """Yield the sentences of a request. Raise SapoError unless it has exactly one input."""
    inputs = [request.text, request.texts, request.tokens, request.sentences]
    if sum(one is not None for one in inputs) != 1:
        raise SapoError("give exactly one of text, texts, tokens and sentences")
    texts = request.texts if request.text is None else [request.text]
    if texts is None:
        given = request.sentences if request.tokens is None else [request.tokens]
        yield from (Piece(index, tokens) for index, tokens in enumerate(given or ()))
        return
    check_words_only(tagger.model)
    for index, text in enumerate(texts):
        for offsets in tagger.splitter.sentences(text):
            yield Piece(index, [text[start:end] for start, end in offsets], text, offsets)


def _sentences(key: Key, requests: Sequence[Sequence[Piece]]) -> list[bytes]:
    """Tag the sentences of all requests at once, and return an answer to each."""
    tokens = [piece.tokens for pieces in requests for piece in pieces]
    documents = [size for pieces in requests for size in _documents(pieces)]
    of_texts = any(pieces and pieces[0].offsets is not None for pieces in requests)
    if key.kind == "tag" and not key.probabilities and not of_texts:
        return plain_answers(key.name, key.tagger.model, tokens, documents)
    if key.kind == "marginals":
        answers = _marginals(key.tagger, tokens, documents)
    elif key.kind == "nbest":
        answers = _taggings(find(key.tagger.model, tokens, probabilities=False, nbest=key.n, documents=documents))
    else:
        found = find(key.tagger.model, tokens, probabilities=key.probabilities, nbest=0, documents=documents)
        answers = _tagged(itertools.chain.from_iterable(requests), found, key.probabilities)
    result = []
    for pieces in requests:
        sentences = [_placed(next(answers), piece) for piece in pieces]
        result.append(write_json(messages.SentencesAnswer(model=key.name, sentences=sentences)))
    return result


def _documents(pieces: Sequence[Piece]) -> list[int]:
    """Return how many sentences each document of a request has: each of its texts, or all sentences of the request."""
    if not pieces or pieces[0].offsets is None:
        return [len(pieces)]
    return [len(list(own)) for _, own in itertools.groupby(pieces, key=lambda piece: piece.index)]


def _placed(answer: messages.SentenceAnswer, piece: Piece) -> messages.SentenceAnswer:
    """Add where the sentence and its tokens stand."""
    answer.index = piece.index
    if piece.offsets is not None:
        answer.tokens = [
            messages.TokenAnswer(text=word, start=start, end=end)
            for word, (start, end) in zip(piece.tokens, piece.offsets, strict=True)
        ]
    return answer


def _tagged(pieces: Iterable[Piece], found: Iterable[Found], probabilities: bool) -> Iterator[messages.SentenceAnswer]:
    for piece, one in zip(pieces, found, strict=True):
        yield messages.SentenceAnswer(
            tags=one.tags,
            probabilities=[share for share in one.probabilities if share is not None] if probabilities else None,
            spans=[_span(piece, span.type, span.start, span.end, span.probability) for span in one.spans],
        )


def _span(piece: Piece, type: str, first: int, last: int, probability: float) -> messages.SpanAnswer:
    answer = messages.SpanAnswer(type=type, token_start=first, token_end=last)
    if piece.offsets is not None:
        answer.start, answer.end = piece.offsets[first][0], piece.offsets[last - 1][1]
        answer.text = piece.text[answer.start : answer.end]
    if not math.isnan(probability):
        answer.probability = probability
    return answer


def _taggings(found: Iterable[Found]) -> Iterator[messages.SentenceAnswer]:
    for one in found:
        listed = [
            messages.TaggingAnswer(
                tags=tagging.tags,
                probability=tagging.probability,
                p_k=tagging.p_k,
                score=tagging.score,
            )
            for tagging in one.taggings
        ]
        yield messages.SentenceAnswer(taggings=listed)


def _marginals(
    tagger: Tagger, sentences: Sequence[Sequence[Any]], documents: Sequence[int]
) -> Iterator[messages.SentenceAnswer]:
    model = tagger.model
    for corpus in encoded_batches(model, sentences, documents=documents):
        for sentence in range(corpus.sentences):
            rows = decoding.by_label(model, decoding.marginal(model, corpus, sentence))
            yield messages.SentenceAnswer(marginals=rows)
