"""`crf-lbfgs` from end to end: beside CRFsuite, with a dev set, checkpoints, Ctrl-C, weights and many labels."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.sample import sample_path
from sapo.errors import SapoError
from sapo.learn.batch_crf import BatchOptions
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.tagger.file import model_bytes
from sapo.training.plan import LabelOptions, Plan, make_plan
from sapo.training.run import Outcome, start

Sentences = list[tuple[list[dict[str, Any]], list[str]]]
TINY = [(["no", "rain"], ["DT", "NN"]), (["it", "rains"], ["PRP", "VBZ"]), (["the", "sun"], ["DT", "NN"])]


@pytest.fixture(scope="module")
def ready() -> Sentences:
    """Sentences of the sample with a dictionary a token, in which some values are 0 and some no whole numbers."""
    sentences: Sentences = []
    for text in sample_path("train").read_text("utf-8").strip().split("\n\n")[:120]:
        rows = [line.split("\t") for line in text.split("\n")]
        words = [row[0] for row in rows]
        tokens = [
            {"word": word.lower(), "end": word[-2:], "title": word.istitle(), "last": before, "long": len(word) / 4}
            for word, before in zip(words, ["", *words], strict=False)
        ]
        sentences.append((tokens, [row[2] for row in rows]))
    return sentences


def trained(data: Any, c1: float = 0.0, c2: float = 0.5, **changes: Any) -> Outcome:
    regularizer = {"regularizer": "l2", "strength": 2 * c2} if c2 else {"regularizer": "l1", "strength": c1}
    fields = {"batch": None, "checkpoint": None, "resume": False, "dev": None, "labels": LabelOptions()}
    own = {name: changes.pop(name, value) for name, value in fields.items()}
    settings = Settings(**{"epochs": 2000, "patience": 2000, "tolerance": 1e-5, **regularizer, **changes})
    batch = own.pop("batch") or BatchOptions(l1=c1)
    return start(Plan(data=data, learner="crf-lbfgs", settings=settings, batch=batch, **own)).finish()


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.1, 0.1), (0.5, 0.0)])
def test_the_objective_is_that_of_crfsuite(ready: Sentences, c1: float, c2: float, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False, params={"c1": c1, "c2": c2})
    for tokens, tags in ready:
        trainer.append(tokens, tags)
    trainer.train(str(tmp_path / "model"))
    theirs = trainer.logparser.iterations[-1]
    outcome = trained(ready, c1, c2, labels=LabelOptions(constraints=False))
    objective = outcome.history[-1].objective * len(ready)
    assert objective == pytest.approx(theirs["loss"], rel=1e-4)
    parameters = outcome.tagger.model.parameters
    weights = parameters.rows.nonzero + np.count_nonzero(parameters.edges)
    assert weights == pytest.approx(theirs["active_features"], rel=0.03)


def test_the_weights_are_the_same_from_run_to_run_and_in_threads_up_to_rounding(ready: Sentences) -> None:
    alone, again, threads = (trained(ready, epochs=15, threads=number).tagger.model for number in (1, 1, 3))
    assert model_bytes(alone) == model_bytes(again)
    assert alone.parameters.features == pytest.approx(threads.parameters.features, abs=1e-5)


def test_over_allowed_taggings_the_objective_is_smaller_than_over_all(ready: Sentences) -> None:
    bound, free = (trained(ready, labels=LabelOptions(constraints=flag)) for flag in (True, False))
    assert bound.history[-1].objective < 0.99 * free.history[-1].objective


def test_templates_with_edge_features_are_learned(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.write_text("word[0]\nlabel[-1] & word[0]\n")
    data = [(["a", "b", "a"], ["A", "B", "A"]), (["b", "b", "b"], ["C", "B", "C"])]
    parameters = sapo.train(data, template=template, learner="crf-lbfgs", strength=0.1).model.parameters
    assert not parameters.edges.any()
    assert np.count_nonzero(parameters.pair_weights) == len(parameters.pair_weights) == 4


def test_the_defaults_of_stopping_are_those_of_a_batch_learner_unless_given() -> None:
    assert make_plan(TINY, learner="crf-lbfgs").settings.epochs == 500
    assert make_plan(TINY, learner="crf-lbfgs", epochs=7).settings.epochs == 7
    assert make_plan(TINY, learner="crf").settings.epochs == Settings().epochs


def test_epochs_are_iterations_at_most(ready: Sentences) -> None:
    outcome = trained(ready, epochs=3)
    assert (len(outcome.history), str(outcome.stop)) == (3, "all 3 epochs done")
    assert len(trained(ready, tolerance=0.1, batch=BatchOptions(period=2)).history) < len(trained(ready).history)
    assert str(trained(TINY).stop) == "converged"


def test_a_resumed_run_ends_as_one_that_never_stopped(ready: Sentences, tmp_path: Path) -> None:
    file = tmp_path / "state"
    trained(ready, 0.1, 0.1, epochs=9, checkpoint=file)
    resumed = trained(ready, 0.1, 0.1, epochs=14, checkpoint=file, resume=True)
    assert len(resumed.history) == 14
    assert model_bytes(resumed.tagger.model) == model_bytes(trained(ready, 0.1, 0.1, epochs=14).tagger.model)


def test_ctrl_c_keeps_the_weights_of_the_last_iteration(ready: Sentences) -> None:
    class Interrupt(Observer):
        def passed(self, record: PassRecord, state: State) -> None:
            if record.epoch == 4:
                raise KeyboardInterrupt

    plan = Plan(data=ready, learner="crf-lbfgs", settings=Settings(epochs=50))
    outcome = start(plan).finish([Interrupt()])
    assert outcome.stop.interrupted
    expected = trained(ready, epochs=4).tagger.model.parameters
    assert outcome.tagger.model.parameters.features.tobytes() == expected.features.tobytes()


def test_with_a_dev_set_the_best_iteration_is_kept(ready: Sentences) -> None:
    outcome = trained(ready[:60], dev=ready[60:], patience=3)
    scores = [record.dev or 0.0 for record in outcome.history]
    assert outcome.best_epoch == 1 + int(np.argmax(scores))


def test_a_sentence_of_weight_0_is_as_if_it_were_not_there(ready: Sentences) -> None:
    weights = [2.0] * 30 + [0.0] * 10
    weighted = trained(ready[:40], labels=LabelOptions(sample_weight=weights)).tagger
    plain = trained(ready[:30] * 2).tagger
    other = [tokens for tokens, _ in ready[60:80]]
    assert [weighted.tag(tokens) for tokens in other] == [plain.tag(tokens) for tokens in other]


def test_more_labels_than_a_matrix_takes_are_learned() -> None:
    data = [
        ([{"word": f"w{number}"}, {"word": f"w{number + 1}"}], [f"L{number}", f"L{number + 1}"])
        for number in range(150)
    ]
    tagger = trained(data, epochs=30).tagger
    assert [tagger.tag(tokens) for tokens, _ in data[::20]] == [tags for _, tags in data[::20]]


def test_missing_tags_are_summed_over(ready: Sentences) -> None:
    tagger = sapo.train([*TINY, (["no", "sun"], [None, "NN"])], template="pos", learner="crf-lbfgs")  # type: ignore[list-item]
    assert tagger.tag(["no", "sun"]) == ["DT", "NN"]


def test_weights_of_labels_have_no_objective_and_are_refused() -> None:
    with pytest.raises(SapoError, match="not of labels"):
        sapo.train(TINY, template="pos", learner="crf-lbfgs", class_weight={"NN": 2.0})


def test_a_strong_regularizer_needs_no_small_rate() -> None:
    assert trained(TINY, c2=1000.0).history[-1].w_complexity < 0.1


def test_a_trainer_goes_on_from_the_optimum() -> None:
    trainer = sapo.Trainer(sapo.train(TINY, template="pos", learner="crf-lbfgs"))
    trainer.update([(["sing", "!"], ["VB", "."])], new_labels=True)
    assert trainer.tagger.tag(["sing", "!"]) == ["VB", "."]


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(SapoError, match="period must be at least 1, not 0"):
        dataclasses.replace(BatchOptions(), period=0)
