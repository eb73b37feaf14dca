"""Gold and predicted labels that hold morphology in, counts for each key (Case, Number, ...) out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapo.evaluate.counts import FeatureCounts
from sapo.tags import read_morphology


def count_features(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32]
) -> dict[str, FeatureCounts]:
    """Return the counts of each key that a token has; the part of speech comes first. Empty for other labels.

    >>> labels = ["NOUN|Case=Nom|Number=Sing", "NOUN|Case=Acc", "ADV|_"]
    >>> counts = count_features(labels, np.array([0, 1, 2], np.int32), np.array([0, 0, 2], np.int32))
    >>> list(counts), counts["Number"], counts["Case"].f1
    (['upos', 'Case', 'Number'], FeatureCounts(gold=1, found=2, correct=1, tokens=2), 0.5)
    """
    values = read_morphology(labels)
    if values is None:
        return {}
    # many tokens have the same two labels: look at each such pair once
    pairs, tokens = np.unique(gold.astype(np.int64) * len(labels) + predicted, return_counts=True)
    counts: dict[str, list[int]] = {}
    for pair, times in zip(pairs.tolist(), tokens.tolist(), strict=True):
        right, found = (values[label] for label in divmod(pair, len(labels)))
        for key in right.keys() | found.keys():
            count = counts.setdefault(key, [0, 0, 0, 0])
            count[0] += times * (key in right)
            count[1] += times * (key in found)
            count[2] += times * (right.get(key) == found.get(key))
            count[3] += times
    return {key: FeatureCounts(*counts[key]) for key in sorted(counts, key=_order)}


def _order(key: str) -> tuple[bool, str, str]:
    return key not in ("upos", "pos"), key.lower(), key
