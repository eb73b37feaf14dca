"""Several threads on shared weights: they learn the same thing, and their books are in order."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.learn import LEARNERS
from sapo.learn import loop as passes_module
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import SCALE, STEPS
from sapo.search.lattice import TOKENS

ORDER = np.random.default_rng(0).integers(4, size=64)


def test_one_thread_is_the_learner_itself(tiny: Any) -> None:
    corpus = tiny.corpus(1)
    plain, threaded = tiny.weights(1, corpus), tiny.weights(1, corpus)
    list(sapo_pass(plain, corpus, ORDER, 0.1, Settings(n=3), np.zeros(20)))
    list(LEARNERS["sapo"].run(threaded, corpus, ORDER, 0.1, Settings(n=3), np.zeros(20)))
    assert plain.features.tobytes() == threaded.features.tobytes()


@pytest.mark.parametrize("learner", ["sapo", "sapo-avg", "crf", "perceptron-avg", "mira-nbest"])
def test_threads_count_every_sample_and_shrink_alike(tiny: Any, learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes_module, "SAMPLES_PER_RUN", 8)
    corpus = tiny.corpus(2)
    results = []
    for threads in (1, 3):
        weights, totals = tiny.weights(2, corpus), np.zeros(20)
        weights.prepare(averaged=LEARNERS[learner].averaged, l1=False)
        settings = Settings(n=3, strength=0.2, threads=threads)
        done = sum(LEARNERS[learner].run(weights, corpus, ORDER, 0.1, settings, totals))
        assert done == len(ORDER)
        assert np.isfinite(weights.true_weights().features).all()
        results.append((weights.state.copy(), totals[TOKENS]))
    assert results[0][1] == results[1][1]
    np.testing.assert_allclose(results[0][0][SCALE], results[1][0][SCALE], rtol=1e-9)
    assert results[0][0][STEPS] == results[1][0][STEPS]


def test_a_strength_that_would_fold_the_scale_inside_of_a_thread_is_refused(tiny: Any) -> None:
    corpus = tiny.corpus(3)
    settings = dataclasses.replace(Settings(strength=10.0), threads=2)
    with pytest.raises(SapoError, match="too large for 2 threads"):
        list(LEARNERS["sapo"].run(tiny.weights(3, corpus), corpus, ORDER, 0.1, settings, np.zeros(20)))
