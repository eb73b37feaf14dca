"""The paper's unification: SAPO is the perceptron at one end (n = 1) and the CRF at the other (n = all taggings)."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Floats
from sapo.learn import LEARNERS
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

FOREVER: dict[str, Any] = {"tolerance": 0.0, "patience": 1000}


def run(name: str, corpus: EncodedCorpus, weights: Weights, order: Any, settings: Settings) -> tuple[Floats, Floats]:
    learner = LEARNERS[name].run
    list(learner(weights, corpus, np.asarray(order), settings.rate, settings, np.zeros(20)))
    return weights.true_weights().blocks[:2]


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("suffix", ["", "-avg"])
def test_sapo_with_n_1_rate_1_and_strength_0_is_the_perceptron_pass_for_pass(
    tiny: Any, values: bool, transitions: bool, zero: bool, suffix: str
) -> None:
    """To the last bit, also from zero, where most taggings score the same at first."""
    corpus = tiny.corpus(11, lengths=(3, 1, 6, 2, 5, 4), values=values)
    settings = Settings(n=1, rate=1.0, strength=0.0, schedule="fixed", epochs=4, seed=3, **FOREVER)
    results = []
    for name in ("sapo", "perceptron"):
        state = State(tiny.weights(11, corpus, transitions=transitions))
        if zero:
            state.weights.clear()
        state.weights.prepare(averaged=LEARNERS[name + suffix].averaged, l1=False)
        learn(LEARNERS[name + suffix].run, corpus, settings, state)
        results.append((*state.weights.true_weights().blocks[:2], [record.updates for record in state.history]))
    assert sum(results[0][2]) >= 8
    assert results[0][2] == results[1][2]
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
@pytest.mark.parametrize("regularizer", ["none", "l2", "l1"])
def test_sapo_with_n_all_taggings_is_the_crf_sample_for_sample(
    tiny: Any, values: bool, transitions: bool, regularizer: str
) -> None:
    corpus = tiny.corpus(12, values=values)
    settings = Settings(n=81, rate=0.3, strength=2.0, regularizer=regularizer)
    sapo, crf = (tiny.weights(12, corpus, transitions=transitions) for _ in range(2))
    for weights in (sapo, crf):
        weights.prepare(averaged=False, l1=regularizer == "l1")
    for sentence in [0, 2, 1, 3, 2, 0, 3, 1]:
        ours = run("sapo", corpus, sapo, [sentence], settings)
        theirs = run("crf", corpus, crf, [sentence], settings)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-5)


def test_the_more_candidates_the_nearer_is_the_step_of_sapo_to_that_of_the_crf(tiny: Any) -> None:
    samples = 40
    corpus = tiny.corpus(13, lengths=(3,) * samples)
    sizes = [1, 2, 4, 8, 16, 27]

    def step(name: str, sentence: int, n: int) -> Floats:
        """The change of all weights by one sample, always from the same ones."""
        weights = tiny.weights(13, corpus)
        before = np.concatenate([array.ravel() for array in weights.true_weights().blocks[:2]])
        settings = Settings(n=n, rate=1.0, strength=0.0)
        after = np.concatenate([array.ravel() for array in run(name, corpus, weights, [sentence], settings)])
        return np.asarray(after - before, np.float32)

    crf = [step("crf", sentence, 1) for sentence in range(samples)]
    distances = [
        np.mean([np.linalg.norm(step("sapo", sentence, n) - crf[sentence]) for sentence in range(samples)])
        for n in sizes
    ]
    assert all(further > nearer for further, nearer in pairwise(distances))
    assert distances[0] > 0.3
    assert distances[-1] < 1e-5
