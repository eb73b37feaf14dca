"""The CRF by stochastic gradient with L2 as CRFsuite has it (`l2sgd`), for those who come from there.

The rate falls with inverse time, from a start that is calibrated on up to 1,000 sentences: larger and smaller rates are
tried for one pass each, and the one with the smallest loss is taken. The weights of the pass with the smallest loss are
kept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import sgd as kernel
from sapo.kernels import update, vectors
from sapo.kernels.types import Doubles, Longs
from sapo.learn.flat import FlatLayout, FlatOptions
from sapo.learn.passes import runs_of
from sapo.learn.settings import Settings
from sapo.search.lattice import Parameters

TRIALS = 100  # of rates, at most: where none lowers the loss, there would be no end


@dataclass(frozen=True, slots=True, kw_only=True)
class SgdOptions(FlatOptions):
    """What this learner has beside `Settings`. The values, and what they mean, are those of CRFsuite."""

    period: int = 10  # stop when the loss fell by less than `Settings.tolerance`, relatively, in this many passes
    calibration_eta: float = 0.1  # the first rate to try
    calibration_rate: float = 2.0  # by which rates differ
    calibration_samples: int = 1000
    calibration_candidates: int = 10  # rates that lower the loss, in each direction

    def __post_init__(self) -> None:
        FlatOptions.__post_init__(self)
        for name, least in (("period", 1), ("calibration_samples", 1), ("calibration_candidates", 1)):
            if not getattr(self, name) >= least:
                raise SapoError(f"{name} must be at least {least}, not {getattr(self, name)!r}")
        if not (self.calibration_eta > 0 and self.calibration_rate > 1):
            raise SapoError("calibration_eta must be more than 0, and calibration_rate more than 1")


@dataclass(slots=True)
class SgdWeights:
    """The weights of this learner in training, as a `sapo.learn.state.Learned`."""

    layout: FlatLayout
    l2: float  # strength: l2 / 2 |w|^2
    tolerance: float
    options: SgdOptions
    x: Doubles
    time: float = 0.0  # t0 + t; 0 before the rate is calibrated
    best: Doubles = field(default_factory=lambda: np.empty(0))  # the weights with the smallest loss
    losses: list[float] = field(default_factory=list)  # of each pass, with the penalty
    converged: str = ""

    own_rules: ClassVar[bool] = True

    def current(self) -> Parameters:
        return self.layout.parameters(self.x)

    def vector(self) -> Doubles:
        """Return the weights that are kept."""
        return self.best if len(self.best) else self.x

    def true_weights(self) -> Parameters:
        return self.layout.parameters(self.vector())

    def keep(self, now: Parameters) -> Doubles:
        return self.vector()

    def finish(self, best: Doubles | None) -> Parameters:
        return self.true_weights() if best is None else self.layout.parameters(best)

    def arrays(self, best: Doubles | None) -> dict[str, NDArray[Any]]:
        found = {"x": self.x, "lowest": self.vector(), "state": np.array([self.time, *self.losses])}
        return found if best is None else {**found, "best": best}

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Doubles | None:
        loaded = {name: np.array(array) for name, array in arrays.items()}
        for name, array in loaded.items():
            if array.dtype != np.float64 or array.shape != (passes + 1 if name == "state" else self.layout.size,):
                raise ValueError(f"its {name} do not fit the data")
        if not (loaded["state"][0] == 0 or loaded["state"][0] > 1):  # 1 - 1 / time shrinks the weights
            raise ValueError("its state is damaged")
        self.x, self.best = loaded["x"], loaded["lowest"]
        self.time, *self.losses = loaded["state"].tolist()
        return loaded.get("best")

    def pay_penalties(self) -> None:
        """Do nothing: the weights are always up to date after a pass."""

    def penalty(self) -> float:
        """Return the regulariser's part of the objective."""
        return self.l2 / 2 * vectors.dot(self.x, self.x)

    def w_complexity(self) -> float:
        return float(np.abs(self.x).mean()) if self.layout.size else 0.0

    def calibrate(self, corpus: EncodedCorpus, order: Longs) -> None:
        """Choose the start rate: that with the smallest loss in a pass over some sentences."""
        options = self.options
        chosen, lam = np.ascontiguousarray(order[: options.calibration_samples]), self.l2 / corpus.sentences
        worst = self._trial(corpus, chosen, options.calibration_eta, lam, learn=False)
        eta, lowest, left, falling = options.calibration_eta, inf, options.calibration_candidates, False
        best = eta
        for _ in range(TRIALS):
            loss = self._trial(corpus, chosen, eta, lam)
            lowers = isfinite(loss) and loss < worst
            left -= lowers
            if lowers and loss < lowest:
                lowest, best = loss, eta
            if not falling and not (lowers and left > 0):  # larger ones are no use: go on with smaller ones
                falling, left, eta = True, options.calibration_candidates, options.calibration_eta
            elif falling and left <= 0:
                break
            eta = eta / options.calibration_rate if falling else eta * options.calibration_rate
        self.time = 1.0 / (lam * best)

    def _trial(self, corpus: EncodedCorpus, chosen: Longs, eta: float, lam: float, *, learn: bool = True) -> float:
        """Return the loss of a pass with this rate, the weights being 0 at first."""
        v, totals = np.zeros(self.layout.size), np.zeros(update.BY_RANK)
        if not learn:  # so late that no step moves the weights
            eta = 1e-30
        decay = kernel.sgd_samples(chosen, corpus.samples, self.layout.flat, v, 1.0, 1.0 / (lam * eta), lam, totals)
        norm = decay * decay * vectors.dot(v, v) if learn else 0.0
        return float(totals[update.LOSS]) + lam / 2 * norm * len(chosen)

    def end_pass(self, loss: float) -> None:
        """Keep the weights if the loss is the smallest so far, and see whether it still falls."""
        total, period = loss + self.penalty(), self.options.period
        if total < min(self.losses, default=inf):
            self.best = self.x.copy()
        self.losses.append(total)
        if len(self.losses) > period and self.losses[-1 - period] - total < self.tolerance * total:
            self.converged = "converged"


def sgd_pass(
    weights: SgdWeights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them."""
    if not weights.time:
        weights.calibrate(corpus, order)
    lam = weights.l2 / corpus.sentences
    for run in runs_of(order):
        v = weights.x.copy()
        decay = kernel.sgd_samples(run, corpus.samples, weights.layout.flat, v, 1.0, weights.time, lam, totals)
        weights.x, weights.time = decay * v, weights.time + len(run)
        yield len(run)
    weights.end_pass(float(totals[update.LOSS]))
