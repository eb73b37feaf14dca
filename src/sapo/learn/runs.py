"""What the passes of all learners have in common: runs of samples, and how far a sample moves the weights."""

from collections.abc import Callable, Iterator

import numpy as np

from sapo.kernels.types import Longs, Parts, Rates
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

SAMPLES = 256


class NoRoomError(Exception):
    """A thread has no room for new weights; says how many samples it has done."""

    def __init__(self, done: int) -> None:
        super().__init__(done)
        self.done = done


def runs_of(order: Longs) -> Iterator[Longs]:
    """Cut an order of samples into runs of some hundred: in between, Ctrl-C and the progress display get a turn."""
    for begin in range(0, len(order), SAMPLES):
        yield np.ascontiguousarray(order[begin : begin + SAMPLES])


def learn_run(weights: Weights, run: Longs, kernel: Callable[[Longs, Parts], int]) -> None:
    """Learn from a run of samples. Where the kernel has no room for new weights, make some and go on."""
    done = kernel(run, weights.parts)
    while done < len(run):
        if weights.rows.shared:
            raise NoRoomError(done)
        weights.rows.grow()
        run = np.ascontiguousarray(run[done:])
        done = kernel(run, weights.parts)


def rates_of(rate: float, settings: Settings, sentences: int) -> Rates:
    """The rate of a pass with the regulariser's share of one sample."""
    penalty = rate * settings.strength / sentences
    return Rates(
        rate,
        penalty if settings.regulariser == "l2" else 0.0,
        penalty if settings.regulariser == "l1" else 0.0,
    )
