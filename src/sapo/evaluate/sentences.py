"""Gold and predicted tags in, counts for each sentence out: what significance tests pair and swap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo.evaluate.correct import correct_spans
from sapo.tags import label_kinds, read_spans


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """Numbers of spans or tokens for each sentence: in gold, found, and correct."""

    gold: NDArray[np.int64]  # [sentences]
    found: NDArray[np.int64]
    correct: NDArray[np.int64]


def token_counts(gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]) -> SentenceCounts:
    """Count tokens by sentence. Every token counts as found, so that F1 over these counts is the accuracy.

    >>> counts = token_counts(np.array([1, 2, 0]), np.array([1, 0, 0]), np.array([0, 2, 3]))
    >>> counts.gold.tolist(), counts.correct.tolist()
    ([2, 1], [1, 1])
    """
    right_so_far = np.append(0, np.cumsum(gold == predicted))
    tokens = np.diff(offsets)
    return SentenceCounts(tokens, tokens, right_so_far[offsets[1:]] - right_so_far[offsets[:-1]])


def span_counts(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]
) -> SentenceCounts:
    """Count spans by sentence, as conlleval reads them.

    >>> gold, predicted = np.array([1, 2, 1], dtype=np.int32), np.array([1, 1, 1], dtype=np.int32)
    >>> counts = span_counts(["O", "B-NP", "I-NP"], gold, predicted, np.array([0, 2, 3]))
    >>> counts.gold.tolist(), counts.found.tolist(), counts.correct.tolist()
    ([1, 1], [2, 1], [0, 1])
    """
    kinds = label_kinds(labels)
    gold_spans, found_spans = (read_spans(kinds, tags, offsets) for tags in (gold, predicted))
    correct = correct_spans(kinds, gold_spans, found_spans, len(gold))

    def by_sentence(starts: NDArray[np.int64]) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.bincount(
            np.searchsorted(offsets, starts, side="right") - 1, minlength=len(offsets) - 1
        )
        return counts

    return SentenceCounts(
        by_sentence(gold_spans.starts), by_sentence(found_spans.starts), by_sentence(found_spans.starts[correct])
    )
