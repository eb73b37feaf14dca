"""A tagger and labelled sentences in, precision and recall for a grid of biases on O out, so that one can choose.

The sentences are read and encoded once, and tagged once a bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.strings import label_ids
from sapo.errors import SapoError
from sapo.evaluate import SpanCounts, score
from sapo.tagger.decoding import best_tags
from sapo.tagger.files import check_no_missing
from sapo.tagger.streams import encoded_blocks
from sapo.tagger.tagger import Tagger
from sapo.tags import looks_like_spans

BIASES = tuple(step / 2 for step in range(-6, 7))
OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What comes out with this bias."""

    bias: float
    spans: SpanCounts


def operating_curve(
    tagger: Tagger, path: str | Path, *, biases: Sequence[float] = BIASES, strict: bool = False, **reading: Any
) -> list[OperatingPoint]:
    """Precision, recall and F1 of a file's spans for each bias on O, beside the bias that the tagger has."""
    if OUTSIDE not in tagger.labels or not looks_like_spans(tagger.labels):
        raise SapoError("a curve of precision and recall needs a model of spans, with labels such as O, B-X and I-X")
    labels = list(tagger.labels)
    encoded = []
    for block, corpus in encoded_blocks(tagger.model, tagger.read_blocks(path, labelled=True, **reading)):
        encoded.append((corpus, label_ids(block, labels)))
    check_no_missing(tagger.model, labels, path)
    if not sum(corpus.sentences for corpus, _ in encoded):
        raise SapoError(f"{path}: holds no sentence")
    gold = np.concatenate([ids for _, ids in encoded])
    offsets = np.cumsum(np.concatenate([[0], *(np.diff(corpus.offsets) for corpus, _ in encoded)]))
    points = []
    for bias in biases:
        biased = tagger.model.with_bias(OUTSIDE, bias)
        found = np.concatenate([best_tags(biased, corpus) for corpus, _ in encoded])
        spans = score(labels, gold, found, offsets, strict=strict).overall
        assert spans is not None  # the labels are those of spans
        points.append(OperatingPoint(float(bias), spans))
    return points


def curve_table(points: Sequence[OperatingPoint]) -> str:
    """For people; the best F1 is marked.

    >>> print(curve_table([OperatingPoint(0.0, SpanCounts(4, 2, 1)), OperatingPoint(0.5, SpanCounts(4, 1, 1))]))
     bias  precision  recall     F1  found
    +0.00      50.00   25.00  33.33      2
    +0.50     100.00   25.00  40.00      1  best F1
    """
    best = max(points, key=lambda point: point.spans.f1)
    lines = [" bias  precision  recall     F1  found"]
    for point in points:
        spans = point.spans
        numbers = f"{100 * spans.precision:9.2f}  {100 * spans.recall:6.2f}  {100 * spans.f1:5.2f}  {spans.found:5d}"
        lines.append(f"{point.bias:+5.2f}  {numbers}{'  best F1' * (point is best)}")
    return "\n".join(lines)


def curve_json(points: Sequence[OperatingPoint]) -> list[dict[str, float]]:
    """For programs."""
    return [
        {"bias": p.bias, "precision": p.spans.precision, "recall": p.spans.recall, "f1": p.spans.f1} for p in points
    ]
