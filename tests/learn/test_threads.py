"""Samples of a block are searched with the same weights, by any number of threads: all of them learn the same."""

import threading
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from sapo import jit
from sapo.jit.team import Pace, Team, in_team, meet, take
from sapo.learn import sapo as learner
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import SMALLEST_SCALE, Weights

ORDER = np.random.default_rng(0).integers(4, size=70)
TOTALS = 20


class AlwaysAll(Pace):
    """As many threads as there may be, even where fewer are faster."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._untried = [most]

    def note(self, threads: int, work: int, seconds: float) -> None:
        pass


def learned(tiny: Any, corpus: Any, settings: Settings, seed: int = 1, *, averaged: bool = True) -> tuple[Weights, Any]:
    weights, totals = tiny.weights(seed, corpus), np.zeros(TOTALS)
    weights.prepare(averaged=averaged, l1=settings.regularizer == "l1")
    assert sum(sapo_pass(weights, corpus, ORDER, 0.1, settings, totals)) == len(ORDER)
    return weights, totals


@pytest.mark.parametrize("how", [{"strength": 0.2}, {"strength": 0.1, "regularizer": "l1"}, {"stop_ratio": 10.0}])
def test_any_number_of_threads_learns_the_same_bytes(
    tiny: Any, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "Pace", AlwaysAll)
    corpus = tiny.corpus(2)
    alone, totals = learned(tiny, corpus, Settings(n=3, block=16, threads=1, **how))
    for threads in (2, 3, 8):
        weights, found = learned(tiny, corpus, Settings(n=3, block=16, threads=threads, **how))
        for mine, theirs in zip(alone._blocks(), weights._blocks(), strict=True):
            assert [array.tobytes() for array in mine] == [array.tobytes() for array in theirs]
        assert alone.state.tobytes() == weights.state.tobytes()
        assert totals.tobytes() == found.tobytes()


def test_a_block_adds_up_what_each_of_its_samples_learns_alone(tiny: Any) -> None:
    corpus, block = tiny.corpus(3), 4
    settings = Settings(n=3, strength=0.0, block=block)
    weights, _ = learned(tiny, corpus, settings, averaged=False)
    twin = tiny.weights(1, corpus)
    for begin in range(0, len(ORDER), block):
        before, steps = deepcopy(twin), []
        for sample in ORDER[begin : begin + block].tolist():
            one = deepcopy(before)
            list(sapo_pass(one, corpus, np.array([sample]), 0.1, Settings(n=3, strength=0.0), np.zeros(TOTALS)))
            steps.append((one.features - before.features, one.edges - before.edges))
        twin.features = before.features + sum(change for change, _ in steps)
        twin.edges += sum(change for _, change in steps)
    np.testing.assert_allclose(weights.features, twin.features, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights.edges, twin.edges, rtol=1e-4, atol=1e-5)


def test_the_scale_is_folded_between_blocks(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "Pace", AlwaysAll)
    corpus = tiny.corpus(2)
    results = []
    for threads in (1, 2):  # each sample shrinks the weights by 4 %, and the scale by e^-2.8 in all
        weights, _ = learned(tiny, corpus, Settings(n=3, strength=1.6, block=8, threads=threads))
        assert weights.scale > SMALLEST_SCALE
        results.append(weights.true_weights().features.tobytes())
    assert results[0] == results[1]


def test_where_weights_shrink_a_lot_at_each_sample_a_block_has_one() -> None:
    assert Settings(block=16).block_of(0.04) == 16
    assert Settings(block=16).block_of(0.05) == 1


def test_a_thread_that_fails_does_not_leave_the_others_waiting() -> None:
    went_on = []

    def work(team: Team) -> int:
        if team.thread == 1:
            raise MemoryError("no room")
        went_on.append(meet(team))
        return team.thread

    with pytest.raises(MemoryError, match="no room"):
        in_team(3, work)
    assert went_on == [False, False]


def test_each_piece_of_work_is_taken_once_and_nobody_goes_on_before_all_have_come() -> None:
    done: list[int] = []
    lock, early = threading.Lock(), []

    def work(team: Team) -> None:
        while (piece := take(team)) < 1000:
            with lock:
                done.append(piece)
        meet(team)
        if len(done) < 1000:
            early.append(team.thread)

    in_team(4, work)
    assert sorted(done) == list(range(1000))
    assert not early


def test_interpreted_kernels_have_one_thread(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(threads: int, work: Any) -> Any:
        asked.append(threads)
        return in_team(threads, work)

    monkeypatch.setattr(learner, "in_team", note)
    monkeypatch.setattr(learner, "Pace", AlwaysAll)
    learned(tiny, tiny.corpus(2), Settings(n=3, block=16, threads=2))
    assert asked == [2 if jit.compiled() else 1]
