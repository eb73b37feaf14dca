"""Weights of sentences and of labels in, how much each token counts in learning out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sapo.errors import SapoError, did_you_mean
from sapo.kernels.types import Bools, Doubles, Floats, Ints, Longs

BALANCED = "balanced"
LARGEST = 1e6
NOTHING = "all weights of samples or classes are 0; nothing would be learned"


def importance_of_tokens(
    labels: Sequence[str],
    gold: Ints,  # -1 where the tag is missing: such a token has no class
    offsets: Longs,
    *,
    sample_weight: Sequence[float] | None = None,  # checked, one for each sentence
    class_weight: Mapping[str, float] | str | None = None,
) -> Floats:
    """Return for each token the weight of its sentence times that of its gold tag; empty if all are 1.

    >>> gold, offsets = np.array([0, 0, 0, 1], np.int32), np.array([0, 2, 4])
    >>> importance_of_tokens(["O", "B-X"], gold, offsets, sample_weight=[1, 2], class_weight={"B-X": 3}).tolist()
    [1.0, 1.0, 2.0, 6.0]
    >>> importance_of_tokens(["O", "B-X"], gold, offsets, class_weight="balanced").round(2).tolist()[2:]
    [0.6700000166893005, 2.0]
    """
    tokens = np.ones(len(gold))
    if class_weight is not None:
        of_class = np.append(_class_weights(class_weight, labels, gold), 1.0)  # the last one is for -1
        tokens *= of_class[gold]
    if sample_weight is not None:
        tokens *= np.repeat(sample_weight, np.diff(offsets))
    if (tokens == 1).all():
        return np.empty(0, np.float32)
    if not tokens.any():
        raise SapoError(NOTHING)
    return tokens.astype(np.float32)


def _class_weights(given: Mapping[str, float] | str, labels: Sequence[str], gold: Ints) -> Doubles:
    if isinstance(given, str):
        if given != BALANCED:
            raise SapoError(f"class_weight must be '{BALANCED}' or a weight for labels, not '{given}'")
        counts = np.bincount(gold[gold >= 0], minlength=len(labels))
        balanced: Doubles = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return balanced
    weights = np.ones(len(labels))
    for label, weight in given.items():
        if label not in labels:
            raise SapoError(f"class_weight: no label is '{label}'{did_you_mean(str(label), labels)}")
        weights[list(labels).index(label)] = _checked(weight, f"class_weight of '{label}'")
    return weights


def counted_samples(given: Sequence[float]) -> tuple[list[float], Bools]:
    """Return the weights that are not 0, and which these are: a sentence of weight 0 is left out before it is encoded.

    Raises SapoError if one is not a weight, or if all are 0.

    >>> weights, counted = counted_samples([1, 0, 2])
    >>> weights, counted.tolist()
    ([1.0, 2.0], [True, False, True])
    """
    try:
        listed = list(given)
    except TypeError:
        raise SapoError(f"sample_weight must have a number for each sentence, not be {given!r:.60}") from None
    weights = np.array([_checked(weight, f"sample_weight[{i}]") for i, weight in enumerate(listed)], np.float64)
    if len(weights) and not weights.any():
        raise SapoError(NOTHING)
    counted: Bools = weights > 0
    return weights[counted].tolist(), counted


def _checked(weight: Any, what: str) -> float:
    try:
        value = float(weight)
    except (TypeError, ValueError):
        raise SapoError(f"{what} must be a number, not {weight!r}") from None
    if not 0 <= value <= LARGEST:  # NaN too
        raise SapoError(f"{what} must be a number from 0 to {LARGEST:,.0f}, not {weight}")
    return value
