"""An order of samples in, runs of some hundred of them out: then Ctrl-C and the progress display have their turn."""

from collections.abc import Iterator

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Floats, Ints, Longs
from sapo.learn.weights import Weights

SAMPLES = 256


def runs_of(order: Longs) -> Iterator[Longs]:
    for begin in range(0, len(order), SAMPLES):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES])


def shared_arguments(
    corpus: EncodedCorpus, weights: Weights
) -> tuple[Longs, Longs, Ints, Floats, Ints, Floats, Floats, bool, Floats, Floats]:
    """What the kernel of every learner takes after the samples."""
    return (
        corpus.offsets,
        corpus.row_offsets,
        corpus.rows,
        corpus.values,
        corpus.gold,
        weights.features,
        weights.edges,
        weights.transitions,
        weights.sums,
        weights.edge_sums,
    )
