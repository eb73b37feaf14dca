"""The loop around every learner: order, rate, dev set, stopping, interruption, going on."""

import copy
import dataclasses
import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.learn import LEARNERS
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import DevSet, PassRecord, State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Parameters

FOREVER = {"tolerance": 0.0, "patience": 1000}


class Recorder:
    """A learner that notes what it is given and then learns as SAPO does."""

    def __init__(self) -> None:
        self.orders: list[list[int]] = []
        self.rates: list[float] = []

    def __call__(self, weights: Weights, corpus: EncodedCorpus, order: Any, rate: float, *rest: Any) -> Iterator[int]:
        self.orders.append(order.tolist())
        self.rates.append(rate)
        return sapo_pass(weights, corpus, order, rate, *rest)


class Watcher:
    """An observer that notes all it is told, and may press Ctrl-C."""

    def __init__(self, *, at_sample: tuple[int, int] | None = None, after_pass: int | None = None) -> None:
        self.at_sample, self.after_pass = at_sample, after_pass
        self.told: list[tuple[int, int, int]] = []
        self.records: list[PassRecord] = []
        self.weights: list[tuple[np.ndarray, np.ndarray]] = []

    def samples(self, epoch: int, done: int, of: int) -> None:
        self.told.append((epoch, done, of))
        if (epoch, done) == self.at_sample:
            raise KeyboardInterrupt

    def passed(self, record: PassRecord, state: State) -> None:
        self.records.append(record)
        self.weights.append(state.weights.true_weights().blocks[:2])
        if record.epoch == self.after_pass:
            raise KeyboardInterrupt


class ScriptedDev:
    """A dev set whose scores are known beforehand."""

    def __init__(self, *values: float, error: float = 0.0) -> None:
        self.values, self.error = iter(values), error

    def evaluate(self, parameters: Parameters) -> Any:
        return self.tag(parameters)[1]

    def tag(self, parameters: Parameters) -> tuple[Any, Any]:
        return None, SimpleNamespace(main=("accuracy", next(self.values)), error=self.error)


def scripted_learner(*losses: float) -> Any:
    """A learner that learns nothing; the mean loss of each pass is known beforehand."""
    script = iter(losses)

    def one_pass(
        weights: Any, corpus: EncodedCorpus, order: Any, rate: Any, settings: Any, totals: Any
    ) -> Iterator[int]:
        totals[0] += next(script) * corpus.sentences
        yield len(order)

    return one_pass


def same(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def timeless(history: list[PassRecord]) -> list[PassRecord]:
    return [dataclasses.replace(record, seconds=0, tokens_per_second=0) for record in history]


def fresh(tiny: Any, corpus: EncodedCorpus, **options: Any) -> State:
    return State(tiny.weights(0, corpus, **options))


def dev_of(corpus: EncodedCorpus) -> DevSet:
    return DevSet(corpus, ["A", "B", "C"])


@pytest.mark.parametrize("transitions", [True, False])
def test_a_run_equals_algorithm_1_and_reports_it(tiny: Any, transitions: bool) -> None:
    corpus = tiny.corpus(1, lengths=(3, 1, 4, 2, 3), values=True)
    state = fresh(tiny, corpus, transitions=transitions)
    literal = tiny.literal(corpus, state.weights)
    settings = Settings(n=4, strength=0.7, rate=0.3, decay=0.8, epochs=3, seed=5, **FOREVER)
    recorder = Recorder()
    learn(recorder, corpus, settings, state)
    for epoch, (order, record) in enumerate(zip(recorder.orders, state.history, strict=True)):
        literal.loss = literal.candidates = literal.updated = literal.correct = 0
        for sentence in order:
            literal.sample(sentence, 0.3 * 0.8**epoch, settings)
        squares = (literal.features**2).sum() + (literal.edges**2).sum()
        absolute = np.abs(literal.features).sum() + np.abs(literal.edges).sum()
        assert record.epoch == epoch + 1
        assert record.rate == pytest.approx(0.3 * 0.8**epoch)
        assert record.objective == pytest.approx((literal.loss + 0.7 / 2 * squares) / 5, rel=1e-4)
        assert record.w_complexity == pytest.approx(absolute / (literal.features.size + literal.edges.size), rel=1e-4)
        assert record.candidates == literal.candidates / 5
        assert record.updated == literal.updated / corpus.tokens
        assert record.accuracy == literal.correct / corpus.tokens
        assert record.dev is None
    assert literal.narrowest > 1e-4
    learned = final_weights(state)
    features, edges = learned.features, learned.edges
    np.testing.assert_allclose(features, literal.features, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(edges, literal.edges, rtol=1e-4, atol=2e-5)


def test_every_pass_draws_every_sentence_once_in_another_order(tiny: Any) -> None:
    corpus = tiny.corpus(0, lengths=(1,) * 20)
    recorder = Recorder()
    learn(recorder, corpus, Settings(epochs=4, **FOREVER), fresh(tiny, corpus))
    assert [sorted(order) for order in recorder.orders] == [list(range(20))] * 4
    assert len({tuple(order) for order in recorder.orders}) == 4


@pytest.mark.parametrize(
    ("schedule", "rates"), [("exponential", [0.4, 0.2, 0.1]), ("fixed", [0.4] * 3), ("inverse", [0.4, 0.2, 0.4 / 3])]
)
def test_the_rate_follows_its_schedule(tiny: Any, schedule: str, rates: list[float]) -> None:
    corpus = tiny.corpus(0)
    recorder = Recorder()
    settings = Settings(epochs=3, rate=0.4, decay=0.5, schedule=schedule, **FOREVER)
    learn(recorder, corpus, settings, fresh(tiny, corpus))
    assert recorder.rates == pytest.approx(rates)


def test_samples_may_be_drawn_with_replacement(tiny: Any) -> None:
    corpus = tiny.corpus(0, lengths=(1,) * 20)
    recorder = Recorder()
    learn(recorder, corpus, Settings(epochs=2, order="draw", **FOREVER), fresh(tiny, corpus))
    for order in recorder.orders:
        assert len(order) == 20
        assert len(set(order)) < 20
        assert set(order) <= set(range(20))
    assert recorder.orders[0] != recorder.orders[1]


def test_the_same_seed_gives_the_same_weights_and_history(tiny: Any) -> None:
    corpus = tiny.corpus(2, lengths=(2, 3, 1, 4, 2, 3))
    states = [fresh(tiny, corpus) for _ in range(2)]
    for state in states:
        learn(sapo_pass, corpus, Settings(seed=3, epochs=4, **FOREVER), state, dev=dev_of(corpus))
    assert timeless(states[0].history) == timeless(states[1].history)
    assert same(states[0].weights.true_weights().blocks[:2], states[1].weights.true_weights().blocks[:2])
    assert same(final_weights(states[0]).blocks[:2], final_weights(states[1]).blocks[:2])


def test_another_seed_gives_another_order_and_other_weights(tiny: Any) -> None:
    corpus = tiny.corpus(2, lengths=(2, 3, 1, 4, 2, 3))
    recorders, weights = [Recorder(), Recorder()], []
    for seed, recorder in enumerate(recorders):
        state = fresh(tiny, corpus)
        learn(recorder, corpus, Settings(seed=seed, epochs=1), state)
        weights.append(state.weights.true_weights().blocks[:2])
    assert recorders[0].orders != recorders[1].orders
    assert not same(*weights)


def test_training_lowers_the_objective_and_learns_the_corpus(tiny: Any) -> None:
    corpus = tiny.corpus(3, lengths=(3, 2, 4, 3, 2, 5))
    state = State(Weights.zeros(3 + corpus.tokens, 3))
    learn(sapo_pass, corpus, Settings(epochs=15, strength=0.01, rate=0.5, **FOREVER), state)
    assert state.history[-1].objective < state.history[0].objective
    assert tag_corpus(corpus, final_weights(state)).tolist() == corpus.gold.tolist()


def test_all_passes_done_is_the_reason_at_the_end(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state = fresh(tiny, corpus)
    assert learn(sapo_pass, corpus, Settings(epochs=3, **FOREVER), state).text == "all 3 epochs done"
    assert state.epoch == len(state.history) == 3


def test_a_state_that_is_at_the_end_learns_no_more(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state = fresh(tiny, corpus)
    settings = Settings(epochs=2, **FOREVER)
    learn(sapo_pass, corpus, settings, state)
    before = state.weights.true_weights().blocks[:2]
    assert learn(sapo_pass, corpus, settings, state).text == "all 2 epochs done"
    assert state.epoch == 2
    assert same(state.weights.true_weights().blocks[:2], before)


def test_the_best_pass_on_dev_is_kept(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state, watcher = fresh(tiny, corpus), Watcher()
    dev: Any = ScriptedDev(0.2, 0.7, 0.5, 0.7, 0.1)
    learn(sapo_pass, corpus, Settings(epochs=5, **FOREVER), state, dev=dev, observers=[watcher])
    assert [record.dev for record in state.history] == [0.2, 0.7, 0.5, 0.7, 0.1]
    assert state.best_epoch == 2  # the first of equals
    assert same(final_weights(state).blocks[:2], watcher.weights[1])
    assert not same(final_weights(state).blocks[:2], watcher.weights[4])


def test_a_dev_score_of_zero_is_better_than_none(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state, watcher = fresh(tiny, corpus), Watcher()
    dev: Any = ScriptedDev(0.0, 0.0)
    learn(sapo_pass, corpus, Settings(epochs=2, **FOREVER), state, dev=dev, observers=[watcher])
    assert state.best_epoch == 1
    assert same(final_weights(state).blocks[:2], watcher.weights[0])


def test_without_a_dev_set_the_last_weights_count(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state, watcher = fresh(tiny, corpus), Watcher()
    learn(sapo_pass, corpus, Settings(epochs=3, **FOREVER), state, observers=[watcher])
    assert (state.best, state.best_epoch) == (None, 0)
    assert same(final_weights(state).blocks[:2], watcher.weights[-1])


def test_the_dev_score_is_that_of_the_weights_after_the_pass(tiny: Any) -> None:
    corpus, held_out = tiny.corpus(4), tiny.corpus(4)
    state, watcher = fresh(tiny, corpus), Watcher()
    learn(sapo_pass, corpus, Settings(epochs=3, **FOREVER), state, dev=dev_of(held_out), observers=[watcher])
    for record, weights in zip(state.history, watcher.weights, strict=True):
        assert record.dev == np.mean(tag_corpus(held_out, Parameters.plain(*weights)) == held_out.gold)


def test_gold_labels_of_dev_that_training_never_saw_count_as_wrong(tiny: Any) -> None:
    corpus = tiny.corpus(4)
    gold = np.full(corpus.tokens, 3, np.int32)
    dev = DevSet(dataclasses.replace(corpus, gold=gold), ["A", "B", "C", "new"])
    state = fresh(tiny, corpus)
    learn(sapo_pass, corpus, Settings(epochs=1), state, dev=dev)
    assert state.history[0].dev == 0.0


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_patience_ends_after_so_many_passes_without_a_better_score(tiny: Any, patience: int) -> None:
    corpus = tiny.corpus(0)
    state = fresh(tiny, corpus)
    dev: Any = ScriptedDev(0.1, 0.3, 0.3, 0.2, 0.3, 0.9)
    reason = learn(sapo_pass, corpus, Settings(epochs=9, patience=patience, tolerance=0.0), state, dev=dev)
    assert reason.text == f"no better dev score in {patience} epochs"
    assert (state.epoch, state.best_epoch) == (2 + patience, 2)


@pytest.mark.parametrize(("early", "kept"), [(0.54, 5), (0.56, 2)])
def test_of_averages_the_last_is_kept_unless_an_earlier_pass_is_clearly_better(
    tiny: Any, early: float, kept: int
) -> None:
    corpus = tiny.corpus(0)
    state, watcher = fresh(tiny, corpus), Watcher()
    dev: Any = ScriptedDev(0.1, early, 0.3, 0.4, 0.5, 0.5, error=0.05)  # the last one is looked at twice
    settings = Settings(epochs=5, average=0.5, **FOREVER)
    learn(sapo_pass, corpus, settings, state, dev=dev, observers=[watcher])
    assert state.best_epoch == kept
    assert same(final_weights(state).blocks[:2], watcher.weights[kept - 1])


def test_patience_begins_with_the_average(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state = fresh(tiny, corpus)
    dev: Any = ScriptedDev(0.9, *[0.3] * 9)
    settings = Settings(epochs=10, average=0.5, patience=2, tolerance=0.0)
    assert settings.averaged_from == 6
    reason = learn(sapo_pass, corpus, settings, state, dev=dev)
    assert (reason.text, state.epoch) == ("no better dev score in 2 epochs", 8)


def test_training_does_not_converge_before_its_average(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    settings = Settings(epochs=10, average=0.5, tolerance=0.01)
    state = State(Weights.zeros(3 + corpus.tokens, 3))
    reason = learn(scripted_learner(*[1.0] * 10), corpus, settings, state)
    assert (reason.text, state.epoch) == ("converged", settings.averaged_from + 3)


@pytest.mark.parametrize(
    ("losses", "tolerance", "passes"),
    [
        ((1.0, 0.5, 0.4, 0.399, 0.398, 0.1), 0.01, 5),
        ((1.0, 0.5, 0.4, 0.399, 0.1), 0.01, None),  # once may be chance
        ((1.0, 1.005, 1.0, 0.1), 0.01, 3),
        ((1.0, 0.98, 0.96, 0.9), 0.01, None),
        ((200.0, 199.0, 198.5, 1.0), 0.01, 3),
        ((0.02, 0.019, 0.018), 0.01, None),
    ],
)
def test_training_converges_when_the_objective_hardly_changes(
    tiny: Any, losses: tuple[float, ...], tolerance: float, passes: int | None
) -> None:
    corpus = tiny.corpus(0)
    state = State(Weights.zeros(3 + corpus.tokens, 3))
    settings = Settings(epochs=len(losses), tolerance=tolerance)
    reason = learn(scripted_learner(*losses), corpus, settings, state)
    assert reason.text == (f"all {len(losses)} epochs done" if passes is None else "converged")
    assert state.epoch == (passes or len(losses))
    assert [record.objective for record in state.history] == pytest.approx(losses[: state.epoch])


def test_observers_are_told_of_samples_and_passes(tiny: Any) -> None:
    corpus = tiny.corpus(0, lengths=(1,) * 1200)
    watchers = [Watcher(), Watcher()]
    state = fresh(tiny, corpus)
    learn(sapo_pass, corpus, Settings(epochs=2, **FOREVER), state, observers=watchers)
    for watcher in watchers:
        assert watcher.records == state.history
        for epoch in (1, 2):
            done = [done for told, done, of in watcher.told if told == epoch and of == 1200]
            assert done == sorted(set(done))
            assert (len(done) > 1, done[-1]) == (True, 1200)


def test_ctrl_c_in_the_middle_of_a_pass_keeps_the_best_so_far(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state, watcher = fresh(tiny, corpus), Watcher(at_sample=(4, corpus.sentences))
    dev: Any = ScriptedDev(0.1, 0.9, 0.5)
    settings = Settings(epochs=9, **FOREVER)
    assert learn(sapo_pass, corpus, settings, state, dev=dev, observers=[watcher]).text == "interrupted"
    assert (state.epoch, state.best_epoch) == (3, 2)
    assert same(final_weights(state).blocks[:2], watcher.weights[1])


def test_ctrl_c_without_a_dev_set_keeps_what_was_learned(tiny: Any) -> None:
    corpus = tiny.corpus(0, lengths=(1,) * 1200)
    state, watcher = fresh(tiny, corpus), Watcher(at_sample=(1, 1024))
    assert learn(sapo_pass, corpus, Settings(**FOREVER), state, observers=[watcher]).text == "interrupted"
    assert (state.history, state.best) == ([], None)
    learned = final_weights(state)
    features, _ = learned.features, learned.edges
    order = np.random.default_rng([0, 1]).permutation(1200)
    begun = tiny.weights(0, corpus)
    list(sapo_pass(begun, corpus, order[:1024], 0.1, Settings(), np.zeros(20)))
    assert np.array_equal(features, begun.true_weights().features)


@pytest.mark.parametrize("stop", [1, 3])
@pytest.mark.parametrize("with_dev", [True, False])
def test_going_on_from_a_state_equals_a_run_that_never_stopped(tiny: Any, stop: int, with_dev: bool) -> None:
    corpus, held_out = tiny.corpus(6, lengths=(2, 3, 1, 4, 2)), tiny.corpus(6, lengths=(2, 3, 1, 4, 2))
    dev = dev_of(held_out) if with_dev else None
    settings = Settings(epochs=6, n=3, strength=2.0, rate=0.4, decay=0.8, seed=11, **FOREVER)
    whole = fresh(tiny, corpus)
    reason = learn(sapo_pass, corpus, settings, whole, dev=dev).text
    broken = fresh(tiny, corpus)
    interrupted = learn(sapo_pass, corpus, settings, broken, dev=dev, observers=[Watcher(after_pass=stop)])
    assert (interrupted.interrupted, broken.epoch) == (True, stop)
    resumed = copy.deepcopy(broken)
    assert learn(sapo_pass, corpus, settings, resumed, dev=dev).text == reason
    assert timeless(resumed.history) == timeless(whole.history)
    assert resumed.best_epoch == whole.best_epoch
    assert same(resumed.weights.true_weights().blocks[:2], whole.weights.true_weights().blocks[:2])
    assert same(final_weights(resumed).blocks[:2], final_weights(whole).blocks[:2])


def test_patience_goes_on_counting_after_a_resumption(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state = fresh(tiny, corpus)
    scores: Any = ScriptedDev(0.5, 0.4, 0.3, 0.2, 0.1)
    settings = Settings(epochs=9, patience=3, tolerance=0.0)
    learn(sapo_pass, corpus, settings, state, dev=scores, observers=[Watcher(after_pass=2)])
    assert learn(sapo_pass, corpus, settings, state, dev=scores).text == "no better dev score in 3 epochs"
    assert (state.epoch, state.best_epoch) == (4, 1)


def test_the_best_weights_do_not_move_with_later_passes(tiny: Any) -> None:
    corpus = tiny.corpus(0)
    state = fresh(tiny, corpus)
    dev: Any = ScriptedDev(*itertools.chain([0.9], itertools.repeat(0.1, 5)))
    learn(sapo_pass, corpus, Settings(epochs=1), state, dev=dev)
    kept = [array.copy() for array in final_weights(state).blocks[:2]]
    learn(sapo_pass, corpus, Settings(epochs=5, **FOREVER), state, dev=dev)
    assert all(np.array_equal(a, b) for a, b in zip(final_weights(state).blocks[:2], kept, strict=True))


def test_every_learner_has_a_name() -> None:
    assert {"sapo", "crf", "perceptron", "mira", "mira-nbest"} <= set(LEARNERS)
    assert all(LEARNERS[f"{name}-avg"].averaged for name in LEARNERS if not name.endswith(("-avg", "-plain")))
