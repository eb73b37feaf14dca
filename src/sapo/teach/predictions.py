"""A model and sentences in, what the model says about them out: tags, spans, and how sure it is."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapo.kernels.types import Doubles, Ints, Longs
from sapo.model import Model
from sapo.search.probabilities import span_reading
from sapo.search.sums import Sums, sum_corpus
from sapo.tagger import decoding
from sapo.tagger.streams import encoded_batches
from sapo.tags import Span, Spans, label_kinds, read_spans
from sapo.tags.kinds import Prefix
from sapo.teach.task import OUTSIDE, SPANS, blank


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says about a sentence. Probabilities are over all taggings."""

    tags: tuple[str, ...]  # IOB2, or a label for each token
    probabilities: tuple[float, ...]  # of each tag
    spans: tuple[tuple[Span, float], ...]  # with the probability of each
    sure: float  # the probability of the tagging, by token: its root of the number of tokens
    expected: float  # how many of the spans, or of the tags, the model expects to be right
    likely: float  # how many spans, or tags, it expects there to be

    def differs(self, other: "Prediction", by: float = 0.005) -> bool:
        """Return whether a person would see a difference."""
        if self.tags != other.tags:
            return True
        pairs = zip(self.probabilities, other.probabilities, strict=True)
        return any(abs(one - two) > by for one, two in pairs)


def know_nothing(kind: str, tokens: int) -> Prediction:
    """Return what is said where there is no model."""
    return Prediction(blank(kind, tokens), (0.0,) * tokens, (), 0.0, 0.0, 0.0 if kind == SPANS else float(tokens))


def predict(model: Model, kind: str, sentences: Sequence[Sequence[str]], session: Any = None) -> Iterator[Prediction]:
    """Tag sentences. A model without spans, because it has seen none, marks none."""
    for corpus in encoded_batches(model, sentences, session):
        sums = sum_corpus(corpus, model.tagging, model.temperature)
        marginal, shown = decoding.shown_marginal(model, sums.marginal), model.as_shown(sums.tags)
        shares = np.minimum(marginal[np.arange(len(shown)), shown], 1.0)
        said = _spans(model, sums, marginal, shown) if kind == SPANS else _tags(model, corpus.offsets, shown, shares)
        sure = np.exp(sums.log_best / np.maximum(np.diff(corpus.offsets), 1)).tolist()
        listed = shares.tolist()
        for sentence, (first, last) in enumerate(itertools.pairwise(corpus.offsets.tolist())):
            yield Prediction(
                tuple(said.tags[first:last]),
                tuple(listed[first:last]),
                said.spans[sentence],
                sure[sentence],
                said.expected[sentence],
                said.likely[sentence],
            )


@dataclass(frozen=True, slots=True)
class _Said:
    """What predictions of several sentences have."""

    tags: list[str]  # of all tokens
    spans: list[tuple[tuple[Span, float], ...]]  # of each sentence, and so are the others
    expected: list[float]
    likely: list[float]


def _tags(model: Model, offsets: Longs, shown: Ints, shares: Doubles) -> _Said:
    counts = np.diff(offsets).astype(float).tolist()
    return _Said(decoding.label_names(model, shown), [()] * len(counts), _totals(shares, offsets).tolist(), counts)


def _spans(model: Model, sums: Sums, marginal: Doubles, shown: Ints) -> _Said:
    kinds, offsets = label_kinds(model.outer_labels), sums.corpus.offsets
    found = read_spans(kinds, shown, offsets)
    chances = np.zeros(len(found.starts))
    if len(chances):
        chances = np.minimum(sums.span_probabilities(span_reading(model.labels), found, kinds.type_names), 1.0)
    begins = (kinds.prefixes == Prefix.BEGIN) | (kinds.prefixes == Prefix.SINGLE)
    owned = np.searchsorted(found.starts, offsets)  # the first span of each sentence
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(owned))
    starts, ends = (found.starts - offsets[owners]).tolist(), (found.ends - offsets[owners]).tolist()
    names = [kinds.type_names[number] for number in found.types.tolist()]
    pairs = list(zip(map(Span, starts, ends, names), chances.tolist(), strict=True))
    return _Said(
        _iob2(found, kinds.type_names, len(shown)),
        [tuple(pairs[first:last]) for first, last in itertools.pairwise(owned.tolist())],
        _totals(chances, owned).tolist(),
        _totals(marginal[:, begins].sum(axis=1), offsets).tolist(),
    )


def _iob2(spans: Spans, types: Sequence[str], tokens: int) -> list[str]:
    """Return a tag for each token."""
    places = np.zeros(tokens, np.int64)
    sizes = spans.ends - spans.starts
    ends = np.cumsum(sizes)
    inside = np.arange(ends[-1] if len(ends) else 0) + np.repeat(spans.starts - ends + sizes, sizes)
    places[inside] = 2 * np.repeat(spans.types, sizes) + 1
    places[spans.starts] = 2 * spans.types
    names = [OUTSIDE, OUTSIDE, *(f"{letter}-{type}" for type in types[1:] for letter in "BI")]
    return [names[place] for place in places.tolist()]


def _totals(values: Doubles, offsets: Longs) -> Doubles:
    """Return the sum of values[offsets[i]:offsets[i + 1]] for each i."""
    sums = np.concatenate([np.zeros(1), np.cumsum(values)])
    return np.maximum(np.diff(sums[offsets]), 0.0)
