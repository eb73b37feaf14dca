"""Tags of which some are missing in, labels without the mark of a missing tag out."""

from collections.abc import Collection, Sequence

import numpy as np

from sapo.errors import SapoError
from sapo.kernels.types import Ints

MISSING = "\0"  # what None becomes among strings; no file has it as a tag


def open_missing(labels: Sequence[str], gold: Ints, marks: Collection[str], what: str) -> tuple[list[str], Ints]:
    """Return the labels without the marks, and the gold tags in them, with -1 for each mark.

    `what` names the data in the message. Raise SapoError if every tag is missing.

    >>> open_missing(["A", "_", "B"], np.array([0, 1, 2], np.int32), ["_"], "data")
    (['A', 'B'], array([ 0, -1,  1], dtype=int32))
    """
    kept = [label for label in labels if label not in marks]
    if not kept:
        raise SapoError(f"{what}: every tag is missing; at least one must be there")
    if len(kept) == len(labels):
        return kept, gold
    place = {label: number for number, label in enumerate(kept)}
    return kept, np.array([place.get(label, -1) for label in labels], np.int32)[gold]


def refuse_missing(labels: Sequence[str], marks: Collection[str], what: str) -> None:
    """Raise SapoError if a mark is among the labels: nobody knows where a span with a hole ends.

    >>> refuse_missing(["A", "B"], ["_"], "data")
    """
    for label in labels:
        if label in marks:
            shown = "" if label == MISSING else f" ('{label}')"
            raise SapoError(
                f"{what}: some tags are missing{shown}; evaluation needs all of them: leave such sentences out"
            )
