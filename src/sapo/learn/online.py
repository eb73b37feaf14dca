"""Averaged perceptron, passive aggressive and AROW as CRFsuite has them, for those who come from there.

    crfsuite-ap      Collins 2002, averaged
    crfsuite-pa      Crammer et al. 2006: moves as far as one sentence needs, at most c
    crfsuite-arow    Crammer et al. 2009: weights that were often changed move less

They differ from `perceptron-avg` and `mira-avg` in what has a weight (only what training shows, see learn/flat.py), in
the cost, and in when they stop: after all passes, unless the mean loss is below epsilon.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels import online as kernel
from sapo.kernels import update
from sapo.kernels.types import Doubles, Longs, OnlineRules
from sapo.learn.flat import FlatLayout, FlatOptions
from sapo.learn.passes import runs_of
from sapo.learn.settings import Settings
from sapo.search.lattice import Parameters

METHODS = {
    "crfsuite-ap": kernel.PERCEPTRON,
    "crfsuite-pa": kernel.PASSIVE_AGGRESSIVE,
    "crfsuite-arow": kernel.AROW,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineOptions(FlatOptions):
    """What these learners have beside `Settings`. The values, and what they mean, are those of CRFsuite."""

    epsilon: float = 0.0  # stop when the mean loss of a sentence is below
    pa_type: int = 1  # 0: without slack; 1: PA-I; 2: PA-II
    c: float = 1.0  # passive aggressive: how far a sentence may move the weights
    error_sensitive: bool = True  # passive aggressive: the cost grows with the number of wrong labels
    averaging: bool = True  # passive aggressive
    variance: float = 1.0  # AROW: of all weights, in the beginning
    gamma: float = 1.0  # AROW: how little a sentence may move the weights

    def __post_init__(self) -> None:
        FlatOptions.__post_init__(self)
        for name in ("c", "variance", "gamma"):
            if not getattr(self, name) > 0:
                raise SapoError(f"{name} must be more than 0, not {getattr(self, name)!r}")
        if self.pa_type not in (0, 1, 2):
            raise SapoError(f"pa_type must be 0, 1 or 2, not {self.pa_type!r}")


@dataclass(slots=True)
class OnlineWeights:
    """The weights of such a learner in training, as a `sapo.learn.state.Learned`."""

    layout: FlatLayout
    rules: OnlineRules
    averaged: bool
    epsilon: float
    x: Doubles
    beside: Doubles  # of AROW the variances; of the others what averaging needs
    clock: float = 1.0  # sentences so far, and 1
    still: bool = False  # whether the last pass changed nothing: then none will
    converged: str = ""
    _delta: Doubles = field(init=False)

    own_rules: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._delta = np.zeros_like(self.x)

    @classmethod
    def zeros(cls, name: str, layout: FlatLayout, options: OnlineOptions) -> "OnlineWeights":
        """Return the weights of a learner before training."""
        method = METHODS[name]
        rules = OnlineRules(method, options.pa_type, options.c, options.error_sensitive, options.gamma)
        averaged = method == kernel.PERCEPTRON or (method == kernel.PASSIVE_AGGRESSIVE and options.averaging)
        beside = np.full(layout.size, options.variance if method == kernel.AROW else 0.0)
        return cls(layout, rules, averaged, options.epsilon, np.zeros(layout.size), beside)

    def current(self) -> Parameters:
        return self.layout.parameters(self.x)

    def true_weights(self) -> Parameters:
        return self.layout.parameters(self.vector())

    def vector(self) -> Doubles:
        """Return all weights, or their average: each change counts for the share of the time that it was there."""
        return self.x - self.beside / self.clock if self.averaged else self.x.copy()

    def keep(self, now: Parameters) -> Doubles:
        return self.vector()

    def finish(self, best: Doubles | None) -> Parameters:
        return self.true_weights() if best is None else self.layout.parameters(best)

    def arrays(self, best: Doubles | None) -> dict[str, NDArray[Any]]:
        found = {"x": self.x, "beside": self.beside, "state": np.array([self.clock, self.still])}
        return found if best is None else {**found, "best": best}

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Doubles | None:
        loaded = {name: np.array(array) for name, array in arrays.items()}
        for name, array in loaded.items():
            if array.dtype != np.float64 or array.shape != (2 if name == "state" else self.layout.size,):
                raise ValueError(f"its {name} do not fit the data")
        if not loaded["state"][0] >= 1:
            raise ValueError("its state is damaged")
        self.x, self.beside = loaded["x"], loaded["beside"]
        self.clock, self.still = float(loaded["state"][0]), bool(loaded["state"][1])
        return loaded.get("best")

    def pay_penalties(self) -> None:
        """Do nothing: there is no penalty."""

    def penalty(self) -> float:
        return 0.0

    def w_complexity(self) -> float:
        return float(np.abs(self.x).mean()) if self.layout.size else 0.0

    def learn(self, corpus: EncodedCorpus, run: Longs, totals: Doubles) -> None:
        """Learn from a run of sentences. Where all of them came out right in the last pass, only time goes on."""
        if self.still:
            self.clock += len(run)
            totals[[update.TOKENS, update.CORRECT]] += np.diff(corpus.offsets)[run].sum()
            return
        self.clock = kernel.online_samples(
            run, corpus.samples, self.layout.flat, self.x, self.beside, self._delta, self.clock, self.rules, totals
        )


def online_pass(
    weights: OnlineWeights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them."""
    for run in runs_of(order):
        weights.learn(corpus, run, totals)
        yield len(run)
    weights.still = totals[update.UPDATED_SAMPLES] == 0
    if totals[update.LOSS] / corpus.sentences < weights.epsilon:
        weights.converged = "converged"
