"""One run: its lines, its tags, and when it counts as finished."""

import dataclasses
from typing import Any

import pytest

from laboratory.runfiles import read_lines, run_path
from laboratory.runs import make_run, run_done, run_settings
from laboratory.setup import Setup
from laboratory.sources import read_task
from laboratory.systems import PAPER, SYSTEMS
from laboratory.tasks import TASKS
from sapo.errors import SapoError
from sapo.evaluate.scores import score

KEYS = {
    "run": "kind task title metric system learner seed command template settings features paper_features labels "
    "train_sentences train_tokens test_sentences test_tokens version",
    "pass": "kind epoch score token_accuracy objective w_complexity rate n updates updated candidates probabilities "
    "accuracy seconds tokens_per_second",
    "end": "kind passes seconds interrupted",
}
TASK = TASKS["chunking"]


def tags_of(text: str) -> list[list[str]]:
    assert text.endswith("\n\n")
    return [sentence.split("\n") for sentence in text.removesuffix("\n\n").split("\n\n")]


@pytest.mark.parametrize("system", PAPER, ids=lambda system: system.name)
def test_the_lines_of_every_system_have_all_keys(system: Any, load: Any, setup: Setup) -> None:
    task, data = load("chunking")
    lines = read_lines(make_run(task, system, 0, setup, data, strength=0.5))
    assert [line["kind"] for line in lines] == ["run", "pass", "pass", "end"]
    for line in lines:
        assert set(line) == set(KEYS[line["kind"]].split())
    settings = lines[0]["settings"]
    regularized = system.learner.startswith(("sapo", "crf"))
    assert (settings["strength"], settings["regularizer"]) == ((0.5, "l2") if regularized else (0.0, "none"))
    assert lines[-1]["passes"] == 2
    assert lines[-1]["seconds"] == pytest.approx(sum(line["seconds"] for line in lines[1:-1]))


def test_the_tags_are_those_of_the_last_pass(load: Any, setup: Setup) -> None:
    task, data = load("chunking")
    seen = []
    path = make_run(
        task,
        SYSTEMS["Perc-Naive"],
        1,
        dataclasses.replace(setup, passes=4),
        data,
        strength=0.0,
        watch=lambda epoch, score: seen.append(score),
    )
    scores = [line["score"] for line in read_lines(path) if line["kind"] == "pass"]
    assert seen == scores
    assert scores[-1] != max(scores), "the last pass must not be the best one, or this test tells nothing"
    gold = tags_of((path.parent / "gold.tags").read_text())
    found = tags_of(path.with_suffix(".tags").read_text())
    assert gold == [list(one.tags or ()) for one in read_task(task, setup).test]
    assert [len(tags) for tags in found] == [len(tags) for tags in gold]
    labels = list(data.test.labels)
    flat = [label for tags in found for label in tags]
    predicted = data.test.corpus.gold.copy()
    predicted[:] = [labels.index(label) for label in flat]
    scores_of_tags = score(labels, data.test.corpus.gold, predicted, data.test.corpus.offsets)
    assert 100 * scores_of_tags.main[1] == pytest.approx(scores[-1])


def test_the_same_seed_gives_the_same_run_and_another_seed_another(load: Any, setup: Setup) -> None:
    task, data = load("chunking")

    def objectives(seed: int) -> list[float]:
        lines = read_lines(make_run(task, SYSTEMS["SAPO"], seed, setup, data, strength=1.0))
        return [line["objective"] for line in lines[1:-1]]

    assert objectives(0) == objectives(0) != objectives(1)


def test_a_run_without_its_end_is_not_finished(load: Any, setup: Setup) -> None:
    task, data = load("chunking")
    system = SYSTEMS["SAPO"]
    assert not run_done(task, system, 0, setup)
    path = make_run(task, system, 0, setup, data, strength=1.0)
    whole = path.read_text()
    assert run_done(task, system, 0, setup)
    assert not run_done(task, system, 1, setup)
    for cut in (whole[:-10], whole[: whole.rindex('{"kind": "end"')], whole[:30], ""):
        path.write_text(cut)
        assert not run_done(task, system, 0, setup)
    make_run(task, system, 0, setup, data, strength=1.0)
    assert [line["kind"] for line in read_lines(path)] == ["run", "pass", "pass", "end"]


def test_a_finished_run_that_was_made_otherwise_is_not_taken_for_this_one(load: Any, setup: Setup) -> None:
    task, data = load("chunking")
    make_run(task, SYSTEMS["CRF"], 0, setup, data, strength=1.0)
    with pytest.raises(SapoError, match=r"was made by 'python -m laboratory experiment chunking .*--passes 2.*--force"):
        run_done(task, SYSTEMS["CRF"], 0, dataclasses.replace(setup, passes=3))


def test_a_file_that_is_no_run_is_named(setup: Setup) -> None:
    path = run_path(setup.directory(TASK), "SAPO", 0)
    path.parent.mkdir(parents=True)
    path.write_text('{"kind": "run"}\nrubbish\n{"kind": "end"}\n')
    with pytest.raises(SapoError, match=r"sapo-seed0.jsonl:2: not a line of a run: 'rubbish'"):
        run_done(TASK, SYSTEMS["SAPO"], 0, setup)


def test_variants_differ_from_sapo_in_one_setting(setup: Setup) -> None:
    plain = run_settings(SYSTEMS["SAPO"], 0, setup, strength=1.0, rate=0.1)
    for name, changed in (("SAPO-n10", {"n": 10}), ("SAPO-astar", {"search": "astar"}), ("SAPO-best", {})):
        found = run_settings(SYSTEMS[name], 0, setup, strength=1.0, rate=0.1)
        assert found == dataclasses.replace(plain, **changed)
