"""Hide rare features now and then while learning, other ones in each pass.

A word that was seen once tells its tag, and a learner that may always look at it learns little from the ending and the
neighbours, which are all that it has of a new word ("weight undertraining": Sutton, Sindelar and McCallum 2006). So a
feature that occurs c times is hidden with probability a / (a + c), as Kiperwasser and Goldberg (2016) hide words.
"""

from dataclasses import replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Longs

HIDDEN = 2  # keeps what is hidden in a pass apart from its order and its cuts
STEPS = 1 << 16  # probabilities are rounded to this, since small random numbers are drawn faster


def hide(corpus: EncodedCorpus, amount: float, seed: int, epoch: int, counts: Longs | None = None) -> EncodedCorpus:
    """Return the corpus without some of its features.

    `counts` says how often each feature occurs, if the corpus is only a part of the sentences. Each pass has its own
    generator, so that a resumed run hides the same as one that never stopped.
    """
    if counts is None:
        counts = np.bincount(corpus.rows)
    rng = np.random.default_rng([seed, epoch, HIDDEN])
    limits = (STEPS * (amount / (amount + np.maximum(counts, 1)))).astype(np.uint16)
    hidden = np.flatnonzero(rng.integers(STEPS, size=len(corpus.rows), dtype=np.uint16) < limits[corpus.rows])
    return replace(
        corpus,
        row_offsets=corpus.row_offsets - np.searchsorted(hidden, corpus.row_offsets),
        rows=np.delete(corpus.rows, hidden),
        values=np.delete(corpus.values, hidden) if len(corpus.values) else corpus.values,
    )
