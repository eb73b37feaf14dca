"""Measure precision and recall for a range of biases on O, to choose one.

The sentences are read and encoded once, and tagged once for each bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.errors import SapoError
from sapo.evaluate.scores import SpanCounts, score
from sapo.features.strings import label_ids
from sapo.tagger.decoding import best_tags, encoded_blocks
from sapo.tagger.files import check_no_missing, check_same_task, read_blocks
from sapo.tagger.tagger import Tagger
from sapo.tags.schemes import looks_like_spans

BIASES = tuple(step / 2 for step in range(-6, 7))
OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The number of spans that are found, and correct, with this bias."""

    bias: float
    spans: SpanCounts


def operating_curve(
    tagger: Tagger, path: str | Path, *, biases: Sequence[float] = BIASES, strict: bool = False, **reading: Any
) -> list[OperatingPoint]:
    """Return the precision, recall and F1 of the spans of a labeled file, for each bias on O.

    Each bias is added to the one that the tagger has. `strict` counts only well-formed spans; `reading` says how to
    read the file (format, label, columns). Raises SapoError if the labels do not mark spans.

    >>> import sapo
    >>> from sapo.corpus.sample import COLUMNS, sample_path
    >>> tagger = sapo.train(sample_path("train"), template="ner", columns=COLUMNS, label="entity", epochs=2)
    >>> few, many = operating_curve(tagger, sample_path("test"), biases=[3, -3])
    >>> few.spans.found < many.spans.found
    True
    """
    if OUTSIDE not in tagger.labels or not looks_like_spans(tagger.labels):
        raise SapoError("a curve of precision and recall needs a model of spans, with labels such as O, B-X and I-X")
    labels = list(tagger.labels)
    encoded = []
    for block, corpus in encoded_blocks(tagger.model, read_blocks(tagger, path, labeled=True, **reading)):
        encoded.append((corpus, label_ids(block, labels)))
    check_no_missing(tagger.model, labels, path)
    if not sum(corpus.sentences for corpus, _ in encoded):
        raise SapoError(f"{path}: has no sentences")
    gold = np.concatenate([ids for _, ids in encoded])
    check_same_task(tagger.model, [labels[tag] for tag in np.unique(gold).tolist()], path)
    offsets = np.cumsum(np.concatenate([[0], *(np.diff(corpus.offsets) for corpus, _ in encoded)]))
    points = []
    for bias in biases:
        biased = tagger.model.with_bias(OUTSIDE, bias)
        found = np.concatenate([best_tags(biased, corpus) for corpus, _ in encoded])
        spans = score(labels, gold, found, offsets, strict=strict).overall
        assert spans is not None  # the labels mark spans
        points.append(OperatingPoint(float(bias), spans))
    return points


def curve_json(points: Sequence[OperatingPoint]) -> list[dict[str, float]]:
    """Return the points as a list of dictionaries, to be written as JSON."""
    return [
        {"bias": p.bias, "precision": p.spans.precision, "recall": p.spans.recall, "f1": p.spans.f1} for p in points
    ]
