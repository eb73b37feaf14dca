"""Gold and predicted tags in, counts and scores out: tokens, sentences, and spans or features if labels hold them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sapo.errors import SapoError
from sapo.evaluate.correct import correct_spans
from sapo.evaluate.counts import FeatureCounts, SpanCounts, fraction
from sapo.evaluate.features import count_features
from sapo.tags import LabelKinds, Spans, label_kinds, looks_like_spans, read_spans, strict_scheme


@dataclass(frozen=True, slots=True)
class Scores:
    """All counts of one evaluation.

    `overall` is None and `types` is empty if the labels do not mark spans; `features` is empty if they do not hold
    morphology, such as Case=Nom|Number=Sing or NOUN|Case=Nom.
    """

    tokens: int
    sentences: int
    correct_tokens: int
    correct_sentences: int  # with no wrong token
    overall: SpanCounts | None
    types: Mapping[str, SpanCounts]  # sorted by name, only types that gold has or that were found
    strict: bool  # whether only well-formed spans were counted
    features: Mapping[str, FeatureCounts] = field(default_factory=dict)  # by key: the part of speech, then by name
    scheme: str | None = None  # the one that well-formed spans were read by

    @property
    def token_accuracy(self) -> float:
        """The share of tokens with the gold tag."""
        return fraction(self.correct_tokens, self.tokens)

    @property
    def sentence_accuracy(self) -> float:
        """The share of sentences in which all tags are gold tags."""
        return fraction(self.correct_sentences, self.sentences)

    @property
    def main(self) -> tuple[str, float]:
        """The one number to watch: F1 of spans, else token accuracy."""
        return ("accuracy", self.token_accuracy) if self.overall is None else ("F1", self.overall.f1)

    @property
    def events(self) -> int:
        """How many things the main score counts: gold spans, else tokens."""
        return self.tokens if self.overall is None else self.overall.gold

    @property
    def error(self) -> float:
        """The standard error of the main score, roughly: as if each event were right or wrong by itself.

        >>> gold, found = np.zeros(100, np.int32), np.arange(100, dtype=np.int32) % 2
        >>> scores = score(["DT", "NN"], gold, found, np.array([0, 100]))
        >>> scores.main, scores.error
        (('accuracy', 0.5), 0.05)
        """
        value = self.main[1]
        return math.sqrt(value * (1 - value) / max(1, self.events))


def score(
    labels: Sequence[str],
    gold: NDArray[np.int32],
    predicted: NDArray[np.int32],
    offsets: NDArray[np.int64],
    *,
    strict: bool = False,
) -> Scores:
    """Compare predicted with gold tags.

    Tags are places in `labels`, sentence after sentence; sentence s is gold[offsets[s]:offsets[s + 1]]. Gold may
    have labels that are never predicted: `labels` names them all. `strict` counts only spans that are well-formed
    in the scheme of the gold tags (see `sapo.tags.strict_scheme`); it has no effect if labels do not mark spans.

    >>> labels = ["O", "B-NP", "I-NP", "B-VP"]
    >>> gold, predicted = np.array([1, 2, 3, 0, 1], dtype=np.int32), np.array([1, 2, 0, 0, 3], dtype=np.int32)
    >>> scores = score(labels, gold, predicted, np.array([0, 4, 5]))
    >>> scores.token_accuracy, scores.overall
    (0.6, SpanCounts(gold=3, found=2, correct=1))
    >>> scores.main
    ('F1', 0.4)
    """
    _check(labels, gold, predicted, offsets)
    wrong = gold != predicted
    wrong_so_far = np.append(0, np.cumsum(wrong))
    correct_sentences = np.count_nonzero(wrong_so_far[offsets[1:]] == wrong_so_far[offsets[:-1]])

    with_spans = looks_like_spans(labels)
    types: dict[str, SpanCounts] = {}
    scheme = None
    if with_spans:
        kinds = label_kinds(labels)
        if strict:
            kinds = replace(kinds, scheme=strict_scheme(labels, gold, offsets) or kinds.scheme)
            scheme = kinds.scheme.name
        gold_spans = read_spans(kinds, gold, offsets, strict=strict)
        found_spans = read_spans(kinds, predicted, offsets, strict=strict)
        types = _count_by_type(kinds, gold_spans, found_spans, len(gold))
    return Scores(
        tokens=len(gold),
        sentences=len(offsets) - 1,
        correct_tokens=len(gold) - int(wrong_so_far[-1]),
        correct_sentences=int(correct_sentences),
        overall=_sum(types) if with_spans else None,
        types=types,
        strict=strict and with_spans,
        scheme=scheme,
        features=count_features(labels, gold, predicted),
    )


def _count_by_type(kinds: LabelKinds, gold: Spans, found: Spans, tokens: int) -> dict[str, SpanCounts]:
    names = kinds.type_names
    correct = correct_spans(kinds, gold, found, tokens)
    columns = [np.bincount(t, minlength=len(names)).tolist() for t in (gold.types, found.types, found.types[correct])]
    counts = {name: SpanCounts(*row) for name, *row in zip(names, *columns, strict=True)}
    return {name: counts[name] for name in sorted(names) if counts[name].gold or counts[name].found}


def _sum(types: Mapping[str, SpanCounts]) -> SpanCounts:
    return SpanCounts(
        gold=sum(counts.gold for counts in types.values()),
        found=sum(counts.found for counts in types.values()),
        correct=sum(counts.correct for counts in types.values()),
    )


def _check(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]
) -> None:
    if len(gold) != len(predicted):
        raise SapoError(
            f"score: gold has {len(gold)} tokens, predicted has {len(predicted)}; both must tag the same tokens"
        )
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(gold) or np.any(offsets[1:] < offsets[:-1]):
        ends = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "none"
        raise SapoError(
            f"score: offsets must rise from 0 to the number of tokens, {len(gold)}, found {ends}; "
            "give the start of every sentence and the end of the last"
        )
    for name, tags in (("gold", gold), ("predicted", predicted)):
        if len(tags) and not 0 <= tags.min() <= tags.max() < len(labels):
            raise SapoError(
                f"score: {name} tags must be places in the {len(labels)} labels, found {tags.min()} to {tags.max()}; "
                "add the missing labels to the list"
            )
