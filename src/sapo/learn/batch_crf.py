"""The conditional random field (Lafferty et al. 2001) as a batch problem: the optimum itself, by L-BFGS or OWL-QN.

    minimise over w   sum over the sentences of -log P(y* | x)  +  c1 |w|  +  c2 |w|^2

This is the objective of CRFsuite. A pass is an iteration: all sentences are looked at, mostly once, before the weights
move. Threads share out the sentences; each adds up a gradient of its own.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import flat as kernel
from sapo.kernels import update, vectors
from sapo.kernels.types import Doubles, Longs
from sapo.learn.flat import FlatLayout, FlatOptions
from sapo.learn.lbfgs import Minimiser
from sapo.learn.settings import Settings
from sapo.search.lattice import Parameters

CRF_LBFGS = "crf-lbfgs"  # the name of this learner
SENTENCES = 256  # between which Ctrl-C gets a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(FlatOptions):
    """What a batch CRF has beside `Settings`. The values, and what they mean, are those of CRFsuite.

    Training stops when the objective fell by less than `Settings.tolerance` (CRFsuite: delta), relatively, in `period`
    passes, or when |gradient| < epsilon * max(1, |w|).
    """

    l1: float = 0.0  # strength of L1 in addition to the L2 of `Settings`: an elastic net
    epsilon: float = 1e-5
    period: int = 10
    memories: int = 6  # steps from which the curvature is estimated
    trials: int = 20  # of the length of a step, at most

    def __post_init__(self) -> None:
        FlatOptions.__post_init__(self)
        for name, least in (("period", 1), ("memories", 1), ("trials", 1), ("epsilon", 0.0), ("l1", 0.0)):
            value = getattr(self, name)
            if not value >= least:
                raise SapoError(f"{name} must be at least {least}, not {value!r}")


@dataclass(slots=True)
class BatchWeights:
    """The weights of a batch CRF in training, as a `sapo.learn.state.Learned`."""

    layout: FlatLayout
    minimiser: Minimiser
    l2: float  # strength: l2 / 2 |w|^2
    period: int
    tolerance: float
    values: list[float] = field(default_factory=list)  # of the objective: before the first pass, and after each
    converged: str = ""  # why more passes are of no use

    own_rules: ClassVar[bool] = True

    def current(self) -> Parameters:
        return self.layout.parameters(self.minimiser.x)

    true_weights = current

    def keep(self, now: Parameters) -> Doubles:
        return self.minimiser.x

    def finish(self, best: Doubles | None) -> Parameters:
        return self.layout.parameters(self.minimiser.x if best is None else best)

    def arrays(self, best: Doubles | None) -> dict[str, NDArray[Any]]:
        own = self.minimiser
        found = {
            "x": own.x,
            "gradient": own.gradient,
            "steps": np.array(own.steps).reshape(-1, self.layout.size),
            "changes": np.array(own.changes).reshape(-1, self.layout.size),
            "values": np.array([own.smooth, *self.values]),
        }
        return found if best is None else {**found, "best": best}

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Doubles | None:
        own, size = self.minimiser, self.layout.size
        loaded = {name: np.array(array) for name, array in arrays.items()}
        for name, array in loaded.items():
            shape = {"values": (passes + 2,), "steps": (len(array), size), "changes": (len(array), size)}
            if array.dtype != np.float64 or array.shape != shape.get(name, (size,)):
                raise ValueError(f"its {name} do not fit the data")
        own.x, own.gradient = loaded["x"], loaded["gradient"]
        own.steps, own.changes = list(loaded["steps"]), list(loaded["changes"])
        if len(own.steps) != len(own.changes) or not all(
            vectors.dot(step, change) > 0 for step, change in zip(own.steps, own.changes, strict=True)
        ):
            raise ValueError("its parts do not fit together")
        own.smooth, *self.values = loaded["values"].tolist()
        self._judge(moved=True)
        return loaded.get("best")

    def pay_penalties(self) -> None:
        """Do nothing: the weights are always up to date."""

    def w_complexity(self) -> float:
        return float(np.abs(self.minimiser.x).mean()) if self.layout.size else 0.0

    def penalty(self) -> float:
        """Return the regulariser's part of the objective."""
        x = self.minimiser.x
        return self.l2 / 2 * vectors.dot(x, x) + self.minimiser.l1 * float(np.abs(x).sum())

    def iterate(self, corpus: EncodedCorpus, threads: int, totals: Doubles) -> None:
        """Make one step of the minimiser; what is counted at the new weights is added to `totals`."""
        counts = np.zeros_like(totals)

        def objective(x: Doubles, gradient: Doubles) -> float:
            counts[:] = 0
            total_gradient(corpus, self.layout, x, threads, gradient, counts)
            gradient += self.l2 * x
            return float(counts[update.LOSS]) + self.l2 / 2 * vectors.dot(x, x)

        own = self.minimiser
        own.begin(objective)
        if not self.values:
            self.values.append(own.value)
        moved = own.step(objective)
        self.values.append(own.value)
        totals += counts
        totals[update.LOSS] = own.value - self.penalty()
        self._judge(moved=moved)

    def _judge(self, *, moved: bool) -> None:
        own, values = self.minimiser, self.values
        if not moved or own.is_flat(own.slope()):
            self.converged = "converged"
        elif self.tolerance > 0 and len(values) > self.period:
            if values[-1 - self.period] - values[-1] < self.tolerance * abs(values[-1]):
                self.converged = "converged"


def batch_pass(
    weights: BatchWeights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Make one iteration, for which neither order nor rate matter; yield the number of sentences."""
    weights.iterate(corpus, settings.threads, totals)
    yield corpus.sentences


def total_gradient(
    corpus: EncodedCorpus, layout: FlatLayout, w: Doubles, threads: int, gradient: Doubles, totals: Doubles
) -> None:
    """Write the gradient of -log P(y* | x), summed over all sentences, and add to `totals` what is counted.

    For a given number of threads the result is the same in every run; for another it differs by rounding.
    """
    samples, flat = corpus.samples, layout.flat
    gradient[:] = 0.0
    ends = np.searchsorted(corpus.offsets, np.linspace(0, corpus.tokens, threads + 1)[1:-1])
    bounds = [0, *ends.tolist(), corpus.sentences]
    stopped: list[bool] = []

    def work(thread: int) -> tuple[Doubles, Doubles]:
        own = gradient if thread == 0 else np.zeros_like(gradient)
        counts = np.zeros_like(totals)
        for begin in range(bounds[thread], bounds[thread + 1], SENTENCES):
            if stopped:
                break
            end = min(begin + SENTENCES, bounds[thread + 1])
            kernel.crf_gradient(begin, end, samples, flat, w, own, counts)
        return own, counts

    if threads == 1:
        totals += work(0)[1]
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for own, counts in pool.map(work, range(threads)):
                totals += counts
                if own is not gradient:
                    gradient += own
        except BaseException:
            stopped.append(True)
            raise
