"""The stochastic gradient of CRFsuite: its step written out, its calibration, and where it ends."""

from typing import Any

import numpy as np
import pytest

from literal_sapo import SHARED
from sapo.errors import SapoError
from sapo.kernels import flat, sgd
from sapo.learn import Settings, SgdOptions, State, learn
from sapo.learn.batch_crf import BatchWeights
from sapo.learn.flat import flat_layout
from sapo.learn.lbfgs import Minimiser
from sapo.learn.sgd import SgdWeights, sgd_pass
from sapo.search.lattice import no_bans

ORDER = np.array([0, 2, 1, 3, 2, 0, 3, 1])


@pytest.mark.parametrize("values", [False, True])
def test_the_steps_are_those_of_pegasos_written_out(values: bool, tiny: Any) -> None:
    corpus = tiny.corpus(3, values=values)
    layout = flat_layout(corpus, SHARED + corpus.tokens, no_bans(3))
    start, lam, time = np.random.default_rng(0).normal(size=layout.size), 0.05, 30.0
    v = start.copy()
    decay = sgd.sgd_samples(ORDER, corpus.samples, layout.flat, v, 1.0, time, lam, np.zeros(8))
    w = start.copy()
    for t, sentence in enumerate(ORDER.tolist()):
        eta = 1 / (lam * (time + t))
        w *= 1 - eta * lam
        gradient = np.zeros(layout.size)
        flat.crf_gradient(sentence, sentence + 1, corpus.samples, layout.flat, w, gradient, np.zeros(8))
        w -= eta * gradient
    assert decay * v == pytest.approx(w, abs=1e-10)


def test_it_ends_near_the_optimum(tiny: Any) -> None:
    corpus = tiny.corpus(1)
    layout = flat_layout(corpus, SHARED + corpus.tokens, no_bans(3))
    weights = SgdWeights(layout, 0.4, 1e-6, SgdOptions(), np.zeros(layout.size))
    state = State(weights)
    stop = learn(sgd_pass, corpus, Settings(epochs=1000, tolerance=0.0), state)
    assert str(stop) == "converged"
    assert weights.time > 0
    batch = BatchWeights(layout, Minimiser(np.zeros(layout.size)), 0.4, 10, 0.0)
    while not batch.converged:
        batch.iterate(corpus, 1, np.zeros(20))
    assert batch.values[-1] <= min(weights.losses) == pytest.approx(batch.values[-1], rel=0.05)
    assert weights.vector() == pytest.approx(batch.vector(), abs=0.1)


@pytest.mark.parametrize("options", [{"calibration_rate": 1.0}, {"calibration_samples": 0}, {"period": 0}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SapoError, match=next(iter(options))):
        SgdOptions(**options)
