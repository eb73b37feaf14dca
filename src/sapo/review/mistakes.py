"""Gold and predicted tags of a sentence in, the mistakes of the prediction out: wrong spans, or wrong tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sapo.tags import Span, loose_spans

MISSED, EXTRA, TYPE, BORDER, BOTH, LABEL = "missed", "extra", "type", "border", "border and type", "label"
KINDS = {  # in the order in which they are shown
    MISSED: "spans that the model does not find",
    EXTRA: "spans that are not in the gold tags",
    TYPE: "the right words with the wrong type",
    BORDER: "the right type with the wrong words",
    BOTH: "overlapping words with another type",
    LABEL: "tokens with the wrong label",
}
NOTHING = "-"  # the type of a span that is not there


@dataclass(frozen=True, slots=True)
class Mistake:
    """A span or a token that the model gets wrong. Places count from 0 and are those of the sentence."""

    kind: str
    file: str
    line: int
    words: tuple[str, ...]  # of the sentence
    gold: Span | None  # for a token, a span of one token with the label as its type
    found: Span | None
    gold_probability: float = 0.0  # what the model gives to the gold span, 0 if there is none
    found_probability: float = 0.0

    @property
    def gold_type(self) -> str:
        """The type or label in the gold tags."""
        return self.gold.type if self.gold else NOTHING

    @property
    def found_type(self) -> str:
        """The type or label that the model finds."""
        return self.found.type if self.found else NOTHING

    @property
    def start(self) -> int:
        """The first token of the mistake."""
        return min(span.start for span in (self.gold, self.found) if span)

    @property
    def end(self) -> int:
        """The token after the mistake."""
        return max(span.end for span in (self.gold, self.found) if span)

    def as_dict(self) -> dict[str, Any]:
        """Return the mistake for programs."""
        return {
            "kind": self.kind,
            "file": self.file,
            "line": self.line,
            "words": list(self.words),
            "gold": _span_dict(self.gold, self.gold_probability),
            "found": _span_dict(self.found, self.found_probability),
        }


def _span_dict(span: Span | None, probability: float) -> dict[str, Any] | None:
    if span is None:
        return None
    return {"start": span.start, "end": span.end, "label": span.type, "probability": round(probability, 6)}


def paired_spans(gold: Sequence[str], found: Sequence[str]) -> Iterator[tuple[Span | None, Span | None]]:
    """Yield the wrong spans of a sentence: each gold span with the found one that overlaps it most, or one alone.

    >>> list(paired_spans(["B-X", "I-X", "O", "B-Y"], ["B-X", "O", "B-Z", "O"]))[0]
    (Span(start=0, end=2, type='X'), Span(start=0, end=1, type='X'))
    """
    right, wrong = loose_spans(gold), loose_spans(found)
    missing = [span for span in right if span not in wrong]
    extra = [span for span in wrong if span not in right]
    for span in missing:
        rival = max(extra, key=lambda other: _overlap(span, other), default=None)
        if rival is not None and _overlap(span, rival) > 0:
            extra.remove(rival)
            yield span, rival
        else:
            yield span, None
    for span in extra:
        yield None, span


def paired_tokens(gold: Sequence[str], found: Sequence[str]) -> Iterator[tuple[Span, Span]]:
    """Yield the wrong tokens of a sentence, as spans of one token.

    >>> list(paired_tokens(["DT", "NN"], ["DT", "VB"]))
    [(Span(start=1, end=2, type='NN'), Span(start=1, end=2, type='VB'))]
    """
    for place, (right, wrong) in enumerate(zip(gold, found, strict=True)):
        if right != wrong:
            yield Span(place, place + 1, right), Span(place, place + 1, wrong)


def kind_of(gold: Span | None, found: Span | None) -> str:
    """Return what is wrong with a span.

    >>> kind_of(Span(0, 2, "PER"), Span(0, 1, "PER")), kind_of(None, Span(0, 1, "PER"))
    ('border', 'extra')
    """
    if found is None or gold is None:
        return MISSED if found is None else EXTRA
    same_words, same_type = (gold.start, gold.end) == (found.start, found.end), gold.type == found.type
    return TYPE if same_words else BORDER if same_type else BOTH


def _overlap(a: Span, b: Span) -> int:
    return min(a.end, b.end) - max(a.start, b.start)
