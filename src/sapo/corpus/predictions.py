"""Predictions with probabilities, as the formats write them: ranked taggings, spans, and notes for each token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapo.kernels.types import Doubles, Ints, Longs

NONE = "_"  # where a token is in no span


@dataclass(frozen=True, slots=True)
class RankedTagging:
    """One of the n best taggings of a sentence, as numbers of labels."""

    tags: Ints
    probability: float  # over these n
    exact_probability: float  # over all taggings


class TaggedSpan(NamedTuple):
    """The tokens start, ..., end - 1, the type of the span they make, and its probability over all taggings."""

    start: int
    end: int
    type: str
    probability: float


Taggings = Sequence[RankedTagging]  # of a sentence, best first


def top_n_mass(taggings: Taggings) -> float:
    """Return how much of the probability of all taggings these have together."""
    return min(sum(tagging.exact_probability for tagging in taggings), 1.0)


def show(probability: float) -> str:
    """Return a probability as all files have it.

    >>> show(1 / 3)
    '0.333333'
    """
    return f"{probability:.6f}"


def with_notes(taggings: Taggings) -> Iterator[tuple[str, RankedTagging]]:
    """Yield each tagging of a sentence with the comments to write before it: its rank and probabilities."""
    mass = show(top_n_mass(taggings))
    for rank, tagging in enumerate(taggings, 1):
        notes = {
            "tagging": rank,
            "probability": show(tagging.probability),
            "exact_probability": show(tagging.exact_probability),
            "top_n_mass": mass,
        }
        yield "".join(f"# {key} = {value}\n" for key, value in notes.items()), tagging


def tag_notes(tags: Ints, marginal: Doubles) -> list[str]:
    """Return the probability of each token's tag; `marginal` has those of all labels, [tokens, labels]."""
    return [show(probability) for probability in marginal[np.arange(len(tags)), tags].tolist()]


def span_notes(spans: Sequence[Sequence[TaggedSpan]], offsets: Longs) -> list[str]:
    """Return for each token the probability of the span that it is in, or '_'.

    >>> span_notes([[TaggedSpan(1, 3, "NP", 0.5)]], np.array([0, 3]))
    ['_', '0.500000', '0.500000']
    """
    notes = [NONE] * int(offsets[-1])
    for first, found in zip(offsets[:-1].tolist(), spans, strict=True):
        for span in found:
            notes[first + span.start : first + span.end] = [show(span.probability)] * (span.end - span.start)
    return notes
