"""A tagger and sentences in, the probabilities of tags over all taggings out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sapo.kernels import forward
from sapo.kernels.types import Doubles
from sapo.lattice import Lattice, make_lattice
from sapo.tagger import Tagger


def marginal_arrays(tagger: Tagger, sentences: Iterable[Sequence[Any]]) -> Iterator[Doubles]:
    """[tokens, labels] for each sentence."""
    for corpus in tagger._encoded_batches(sentences):
        for sentence in range(corpus.sentences):
            yield marginals(make_lattice(corpus, sentence, tagger.model.parameters))


def marginals(lattice: Lattice) -> Doubles:
    T, L = lattice.node.shape
    alpha, beta, marginal = (np.empty((T, L), np.float64) for _ in range(3))
    if T:
        forward.forward_backward(
            lattice.node, lattice.steps, T, alpha, beta, marginal, np.empty(lattice.steps.shape, np.float64)
        )
    return marginal
