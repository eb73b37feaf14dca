"""What the passes of all learners have in common: runs of samples, and how far a sample moves the weights."""

from collections.abc import Iterator

import numpy as np

from sapo.kernels.types import Longs, Rates
from sapo.learn.settings import Settings

SAMPLES = 256


def runs_of(order: Longs) -> Iterator[Longs]:
    """Cut an order of samples into runs of some hundred: in between, Ctrl-C and the progress display get a turn."""
    for begin in range(0, len(order), SAMPLES):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES])


def rates_of(rate: float, settings: Settings, sentences: int) -> Rates:
    """The rate of a pass with the regulariser's share of one sample."""
    penalty = rate * settings.strength / sentences
    return Rates(
        rate,
        penalty if settings.regulariser == "l2" else 0.0,
        penalty if settings.regulariser == "l1" else 0.0,
    )
