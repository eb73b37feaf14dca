"""A model and sentences in, what the model says about them out: tags, spans, and how sure it is."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Doubles, Ints
from sapo.model import Model
from sapo.search.decode import tag_corpus
from sapo.search.probabilities import Distribution, span_reading
from sapo.tagger import decoding
from sapo.tagger.streams import encoded_batches
from sapo.tags import Span, as_prefixed, loose_spans, spans_to_tags
from sapo.teach.task import OUTSIDE, SCHEME, SPANS, blank


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


def predict(model: Model, kind: str, sentences: Sequence[Sequence[str]]) -> Iterator[Prediction]:
    """Tag sentences. A model without spans, because it has seen none, marks none."""
    spanned = kind == SPANS
    reading = span_reading(model.labels) if spanned and set(model.labels) - {OUTSIDE} else None
    names = as_prefixed(model.outer_labels) if spanned else list(model.outer_labels)
    begins = np.array([name.partition("-")[0] in ("B", "S", "U") for name in names])
    for corpus in encoded_batches(model, sentences):
        learned = tag_corpus(corpus, model.tagging)
        for sentence in range(corpus.sentences):
            first, last = corpus.offsets[sentence : sentence + 2].tolist()
            path = learned[first:last]
            whole = decoding.sentence_distribution(model, corpus, sentence)
            marginal = _shown(model, whole.marginal)
            shown = model.as_shown(path)
            tags = [names[tag] for tag in shown.tolist()]
            shares = np.minimum(marginal[np.arange(len(tags)), shown], 1.0)
            spans: tuple[tuple[Span, float], ...] = ()
            expected, likely = float(shares.sum()), float(len(tags))
            if spanned:
                found = loose_spans(tags)
                if found and reading is not None:
                    chances = _exact(model, corpus, sentence, whole).span_probabilities(reading, found)
                    spans = tuple(zip(found, np.minimum(chances, 1.0).tolist(), strict=True))
                tags = spans_to_tags(found, len(tags), SCHEME)
                expected, likely = math.fsum(share for _, share in spans), float(marginal[:, begins].sum())
            yield Prediction(tuple(tags), tuple(shares.tolist()), spans, _sure(whole, path), expected, likely)


def _sure(whole: Distribution, path: Ints) -> float:
    log = whole.lattice.path_score(path) - whole.log_z
    return math.exp(min(log, 0.0) / max(1, len(path))) if math.isfinite(log) else 0.0


def _exact(model: Model, corpus: EncodedCorpus, sentence: int, whole: Distribution) -> Distribution:
    """Return the distribution over all labels: with many labels the first look has a few for each token."""
    return whole if whole.lattice.lists is None else decoding.sentence_distribution(model, corpus, sentence, exact=True)


def _shown(model: Model, marginal: Doubles) -> Doubles:
    """Add up the probabilities of labels that are shown by the same name."""
    places = model.shown_places
    if places is None:
        return marginal
    shown = np.zeros((len(marginal), len(model.outer_labels)))
    np.add.at(shown.T, places, marginal.T)
    return shown
