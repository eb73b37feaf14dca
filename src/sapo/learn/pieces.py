"""Cut sentences into pieces to learn from, other ones in each pass.

A few candidates of a long sentence differ from each other in one or two places, so that a step learns from next to
nothing. The candidates of each piece differ in this piece: together they stand for all combinations. Features still
look at the whole sentence; only the step from one piece to the next is left out. After Sun (2014), "Structure
regularization for structured prediction".
"""

from dataclasses import replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Floats

CUTS = 1  # keeps the cuts of a pass apart from its order


def cut(corpus: EncodedCorpus, length: int, seed: int, epoch: int, bans: Floats) -> EncodedCorpus:
    """Return the corpus with sentences cut at random into pieces of `length` tokens on average.

    A piece that begins inside a span looks like a mistake where the tags tell only how spans begin, as in IOB2: there,
    what may not begin a sentence (see `bans` of Parameters) begins no piece. Where they tell how spans end, too, as in
    BIOES, a cut through a span does no harm, and finds more of rare entities (docs/explanation/defaults.md).
    Each pass has its own generator, so that a resumed run cuts in the same places as one that never stopped.
    """
    rng = np.random.default_rng([seed, epoch, CUTS])
    labels = bans.shape[1]
    cuts = rng.random(corpus.tokens) * length < 1
    begins, ends = bans[labels] == 0, bans[labels + 1] == 0
    if ends.all() and not begins.all():
        cuts &= np.append(begins, True)[np.maximum(corpus.gold, -1)]
    return replace(corpus, cuts=cuts)
