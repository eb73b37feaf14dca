"""Every task on tiny data of our own: what is read, what is encoded, what is tuned."""

import dataclasses
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from laboratory.datasets.registry import cache_directory
from laboratory.encoded import evaluate, held_out, load_task
from laboratory.runfiles import read_lines
from laboratory.runs import make_run
from laboratory.setup import Setup, data_directory
from laboratory.sources import read_task
from laboratory.systems import PAPER, SYSTEMS, find_systems
from laboratory.tasks import TASKS, find_tasks
from laboratory.tuning import Trial, try_strength
from sapo.errors import SapoError
from sapo.features.encoded import subset
from sapo.learn.settings import Settings
from sapo.training.run import read_data, train_on


@pytest.mark.parametrize("name", TASKS)
def test_the_small_version_of_every_task_runs_on_the_real_corpora(
    name: str, corpora: Path, tmp_path: Path, find: Any
) -> None:
    setup = Setup(data=corpora, runs=tmp_path, passes=3, tuning_passes=1, small=True)
    task = find(name)
    data = load_task(task, setup, task.template)
    assert (data.prepared.corpus.sentences, data.test.corpus.sentences) == (200, 100)
    for system in ("SAPO", "CRF"):
        passes = read_lines(make_run(task, SYSTEMS[system], 0, setup, data, strength=1.0))[1:-1]
        assert passes[-1]["token_accuracy"] > 50
        assert 0 < passes[-1]["score"] < 100
    assert 0 < try_strength(task, setup, data, Trial(1.0, 0)) < 100


@pytest.mark.parametrize("name", TASKS)
def test_every_task_can_be_run(name: str, load: Any, setup: Setup) -> None:
    task, data = load(name)
    path = make_run(task, SYSTEMS["SAPO"], 0, setup, data, strength=1.0)
    first, *passes, end = read_lines(path)
    assert (first["task"], first["metric"], first["system"]) == (name, task.metric, "SAPO")
    assert (first["train_sentences"], first["test_sentences"]) == (60, 30)
    assert first["settings"]["rate"] == data.rate
    assert [line["epoch"] for line in passes] == [1, 2]
    assert all(50 < line["token_accuracy"] <= 100 for line in passes)
    assert end["kind"] == "end"
    assert (data.dev is not None) == (name in ("pos-xpos", "pos-upos"))


def test_noun_phrases_alone_are_what_one_would_write_by_hand(tiny: Path, setup: Setup) -> None:
    def by_hand(line: str) -> str:
        *rest, tag = line.split(" ")
        return " ".join([*rest, tag if tag in ("B-NP", "I-NP") else "O"])

    text = gzip.decompress((tiny / "conll2000" / "train.txt.gz").read_bytes()).decode()
    wanted = [
        [tuple(by_hand(line).split(" ")) for line in sentence.split("\n")] for sentence in text.strip().split("\n\n")
    ]
    found = read_task(TASKS["chunking-np"], setup).train
    assert [list(zip(*one.columns.values(), one.tags or (), strict=True)) for one in found] == wanted
    assert {tag for one in found for tag in one.tags or ()} == {"B-NP", "I-NP", "O"}
    assert len({tag for one in read_task(TASKS["chunking"], setup).train for tag in one.tags or ()}) > 3


def test_the_small_version_has_the_first_sentences(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laboratory.sources.SMALL_TRAIN", 7)
    monkeypatch.setattr("laboratory.sources.SMALL_TEST", 3)
    task = TASKS["pos-upos"]
    small, whole = read_task(task, dataclasses.replace(setup, small=True)), read_task(task, setup)
    assert small.dev is not None
    assert whole.dev is not None
    assert (small.train, small.dev, small.test) == (whole.train[:7], whole.dev[:3], whole.test[:3])


def test_a_subset_is_what_its_sentences_give_when_they_are_encoded_alone(setup: Setup, load: Any) -> None:
    sentences = read_task(TASKS["chunking"], setup)
    _, data = load("chunking")
    chosen = np.array([3, 0, 17, 40, 41, 59])
    part = subset(data.prepared.corpus, chosen)
    alone = held_out(data.prepared, [sentences.train[i] for i in chosen.tolist()]).corpus
    for field in dataclasses.fields(part):
        np.testing.assert_array_equal(getattr(part, field.name), getattr(alone, field.name))


def test_a_subset_of_all_is_all(load: Any) -> None:
    _, data = load("bioner")
    corpus = data.prepared.corpus
    same = subset(corpus, np.arange(corpus.sentences))
    for field in dataclasses.fields(corpus):
        np.testing.assert_array_equal(getattr(same, field.name), getattr(corpus, field.name))


def test_loading_twice_gives_the_same(setup: Setup) -> None:
    one, other = (load_task(TASKS["chunking"], setup, "chunking") for _ in range(2))
    assert one.rate == other.rate
    np.testing.assert_array_equal(one.prepared.corpus.rows, other.prepared.corpus.rows)
    np.testing.assert_array_equal(one.test.corpus.gold, other.test.corpus.gold)


def test_missing_data_is_one_clear_line(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = dataclasses.replace(setup, data=tmp_path, runs=tmp_path)
    with pytest.raises(SapoError, match=r"conll2000/train.txt.gz: no such file; chunking needs it"):
        read_task(TASKS["chunking"], nowhere)
    with pytest.raises(SapoError, match=r"genia-pos/train.txt.gz: no such file; bioner needs it"):
        read_task(TASKS["bioner"], nowhere)
    monkeypatch.delenv("SAPO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(SapoError, match="SAPO_DATA is not set"):
        data_directory()
    cache_directory().mkdir(parents=True)  # as python -m laboratory data get makes it
    assert data_directory() == cache_directory()


def test_groups_of_tasks_and_systems() -> None:
    assert [task.name for task in find_tasks(["pos", "pos-upos"])] == ["pos-xpos", "pos-upos", "pos-wsj"]
    assert [task.name for task in find_tasks(["all"])] == list(TASKS)
    assert find_systems(["paper"]) == list(PAPER)
    assert [system.name for system in find_systems(["sapo-N10", "Perc-avg"])] == ["Perc-Avg", "SAPO-n10"]
    assert len(find_systems(["all", "neural", "neural-b1", "neural-variants"])) == len(SYSTEMS)
    assert not any(system.learner.startswith("bilstm") for system in find_systems(["all"]))


def test_gold_labels_that_training_lacks_count_as_wrong(setup: Setup) -> None:
    sentences = read_task(TASKS["pos-wsj"], setup)
    prepared = read_data(sentences.train, template="pos")
    strange = [dataclasses.replace(one, tags=("NEVER-SEEN",) * len(one)) for one in sentences.test]
    test = held_out(prepared, strange)

    class Last:
        def samples(self, epoch: int, done: int, of: int) -> None:
            pass

        def passed(self, record: Any, state: Any) -> None:
            self.scores = evaluate(test, state)[1]

    last = Last()
    train_on(prepared, Settings(epochs=1), observers=[last])
    assert last.scores.accuracy == 0.0
