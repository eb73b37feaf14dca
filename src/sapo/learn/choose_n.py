"""A corpus and weights in, the n to train with next out, so that nobody has to choose it.

What is wanted is the score of a large n at the price of a small one. How far SAPO's update is from the gradient does
not tell: at n = 5 it is still nearly as far as the gradient is long, and every doubling of n brings it a little closer,
without a knee (docs/theory.md), while the score has long stopped growing. What does tell is what the next tagging would
change. If the n best taggings are joined by the next one, it takes the probability

    P_{n+1} = exp(w.F(x, y_{n+1})) / sum over Y_{n+1} of exp(w.F(x, y))

from them, and this is exactly the total variation between the P_k of n and those of n + 1; the update moves by at most
2 * P_{n+1} * max |F(x, y)|. So: the smallest n for which the next tagging would get less than SHARE in the mean.
"""

from collections.abc import Sequence

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Doubles
from sapo.search import top_n
from sapo.search.lattice import Parameters, make_lattice

SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50)
SENTENCES = 200  # that are looked at
SHARE = 0.05  # chosen on CoNLL-2000, JNLPBA and EWT; see docs/theory.md
FIRST = 5  # where all weights are zero, and nothing can be measured


def choose_n(corpus: EncodedCorpus, parameters: Parameters, *, seed: int = 0) -> int:
    """The smallest n of SIZES after which a further tagging would change little; the last one if there is none."""
    if not parameters.nonzero:
        return FIRST
    shares = next_shares(corpus, parameters, SIZES, seed=seed)
    return next((n for n, share in zip(SIZES, shares.tolist(), strict=True) if share < SHARE), SIZES[-1])


def next_shares(corpus: EncodedCorpus, parameters: Parameters, sizes: Sequence[int], *, seed: int = 0) -> Doubles:
    """For each n the mean of P_{n+1} over some sentences; 0 counts where a sentence has no further tagging."""
    chosen = np.random.default_rng(seed).permutation(corpus.sentences)[:SENTENCES].tolist()
    totals = np.zeros(len(sizes))
    for sentence in chosen:
        scores = top_n(make_lattice(corpus, sentence, parameters), n=max(sizes) + 1).scores
        odds = np.exp(scores - scores[:1])
        mass = np.cumsum(odds)
        totals += [odds[n] / mass[n] if n < len(odds) else 0.0 for n in sizes]
    return totals / max(1, len(chosen))
