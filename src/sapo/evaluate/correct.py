"""Gold spans and found spans in, which of the found ones are correct out."""

import numpy as np
from numpy.typing import NDArray

from sapo.tags import LabelKinds, Spans


def correct_spans(kinds: LabelKinds, gold: Spans, found: Spans, tokens: int) -> NDArray[np.bool_]:
    """Tell for each found span whether gold has it, too, with the same borders and the same type.

    >>> from sapo.tags import label_kinds, read_spans
    >>> kinds, offsets = label_kinds(["O", "B-NP", "I-NP"]), np.array([0, 3])
    >>> gold, found = (read_spans(kinds, np.array(tags, np.int32), offsets) for tags in ([1, 2, 1], [1, 1, 1]))
    >>> correct_spans(kinds, gold, found, 3).tolist()
    [False, False, True]
    """
    # at most one span begins at a token: write what begins there as one number, 0 for nothing, and compare
    types = len(kinds.type_names)
    gold_at = np.zeros(tokens, dtype=np.int64)
    gold_at[gold.starts] = gold.ends * types + gold.types
    correct: NDArray[np.bool_] = gold_at[found.starts] == found.ends * types + found.types
    return correct
