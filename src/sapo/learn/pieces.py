"""Cut sentences into pieces to learn from, other ones in each pass.

A few candidates of a long sentence differ from each other in one or two places, so that a step learns from next to
nothing. The candidates of each piece differ in this piece: together they stand for all combinations. Features still
look at the whole sentence; only the step from one piece to the next is left out. After Sun (2014), "Structure
regularization for structured prediction".
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Doubles, Floats

CUTS = 1  # keeps the cuts of a pass apart from its order


def cut(
    corpus: EncodedCorpus,
    length: int,
    seed: int,
    epoch: int,
    bans: Floats,
    places: Sequence[tuple[int, int]] | None = None,
) -> EncodedCorpus:
    """Return the corpus with sentences cut at random into pieces of `length` tokens on average.

    A chunk of a larger corpus has `places`: runs of tokens of the whole, as the first one and how many. A sentence is
    then cut where it would be cut in the whole.

    A piece that begins inside a span looks like a mistake where the tags tell only how spans begin, as in IOB2: there,
    what may not begin a sentence (see `bans` of Parameters) begins no piece. Where they tell how spans end, too, as in
    BIOES, a cut through a span does no harm, and finds more of rare entities (docs/explanation/defaults.md).
    Each pass has its own generator, so that a resumed run cuts in the same places as one that never stopped.
    """
    labels = bans.shape[1]
    parts = [_random(seed, epoch, first, count) * length < 1 for first, count in places or [(0, corpus.tokens)]]
    cuts = np.concatenate(parts) if len(parts) > 1 else parts[0]
    begins, ends = bans[labels] == 0, bans[labels + 1] == 0
    if ends.all() and not begins.all():
        cuts &= np.append(begins, True)[np.maximum(corpus.gold, -1)]
    return replace(corpus, cuts=cuts)


def _random(seed: int, epoch: int, first: int, count: int) -> Doubles:
    """Return the numbers of some tokens, of all that the generator of a pass makes."""
    bits = np.random.PCG64(np.random.SeedSequence([seed, epoch, CUTS]))  # what `default_rng` takes, too
    return np.random.Generator(bits.advance(first)).random(count)
