"""Choose the n of the next pass from the corpus and the weights (`n="auto"`).

We want the score of a large n at the cost of a small one. The distance between SAPO's update and the gradient does not
help: at n = 5 it is still nearly as long as the gradient, and every doubling of n shortens it a little, without a knee
(docs/explanation/theory.md), while the score stopped improving long ago. What helps is how much one more tagging would
change. If the next tagging joins the n best, it takes the probability

    P_{n+1} = exp(w.F(x, y_{n+1})) / sum over Y_{n+1} of exp(w.F(x, y))

from them. This is exactly the total variation between the P_k of n and those of n + 1, and the update moves by at most
2 * P_{n+1} * max |F(x, y)|. So we take the smallest n for which the next tagging would get less than SHARE on average.
"""

from collections.abc import Sequence

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Doubles
from sapo.search import top_n
from sapo.search.lattice import Parameters, make_lattice

SIZES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50)
SENTENCES = 200  # number of sentences to measure
SHARE = 0.05  # chosen on CoNLL-2000, JNLPBA and EWT; see docs/explanation/theory.md
FIRST = 5  # used while all weights are zero, when nothing can be measured


def choose_n(corpus: EncodedCorpus, parameters: Parameters, *, seed: int = 0) -> int:
    """Return the smallest n of SIZES at which one more tagging would change little, or the largest of SIZES."""
    if not parameters.nonzero:
        return FIRST
    shares = next_shares(corpus, parameters, SIZES, seed=seed)
    return next((n for n, share in zip(SIZES, shares.tolist(), strict=True) if share < SHARE), SIZES[-1])


def next_shares(corpus: EncodedCorpus, parameters: Parameters, sizes: Sequence[int], *, seed: int = 0) -> Doubles:
    """Return the mean of P_{n+1} over some sentences, for each n. Sentences with only n taggings count as 0."""
    chosen = np.random.default_rng(seed).permutation(corpus.sentences)[:SENTENCES].tolist()
    totals = np.zeros(len(sizes))
    for sentence in chosen:
        scores = top_n(make_lattice(corpus, sentence, parameters), n=max(sizes) + 1).scores
        odds = np.exp(scores - scores[:1])
        mass = np.cumsum(odds)
        totals += [odds[n] / mass[n] if n < len(odds) else 0.0 for n in sizes]
    return totals / max(1, len(chosen))
