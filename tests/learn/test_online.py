"""Perceptron, passive aggressive and AROW on a vector, beside the same written out over all taggings."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from literal_sapo import SHARED
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels.types import Doubles
from sapo.learn import OnlineOptions, Settings, State, learn
from sapo.learn.flat import FlatLayout, flat_layout
from sapo.learn.online import OnlineWeights, online_pass
from sapo.search.lattice import no_bans

ORDER = np.array([0, 2, 1, 3, 2, 0, 3, 1, 0, 1, 2, 3])
CASES: list[tuple[str, dict[str, Any]]] = [
    ("crfsuite-ap", {}),
    ("crfsuite-pa", {"pa_type": 0}),
    ("crfsuite-pa", {"pa_type": 1, "c": 0.05}),
    ("crfsuite-pa", {"pa_type": 2, "c": 0.7}),
    ("crfsuite-pa", {"error_sensitive": False, "averaging": False}),
    ("crfsuite-arow", {"variance": 2.0, "gamma": 0.3}),
]


def problem(seed: int, tiny: Any, *, values: bool) -> tuple[EncodedCorpus, FlatLayout, Doubles]:
    corpus = tiny.corpus(seed, values=values)
    layout = flat_layout(corpus, SHARED + corpus.tokens, no_bans(3))
    return corpus, layout, np.random.default_rng(seed).normal(size=layout.size)


def counts_of(corpus: EncodedCorpus, layout: FlatLayout, sentence: int, path: Any) -> Doubles:
    """F(x, y), over all places of the vector."""
    flat, found, first = layout.flat, np.zeros(layout.size), corpus.offsets[sentence]
    for t, y in enumerate(path):
        for i in range(*corpus.row_offsets[first + t : first + t + 2]):
            for k in range(*flat.offsets[corpus.rows[i] : corpus.rows[i] + 2]):
                if flat.labels[k] == y:
                    found[k] += corpus.values[i] if len(corpus.values) else 1.0
    for pair in pairwise(path):
        if flat.edges[pair] >= 0:
            found[flat.edges[pair]] += 1
    return found


def written_out(name: str, given: dict[str, Any], corpus: EncodedCorpus, layout: FlatLayout, w: Doubles) -> Doubles:
    """The result of learning in ORDER."""
    options, w = OnlineOptions(**given), w.copy()
    variances, before = np.full(layout.size, options.variance), []
    for sentence in ORDER:
        before.append(w.copy())
        first, last = corpus.offsets[sentence : sentence + 2]
        gold = tuple(corpus.gold[first:last].tolist())
        paths = list(product(range(3), repeat=last - first))
        best = max(paths, key=lambda path: float(counts_of(corpus, layout, sentence, path) @ w))
        if best == gold:
            continue
        delta = counts_of(corpus, layout, sentence, gold) - counts_of(corpus, layout, sentence, best)
        lead, wrong = -float(delta @ w), sum(a != b for a, b in zip(best, gold, strict=True))
        if name == "crfsuite-ap":
            w += delta
        elif name == "crfsuite-pa":
            cost, size = lead + (np.sqrt(wrong) if options.error_sensitive else 1.0), float(delta @ delta)
            steps = (cost / size, min(options.c, cost / size), cost / (size + 1 / (2 * options.c)))
            w += steps[options.pa_type] * delta
        else:
            w += (lead + wrong) / (options.gamma + float(delta @ (variances * delta))) * variances * delta
            variances = 1 / (1 / variances + delta**2 / options.gamma)
    before.append(w.copy())
    averaged = name != "crfsuite-arow" and options.averaging
    return np.mean(before, axis=0) if averaged else w


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "given"), CASES)
def test_the_weights_are_those_of_the_method_written_out(
    name: str, given: dict[str, Any], seed: int, values: bool, tiny: Any
) -> None:
    corpus, layout, start = problem(seed, tiny, values=values)
    weights = OnlineWeights.zeros(name, layout, OnlineOptions(**given))
    weights.x = start.copy()
    list(online_pass(weights, corpus, ORDER, 1.0, Settings(), np.zeros(20)))
    assert weights.vector() == pytest.approx(written_out(name, given, corpus, layout, start), abs=1e-9)


@pytest.mark.parametrize("name", ["crfsuite-ap", "crfsuite-pa", "crfsuite-arow"])
def test_all_passes_count_though_the_later_ones_change_nothing(name: str, tiny: Any) -> None:
    class Slow(OnlineWeights):
        def learn(self, *given: Any) -> None:
            self.still = False
            super().learn(*given)

    corpus, layout, _ = problem(1, tiny, values=False)
    quick, slow = (kind.zeros(name, layout, OnlineOptions()) for kind in (OnlineWeights, Slow))
    history = []
    for state in (State(quick), State(slow)):
        settings = Settings(epochs=25, tolerance=0.0, regulariser="none", strength=0.0)
        stop = learn(online_pass, corpus, settings, state)
        assert str(stop) == "all 25 epochs done"
        history.append([(record.accuracy, record.updates) for record in state.history])
    assert quick.still
    assert history[0] == history[1]
    assert quick.vector() == pytest.approx(slow.vector(), abs=1e-12)


def test_a_mean_loss_below_epsilon_ends_training(tiny: Any) -> None:
    corpus, layout, _ = problem(1, tiny, values=False)
    state = State(OnlineWeights.zeros("crfsuite-ap", layout, OnlineOptions(epsilon=0.1)))
    stop = learn(online_pass, corpus, Settings(epochs=50, tolerance=0.0, regulariser="none", strength=0.0), state)
    assert str(stop) == "converged"
    assert state.history[-1].objective < 0.1 <= state.history[-2].objective


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": 0}, "c must be more than 0, not 0"),
        ({"pa_type": 3}, "pa_type must be 0, 1 or 2"),
        ({"min_freq": -1}, "min_freq must be 0 or more, not -1"),
    ],
)
def test_options_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SapoError, match=message):
        OnlineOptions(**given)
