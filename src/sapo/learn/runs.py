"""An order of samples in, runs of some hundred of them out: then Ctrl-C and the progress display have their turn."""

from collections.abc import Iterator

import numpy as np

from sapo.kernels.types import Longs

SAMPLES = 256


def runs_of(order: Longs) -> Iterator[Longs]:
    for begin in range(0, len(order), SAMPLES):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES])
