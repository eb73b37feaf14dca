"""Hide rare features now and then while learning, other ones in each pass.

A word that was seen once predicts its tag, so a learner that always sees the word learns little from its ending and its
neighbours, the only evidence for a new word ("weight undertraining": Sutton, Sindelar and McCallum 2006). So a
feature that occurs c times is hidden with probability a / (a + c), as Kiperwasser and Goldberg (2016) hide words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Longs, Shorts

HIDDEN = 2  # keeps what is hidden in a pass apart from its order and its cuts
STEPS = 1 << 16  # probabilities are rounded to this: a random number of 64 bits is enough for four rows
EACH = 4


@dataclass(slots=True)
class Counts:
    """How often each feature of a corpus occurs.

    >>> Counts(np.array([1, 3])).limits(1.0).tolist()
    [32768, 16384]
    """

    numbers: Longs
    _limits: dict[float, Shorts] = field(default_factory=dict, repr=False)

    def limits(self, amount: float) -> Shorts:
        """Return below which random number each feature is hidden; worked out once for all chunks of a corpus."""
        if amount not in self._limits:
            shares = amount / (amount + np.maximum(self.numbers, 1))
            self._limits = {amount: (STEPS * shares).astype(np.uint16)}
        return self._limits[amount]


def hide(
    corpus: EncodedCorpus,
    amount: float,
    seed: int,
    epoch: int,
    *,
    counts: Counts | None = None,
    places: Sequence[tuple[int, int]] | None = None,
) -> EncodedCorpus:
    """Return the corpus without some of its features.

    A chunk of a larger corpus has `counts`, how often each feature occurs in the whole, and `places`: runs of rows of
    the whole, as the first one and how many. What is hidden is then hidden in the whole, too. Each pass has its own
    generator, so that a resumed run hides the same as one that never stopped.
    """
    if counts is None:
        counts = Counts(np.bincount(corpus.rows))
    runs = [_random(seed, epoch, first, count) for first, count in places or [(0, len(corpus.rows))]]
    numbers = np.concatenate(runs) if len(runs) > 1 else runs[0]
    hidden = np.flatnonzero(numbers < counts.limits(amount)[corpus.rows])
    return replace(
        corpus,
        row_offsets=corpus.row_offsets - np.searchsorted(hidden, corpus.row_offsets),
        rows=np.delete(corpus.rows, hidden),
        values=np.delete(corpus.values, hidden) if len(corpus.values) else corpus.values,
    )


def _random(seed: int, epoch: int, first: int, count: int) -> NDArray[np.uint16]:
    """Return the numbers of some rows, of all that the generator of a pass makes."""
    bits = np.random.PCG64(np.random.SeedSequence([seed, epoch, HIDDEN])).advance(first // EACH)
    words = bits.random_raw(-(-(first % EACH + count) // EACH))
    return np.asarray(words, "<u8").view("<u2")[first % EACH :][:count]
