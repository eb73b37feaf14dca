"""What SAPO chooses from the data, and what the user gave stays as it is."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.evaluate.significance import SentenceCounts
from sapo.learn.records import Observer
from sapo.training import choice
from sapo.training.plan import make_plan
from sapo.training.progress import Quiet
from sapo.training.run import start

PAIRS = [([f"w{i % 7}", "in", f"City{i % 5}"], ["O", "O", "B-LOC"]) for i in range(60)]
LONGER = [(["New", f"City{i % 5}", "is", "big"], ["B-LOC", "I-LOC", "O", "O"]) for i in range(20)]


class Heard(Quiet):
    """Keeps what a run shows."""

    def __init__(self, *, verbose: bool = True) -> None:
        super().__init__(sapo.Settings(), verbose=verbose)
        self.lines: list[str] = []

    def show(self, message: str) -> None:
        self.lines.append(message)


def settings_of(data: Any, **options: Any) -> dict[str, Any]:
    record = sapo.train(data, template="ner", **options).model.record
    chosen: dict[str, Any] = record["settings"]
    return chosen


def test_pieces_and_averages_are_the_default_of_sapo_alone() -> None:
    chosen = settings_of(PAIRS, epochs=4)
    assert (chosen["piece"], chosen["average"], chosen["hide"]) == (choice.PIECE, choice.AVERAGE, choice.HIDE)
    assert (chosen["stop_ratio"], chosen["drop"]) == (choice.STOP_RATIO, choice.DROP)
    assert chosen["decay"] ** 4 == pytest.approx(choice.FALL)
    assert (chosen["rate"], chosen["strength"]) in choice.BOLDNESS
    for learner in ("crf", "sapo-avg", "perceptron"):
        others = settings_of(PAIRS, epochs=2, learner=learner)
        assert not {"piece", "average", "hide", "drop"} & set(others)
        assert others["stop_ratio"] is None


def test_little_data_is_learned_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = settings_of(PAIRS)
    assert chosen["epochs"] == choice.EPOCHS_SMALL
    assert chosen["decay"] ** choice.EPOCHS_SMALL == pytest.approx(choice.FALL)
    monkeypatch.setattr(choice, "SMALL", 3 * len(PAIRS))
    assert settings_of(PAIRS)["epochs"] == choice.EPOCHS
    assert settings_of(PAIRS, learner="crf")["epochs"] == 20


@pytest.mark.parametrize(
    ("tags", "epochs", "piece"),
    [
        (["B-NP", "I-NP", "O"], choice.EPOCHS_LARGE, 0),  # phrases
        (["B-PER", "O", "O"], choice.EPOCHS, choice.PIECE),  # entities: few tokens count
        (["DT", "NN", "VB"], choice.EPOCHS_LARGE, choice.PIECE),
    ],
)
def test_plenty_of_data_is_learned_in_fewer_epochs_and_phrases_from_whole_sentences(
    monkeypatch: pytest.MonkeyPatch, tags: list[str], epochs: int, piece: int
) -> None:
    pairs = [(["the", "cat", "sat"], tags)] * 100
    monkeypatch.setattr(choice, "SMALL", 0)
    assert settings_of(pairs, rate=0.2, strength=0.3)["epochs"] == choice.EPOCHS
    monkeypatch.setattr(choice, "PLENTY", 150)
    chosen = settings_of(pairs, rate=0.2, strength=0.3)
    assert (chosen["epochs"], chosen.get("piece", 0)) == (epochs, piece)


@pytest.mark.parametrize(
    ("gains", "epochs", "tried"),
    [((0,), 15, [20]), ((10, 0), 30, [20, 40]), ((10, 10), 60, [20, 40]), ((1, 10), 15, [20])],
)
def test_epochs_are_doubled_while_trials_gain_from_it(
    monkeypatch: pytest.MonkeyPatch, gains: tuple[int, ...], epochs: int, tried: list[int]
) -> None:
    """Half a standard error of 200 of 400 is 5 spans."""
    usual, longer = 200, list(gains)
    passes: list[int] = []

    def trial(learner: Any, data: Any, fold: Any, settings: Any, halt: Any) -> choice.Trial:
        nonlocal usual
        if settings.epochs > choice.PASSES:
            passes.append(settings.epochs)
            assert settings.decay**settings.epochs == pytest.approx(choice.FALL)
            usual += longer.pop(0)
        return scores(usual)

    monkeypatch.setattr(choice, "SMALL", 0)
    monkeypatch.setattr(choice, "_trial", trial)
    assert start(make_plan(PAIRS, template="ner")).settings.epochs == 15  # few labels
    monkeypatch.setattr(choice, "LABELS_TO_LEARN_LONGER", 2)
    run = start(make_plan(PAIRS, template="ner"))
    assert run.settings.epochs == epochs
    assert passes == tried
    assert run.settings.decay**epochs == pytest.approx(choice.FALL)


def test_epochs_that_are_given_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "SMALL", 0)
    monkeypatch.setattr(choice, "LABELS_TO_LEARN_LONGER", 2)
    show = Heard()
    assert start(make_plan(PAIRS, template="ner", epochs=12), show=show).settings.epochs == 12
    assert [line for line in show.lines if "epochs" in line] == [show.lines[-1]]  # the settings, and no trial


def test_what_the_user_gives_is_not_touched() -> None:
    given = {
        "rate": 0.07,
        "strength": 0.5,
        "decay": 0.8,
        "piece": 0,
        "average": 0.0,
        "hide": 2.0,
        "drop": 0.5,
        "stop_ratio": 9.0,
        "epochs": 2,
    }
    chosen = settings_of(PAIRS, **given)
    assert {name: chosen.get(name, 0) for name in given} == given
    assert settings_of(PAIRS, rate=0.07, epochs=2)["strength"] == choice.BOLDNESS[choice.USUAL][1]
    del given["piece"]  # the last one that is left to be chosen
    assert settings_of(PAIRS, **given)["rate"] == 0.07


@pytest.mark.parametrize("many", [False, True])
def test_small_weights_are_left_out_and_the_others_are_as_they_were(many: bool) -> None:
    data = [(words, [f"{tag}{i % 40}" for tag in "abc"]) for i, (words, _) in enumerate(PAIRS)] if many else PAIRS
    whole, small = (
        sapo.train(data, template="ner", epochs=3, drop=drop).model.parameters.rows.matrix() for drop in (0.0, 0.05)
    )
    assert (np.abs(whole)[whole != 0] < 0.05).any()
    assert (small == np.where(np.abs(whole) < 0.05, 0, whole)).all()


def test_a_feature_of_large_values_keeps_its_small_weights() -> None:
    def data(factor: float) -> Any:
        return [([{"x": factor * (i % 2)}, {"x": factor}], ["A" if i % 2 else "B", "A"]) for i in range(50)]

    small, large = (sapo.train(data(factor), epochs=3, drop=0.05).model.parameters.rows for factor in (1.0, 1024.0))
    assert small.nonzero == large.nonzero > 0


def test_the_choice_is_told_and_the_same_each_time() -> None:
    first, second = Heard(), Heard()
    runs = [start(make_plan(PAIRS, template="ner", epochs=3), show=show) for show in (first, second)]
    assert runs[0].settings == runs[1].settings
    assert first.lines == second.lines
    assert any(line.startswith("choosing rate and strength by trials on ") for line in first.lines)


def test_a_few_sentences_are_learned_as_usual() -> None:
    chosen = settings_of(PAIRS[: choice.FEWEST_SENTENCES - 1], epochs=2)
    assert (chosen["rate"], chosen["strength"]) == choice.BOLDNESS[choice.USUAL]


def test_missing_tags_leave_nothing_to_judge_by() -> None:
    holes = [(words, [None, *tags[1:]]) for words, tags in PAIRS]
    chosen = settings_of(holes, epochs=2)
    assert (chosen["rate"], chosen["strength"]) == choice.BOLDNESS[choice.USUAL]


def scores(correct: int, of: int = 400, first: int = 0) -> choice.Trial:
    """Return a trial on sentences of one span each, of which some, from the first on, are right."""
    each, right = np.ones(of, np.int64), np.zeros(of, np.int64)
    right[first : first + correct] = 1
    return [SentenceCounts(each, each, right)]


def test_another_choice_must_be_clearly_better_than_the_usual_one() -> None:
    # two more of the same 200 are 1.4 standard errors better, and two more of others 0.1
    assert choice._best({1: scores(202), 2: scores(200), 3: scores(150)}) == 1
    assert choice._best({1: scores(202, first=198), 2: scores(200), 3: scores(150)}) == 2
    assert choice._best({1: scores(150), 2: scores(200), 3: scores(202)}) == 2
    assert choice._best({1: scores(150), 2: scores(200), 3: scores(204)}) == 3


TAGGED = [([(word, word[:1]) for word in words], tags) for words, tags in PAIRS]


@pytest.mark.parametrize(
    ("correct", "template"),
    [({"ner+pos": 200, "ner": 213}, "ner+pos"), ({"ner+pos": 200, "ner": 218}, "ner"), ({"ner": 170}, "ner+pos")],
)
def test_another_template_is_used_if_it_is_clearly_better_on_held_out_sentences(
    monkeypatch: pytest.MonkeyPatch, correct: dict[str, int], template: str
) -> None:
    """One and a half standard errors of 200 of 400 are 15 spans."""
    monkeypatch.setattr(choice, "_trial", lambda learner, data, *_: scores(correct.get(data.template, 180)))
    show = Heard()
    run = start(make_plan(TAGGED, epochs=2), show=show)
    assert run.data.template == template
    assert any(line.startswith(f"features: {template}, ") for line in show.lines)
    assert any("the column 'pos' is not used" in line for line in show.lines) == (template == "ner")


@pytest.mark.parametrize("given", [{"rate": 0.1}, {"strength": 0.1}, {"learner": "crf"}, {"template": "ner"}])
def test_there_are_no_trials_of_templates_if_the_user_decides(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    monkeypatch.setattr(choice, "_best_template", lambda *_: pytest.fail("a trial"))
    assert start(make_plan(TAGGED, epochs=2, **given)).data.template == given.get("template", "ner+pos")


def test_a_column_that_tells_nothing_is_named() -> None:
    rng = np.random.default_rng(0)
    data = [([(word, f"r{rng.integers(4)}") for word in words], tags) for words, tags in PAIRS * 4]
    show = Heard(verbose=False)
    assert start(make_plan(data, epochs=2), show=show).data.template == "ner"
    assert "the column 'pos' is not used: it does not help to find the tags; ner+pos would use it" in show.lines


def test_the_template_is_the_same_each_time() -> None:
    first, second = Heard(verbose=False), Heard(verbose=False)
    for show in (first, second):
        start(make_plan(TAGGED * 3, epochs=2), show=show)
    assert first.lines == second.lines
    assert any(line.startswith("features: ") for line in first.lines)


def test_spans_are_learned_as_bioes_where_few_labels_become_of_it() -> None:
    tagger = sapo.train(PAIRS + LONGER, template="ner", epochs=2)
    assert set(tagger.model.labels) == {"O", "B-LOC", "I-LOC", "E-LOC", "S-LOC"}
    assert set(tagger.labels) == {"O", "B-LOC", "I-LOC"}
    assert set(sapo.train(PAIRS + LONGER, template="ner", epochs=2, scheme=None).model.labels) == set(tagger.labels)
    entities = [(["a", "b", "c"], [f"B-{kind}", f"I-{kind}", "O"]) for kind in range(49)]
    assert len(sapo.train(entities, template="ner", epochs=1).model.labels) == 1 + 2 * 49
    assert len(sapo.train(entities[1:], template="ner", epochs=1).model.labels) > 1 + 2 * 48
    phrases = [(["a", "b"], [f"B-{kind}", f"I-{kind}"]) for kind in range(8)]
    assert len(sapo.train(phrases, template="ner", epochs=1).model.labels) == 2 * 8
    assert len(sapo.train(phrases[1:], template="ner", epochs=1).model.labels) > 2 * 7
    assert "S-LOC" not in sapo.train(PAIRS, template="ner", epochs=1, learner="crf").model.labels


def test_faulty_spans_and_tags_that_are_none_stay_as_they_are() -> None:
    faulty = [(["a", "b"], ["O", "I-X"]), (["a", "b"], ["B-X", "O"])]
    assert set(sapo.train(faulty, template="ner", epochs=1).model.labels) == {"O", "I-X", "B-X"}


def test_a_run_goes_on_from_a_checkpoint_into_the_average(tmp_path: Path) -> None:
    def run(epochs: int, resume: bool = False) -> bytes:
        options: dict[str, Any] = {"rate": 0.2, "strength": 0.3, "decay": 0.9, "average": 0.75, "tolerance": 0.0}
        sentences = list(itertools.islice(read(sample_path("train"), columns=COLUMNS, label="chunk"), 100))
        plan = make_plan(sentences, template="pos", epochs=8, **options)
        plan = dataclasses.replace(plan, checkpoint=tmp_path / "run.ckpt", resume=resume)

        class Cut(Observer):
            def passed(self, record: Any, state: Any) -> None:
                if record.epoch == epochs < 8:
                    raise KeyboardInterrupt

        start(plan).finish([Cut()]).tagger.save(tmp_path / "m.sapo")
        return (tmp_path / "m.sapo").read_bytes()

    straight = run(8)
    for epochs in (1, 5):
        (tmp_path / "run.ckpt").unlink()
        run(epochs)
        assert run(8, resume=True) == straight


@pytest.mark.parametrize("factor", [1024.0, 1 / 4096, 1.0])
def test_numeric_features_of_any_size_are_learned_alike(factor: float) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.random((40, 5)).round(2).tolist()
    tags = [["big" if size > 0.5 else "small" for size in sentence] for sentence in sizes]

    def features(by: float) -> list[Any]:
        return [[{"bias": 1.0, "size": size * by} for size in sentence] for sentence in sizes]

    options: dict[str, Any] = {"epochs": 4, "rate": 0.2, "strength": 0.1}
    plain = sapo.train(zip(features(1.0), tags, strict=True), **options)
    scaled = sapo.train(zip(features(factor), tags, strict=True), **options)
    assert list(plain.tag_many(features(1.0))) == list(scaled.tag_many(features(factor)))
    names = plain.model.encoder.feature_names(range(2))
    mine, theirs = plain.model.parameters.features, scaled.model.parameters.features
    np.testing.assert_allclose(mine[names.index("size")], theirs[names.index("size")] * factor, rtol=1e-6)
    np.testing.assert_array_equal(mine[names.index("bias")], theirs[names.index("bias")])


def test_settings_that_are_not_given_stay_open_and_a_complete_settings_leaves_none_open() -> None:
    plan = make_plan(PAIRS, settings={"decay": 0.8, "n": 3, "rate": None}, n=7, epochs=None)
    assert (plan.settings.decay, plan.settings.n) == (0.8, 7)
    assert "decay" not in plan.automatic
    assert plan.automatic >= {"rate", "epochs", "strength"}
    stated = sapo.Settings(epochs=3, rate=0.3)
    plan = make_plan(PAIRS, settings=stated, seed=4)
    assert plan.settings == dataclasses.replace(stated, seed=4)
    assert not plan.automatic
    assert make_plan(PAIRS, settings=stated, rate="auto").automatic == {"rate"}
    assert sapo.train(PAIRS, settings=stated).model.record["settings"] == stated.as_json()
