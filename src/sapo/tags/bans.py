"""Labels and a tag scheme in, the transitions that the scheme forbids out.

Bans are as kernels take them: float32[labels + 2, labels], 0 or minus infinity. [p, y] is y after p, row `labels` is y
at the start of a sentence, row `labels + 1` is y at its end.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sapo.kernels.types import Floats
from sapo.tags.letters import TABLE
from sapo.tags.notation import as_prefixed


def scheme_bans(labels: Sequence[str], scheme: str) -> Floats:
    """Return the bans of a scheme. All labels must fit it.

    >>> scheme_bans(["O", "B-NP", "I-NP"], "iob2").tolist()[0]  # after O
    [0.0, 0.0, -inf]
    """
    return _scheme_bans(tuple(as_prefixed(labels)), scheme).copy()


@lru_cache(maxsize=16)  # learning from single sentences asks for the same ones again and again
def _scheme_bans(labels: tuple[str, ...], scheme: str) -> Floats:
    table = TABLE[scheme]
    letters = ["O", *sorted(table.letters)]
    letter = np.array([letters.index(label.partition("-")[0]) for label in [*labels, "O"]])
    names = {name: number for number, name in enumerate(dict.fromkeys(label.partition("-")[2] for label in labels))}
    kind = np.array([*(names[label.partition("-")[2]] for label in labels), -1])
    # two labels fit or not by their letters, and by whether they are of the same type
    fits = np.array([[[table.may_follow(p, y, same) for same in (False, True)] for y in letters] for p in letters])
    same = (kind[:, np.newaxis] == kind).astype(np.int64)
    allowed = fits[letter[:, np.newaxis], letter, same]
    bans = np.where(allowed, 0, -np.inf).astype(np.float32)
    L = len(labels)
    all_bans: Floats = np.concatenate([bans[:L, :L], bans[L:, :L], bans[:L, L:].T])  # the borders count as 'O'
    return all_bans
