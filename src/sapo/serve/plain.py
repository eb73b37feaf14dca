"""Sentences of tokens in, the JSON of `SentencesAnswer` out: tags and spans alone, for large batches.

To make an object for each span, and JSON of it, would take longer than to tag. So strings are put together of parts
that are the same for all sentences.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.model import Model
from sapo.serve.messages import write_json
from sapo.tagger import decoding
from sapo.tagger.streams import encoded_batches
from sapo.tags import LabelKinds, label_kinds, looks_like_spans, read_spans


def plain_answers(name: str, model: Model, sentences: Sequence[Sequence[Any]], counts: Sequence[int]) -> list[bytes]:
    """Tag sentences, and return an answer to each request; `counts` is how many of the sentences each has."""
    found = [one for corpus in encoded_batches(model, sentences) for one in _tagged(model, corpus)]
    head = f'{{"model":{_quoted(name)},"sentences":['
    answers, first = [], 0
    for count in counts:
        own = found[first : first + count]
        listed = ",".join([f'{{"index":{number},{one}}}' for number, one in enumerate(own)])
        answers.append(f"{head}{listed}]}}".encode())
        first += count
    return answers


def _tagged(model: Model, corpus: EncodedCorpus) -> list[str]:
    """Return the fields of each sentence."""
    tags = decoding.best_tags(model, corpus)
    labels = _all_quoted(model.outer_labels)
    names = [labels[tag] for tag in tags.tolist()]
    spans, owned = _spans(model, corpus, tags)
    places = zip(itertools.pairwise(corpus.offsets.tolist()), itertools.pairwise(owned), strict=True)
    return [
        f'"tags":[{",".join(names[first:last])}],"spans":[{",".join(spans[begin:end])}]'
        for (first, last), (begin, end) in places
    ]


def _spans(model: Model, corpus: EncodedCorpus, tags: Any) -> tuple[list[str], list[int]]:
    """Return the spans of all sentences, and where those of each sentence begin."""
    offsets = corpus.offsets
    if not looks_like_spans(model.outer_labels):
        return [], [0] * len(offsets)
    kinds = _kinds(model.outer_labels)
    found = read_spans(kinds, tags, offsets)
    owned = np.searchsorted(found.starts, offsets)
    before = np.repeat(offsets[:-1], np.diff(owned))  # the tokens before the sentence of each span
    heads = [f'{{"type":{type},"token_start":' for type in _all_quoted(kinds.type_names)]
    # many spans of a batch have the same place and type: each string is made once
    longest = np.int64(corpus.tokens + 1)
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
