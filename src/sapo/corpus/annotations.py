"""Describe what is added to a file when it is written, and convert spans of tokens to characters."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapo.errors import DataError
from sapo.jit.arrays import Doubles, Ints, Longs
from sapo.tags.spans import Span, check_token_span


@dataclass(frozen=True, slots=True)
class CharSpan:
    """The characters start, ..., end - 1 of a text, and the type of the span they make.

    >>> text, span = "He saw Mary Ann", CharSpan(7, 15, "PER")
    >>> text[span.start:span.end]
    'Mary Ann'
    """

    start: int
    end: int
    type: str


def spans_to_char_spans(spans: Iterable[Span], token_offsets: Sequence[tuple[int, int]]) -> list[CharSpan]:
    """Return one character span for each token span, in the order given.

    >>> spans_to_char_spans([Span(2, 4, "PER")], [(0, 2), (3, 6), (7, 11), (12, 15)])
    [CharSpan(start=7, end=15, type='PER')]
    """
    _check_offsets(token_offsets)
    char_spans = []
    for span in spans:
        check_token_span(span, len(token_offsets))
        char_spans.append(CharSpan(token_offsets[span.start][0], token_offsets[span.end - 1][1], span.type))
    return char_spans


def _check_offsets(token_offsets: Sequence[tuple[int, int]]) -> None:
    previous_end = 0
    for token, (start, end) in enumerate(token_offsets, 1):
        if not previous_end <= start < end:
            raise DataError(
                f"token {token}: offsets {start}:{end} are empty or begin before {previous_end}; "
                "list tokens in text order, each with one character or more"
            )
        previous_end = end


NONE = "_"  # where a token is in no span


@dataclass(frozen=True, slots=True)
class RankedTagging:
    """One of the n best taggings of a sentence, as numbers of labels."""

    tags: Ints
    probability: float  # over all taggings
    p_k: float  # over these n, as in the paper


class TaggedSpan(NamedTuple):
    """The tokens start, ..., end - 1, the type of the span they make, and its probability over all taggings."""

    start: int
    end: int
    type: str
    probability: float


Taggings = Sequence[RankedTagging]  # of a sentence, best first


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a conversion puts the tags; each format looks at what concerns it."""

    column: str = "upos"  # of CoNLL-U, or a key of FEATS
    key: str = "tags"  # of JSONL
    text: bool = False  # JSONL as running text with spans of characters
    both: bool = False  # JSONL with tokens and tags, and with text and spans where they are known


DEFAULT = Placement()


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is added to a block of a file when it is written: tags, and perhaps probabilities.

    A model adds tags, tags with marginals or spans, or the n best taggings. A conversion gives the file's own tags in
    another scheme, which replace its labels.
    """

    tags: Ints | None  # [tokens]; None for n-best taggings, and for the conversion of a file without labels
    labels: Sequence[str]  # tags are indices of these
    marginals: Doubles | None = None  # [tokens, labels]
    spans: Sequence[Sequence[TaggedSpan]] | None = None  # of each sentence
    taggings: Iterable[Taggings] | None = None  # the n best of each sentence
    placement: Placement | None = None  # of a conversion

    def names(self) -> list[str]:
        """Return the tag of each token."""
        return [] if self.tags is None else names_of(self.tags, self.labels)

    def probabilities(self, offsets: Longs) -> list[str] | None:
        """Return what files show of each token: the probability of its tag, or of its span or '_'; None if neither.

        >>> spans = [[TaggedSpan(1, 3, "NP", 0.5)]]
        >>> Annotation(np.zeros(3, np.int32), ["O"], spans=spans).probabilities(np.array([0, 3]))
        ['_', '0.500000', '0.500000']
        """
        if self.marginals is not None and self.tags is not None:
            return [show(value) for value in self.marginals[np.arange(len(self.tags)), self.tags].tolist()]
        if self.spans is None:
            return None
        shown = [NONE] * int(offsets[-1])
        for first, found in zip(offsets[:-1].tolist(), self.spans, strict=True):
            for span in found:
                shown[first + span.start : first + span.end] = [show(span.probability)] * (span.end - span.start)
        return shown


def names_of(tags: Ints, labels: Sequence[str]) -> list[str]:
    """Return the labels with these numbers."""
    return [labels[tag] for tag in tags.tolist()]


def number_tags(tags: Iterable[str]) -> tuple[list[str], Ints]:
    """Return the distinct tags in the order they come, and for each tag its number among them.

    >>> labels, numbers = number_tags(["O", "B-X", "O"])
    >>> labels, numbers.tolist()
    (['O', 'B-X'], [0, 1, 0])
    """
    labels: dict[str, int] = {}
    numbers = [labels.setdefault(tag, len(labels)) for tag in tags]
    return list(labels), np.array(numbers, np.int32)


def top_n_mass(taggings: Taggings) -> float:
    """Return how much of the probability of all taggings these have together."""
    return min(sum(tagging.probability for tagging in taggings), 1.0)


def show(probability: float) -> str:
    """Return a probability as all files have it.

    >>> show(1 / 3)
    '0.333333'
    """
    return f"{probability:.6f}"


def with_comments(taggings: Taggings) -> Iterator[tuple[str, Ints]]:
    """Yield the tags of each tagging of a sentence, after the comments to write before it: rank and probabilities."""
    mass = show(top_n_mass(taggings))
    for rank, tagging in enumerate(taggings, 1):
        comments = {
            "tagging": rank,
            "probability": show(tagging.probability),
            "p_k": show(tagging.p_k),
            "top_n_mass": mass,
        }
        yield "".join(f"# {key} = {value}\n" for key, value in comments.items()), tagging.tags
