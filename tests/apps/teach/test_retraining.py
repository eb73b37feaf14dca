"""Training from scratch beside the answers, and the temperature."""

import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapo.errors import SapoError
from taught_text import GOLD

Open = Callable[..., Any]


def in_this_process(self: Any, kind: str, pairs: Any, base: bytes | None, known: Any) -> bytes:
    """Train as the process does."""
    from sapo.apps.teach.pupil import train_on_all
    from sapo.tagger.file import model_bytes, model_from_bytes
    from sapo.tagger.tagger import Tagger

    return model_bytes(train_on_all(kind, pairs, base and Tagger(model_from_bytes(base)), known).model)


def wait_for_training(client: Any) -> Any:
    while (project := client.get("/api/project").json)["model"]["training"]:
        time.sleep(0.02)
    return project


def test_what_is_accepted_meanwhile_is_not_lost(
    project: Path, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapo.apps.teach import retraining
    from sapo.apps.teach.retraining import Habits

    monkeypatch.setattr(retraining.Process, "train", in_this_process)
    client = open_project(project, habits=Habits(first=3, least=3))
    for sentence in range(1, 7):
        client.accept(sentence)
    version = client.classroom.pupil.version
    now = wait_for_training(client)
    assert now["model"]["version"] > version
    assert now["model"]["problem"] is None
    assert client.classroom.pupil.seq == client.classroom.state.seq
    assert client.get("/api/sentences?ids=7").json["sentences"][0]["tags"] == GOLD[7]
    assert client.classroom.store.snapshot() is not None


@pytest.fixture
def based(project: Path, tmp_path: Path) -> Path:
    """A project that began with a model."""
    from sapo.apps.teach import pupil
    from sapo.apps.teach.project import make_project

    pupil.train_on_all("spans", [(["in", "Bonn"], ["O", "B-LOC"]), (["Eva", "in", "Rom"], ["O"] * 3)]).save(
        tmp_path / "base.sapo"
    )
    make_project(tmp_path / "based.teach", [tmp_path / "notes.txt"], model=tmp_path / "base.sapo")
    return tmp_path / "based.teach"


@pytest.mark.parametrize("which", ["project", "based"])
def test_what_is_taken_back_is_forgotten_soon(
    open_project: Open, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, which: str
) -> None:
    from sapo.apps.teach import pupil, retraining

    monkeypatch.setattr(retraining.Process, "train", in_this_process)
    for module in (retraining, pupil):
        monkeypatch.setattr(module, "SMALL", 2)
    client = open_project(request.getfixturevalue(which))
    for sentence in (2, 3, 4):
        client.accept(sentence)
    client.accept(1, tags=["B-ORG", *["O"] * 5])
    assert not client.get("/api/project").json["model"]["training"]
    sentence = client.post("/api/undo", {"author": "anna"}).json["sentence"]
    # The model has not forgotten it yet: what it says about it would only repeat what it was told.
    assert (sentence["tags"], sentence["probabilities"], sentence["sure"]) == (["O"] * 6, [0.0] * 6, 0.0)
    assert client.get("/api/sentences/1/nbest").json["taggings"] == []
    wait_for_training(client)
    sentence = client.get("/api/sentences?ids=1").json["sentences"][0]
    assert "B-ORG" not in sentence["tags"]
    assert min(sentence["probabilities"]) > 0
    assert client.get("/api/sentences/1/nbest").json["taggings"] != []


def test_a_model_to_begin_with_forgets_one_of_few_sentences_at_once(based: Path, open_project: Open) -> None:
    client = open_project(based)
    before = client.get("/api/sentences?ids=1,4").json["sentences"]
    client.accept(2)
    learned = client.get("/api/sentences?ids=1,4").json["sentences"]
    client.accept(1, tags=["B-ORG", *["O"] * 5])
    assert not client.post("/api/undo", {"author": "anna"}).json["model"]["training"]
    shown = client.get("/api/sentences?ids=1,4").json["sentences"]
    assert [one["probabilities"] for one in shown] == [one["probabilities"] for one in learned]
    client.post("/api/undo", {"author": "anna"})
    shown = client.get("/api/sentences?ids=1,4").json["sentences"]
    assert [one["probabilities"] for one in shown] == [one["probabilities"] for one in before]


def test_what_is_taken_back_during_training_is_forgotten_by_the_next_one(
    project: Path, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapo.apps.teach import pupil, retraining

    may_go, seen = threading.Event(), []

    def train(self: Any, kind: str, pairs: Any, base: bytes | None, known: Any) -> bytes:
        may_go.wait(30)
        seen.append(len(pairs))
        return in_this_process(self, kind, pairs, base, known)

    monkeypatch.setattr(retraining.Process, "train", train)
    for module in (retraining, pupil):
        monkeypatch.setattr(module, "SMALL", 2)
    client = open_project(project)
    for sentence in (1, 2, 3, 4, 5, 6):
        client.accept(sentence)
    client.post("/api/undo", {"author": "anna"})
    client.post("/api/undo", {"author": "anna"})
    may_go.set()
    wait_for_training(client)
    assert seen == [5, 4]


def test_what_is_taken_back_is_forgotten_after_a_restart_too(
    project: Path, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapo.apps.teach import pupil, retraining

    for module in (retraining, pupil):
        monkeypatch.setattr(module, "SMALL", 2)
    for sentences in ((2, 3, 4), (1,)):  # the second time there is a snapshot that knows all four
        client = open_project(project)
        for sentence in sentences:
            client.accept(sentence, tags=["B-ORG", *["O"] * 5] if sentence == 1 else None)
        client.close()
    client = open_project(project)
    may_go = threading.Event()
    monkeypatch.setattr(retraining.Process, "train", lambda *what: may_go.wait(30) and None)
    client.post("/api/undo", {"author": "anna"})
    threading.Timer(0.3, may_go.set).start()
    client.close()
    monkeypatch.setattr(retraining.Process, "train", in_this_process)
    client = open_project(project)
    wait_for_training(client)
    assert "B-ORG" not in client.get("/api/sentences?ids=1").json["sentences"][0]["tags"]


def test_what_the_process_reads_is_what_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapo.apps.teach import pupil, retraining
    from sapo.tagger.file import model_bytes

    pairs = [(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])]
    base = pupil.train_on_all("spans", pairs)
    copies = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    monkeypatch.setattr(retraining, "COMMAND", ("-S", "-c", copies))
    monkeypatch.setattr(retraining.os, "nice", lambda by: 0)
    known = pupil.Known({"Oslo": "0", "home": "10"}, {"city": ["Rom"]}, {"city": ["Oslo"]})
    for model in (base, None):
        sent = retraining.Process().train("spans", pairs, model and model_bytes(model.model), known)
        assert sent is not None
        monkeypatch.setattr(retraining.sys, "stdin", io.TextIOWrapper(io.BytesIO(sent)))
        monkeypatch.setattr(retraining.sys, "stdout", io.TextIOWrapper(written := io.BytesIO()))
        retraining.main()
        assert written.getvalue() == model_bytes(pupil.train_on_all("spans", pairs, model, known).model)


def test_a_project_has_clusters_of_all_its_words_if_there_are_enough() -> None:
    from sapo.training.unlabeled import word_clusters

    names = [
        f"{a}{b}" for a in "bcdfghklmn" for b in ("an", "en", "in", "on", "un", "al", "el", "il", "ol", "ul", "as")
    ]
    words = [["the", name, "sleeps"] for name in names] * 4
    found = word_clusters(words)
    assert found is not None
    assert set(found) == {"the", "sleeps", *names}

    assert word_clusters(words[:20]) is None
    assert word_clusters([]) is None


def test_a_process_that_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapo.apps.teach import retraining

    monkeypatch.setattr(retraining, "COMMAND", ("-S", "-c", "import sys; sys.exit('a\\nthe reason')"))
    with pytest.raises(SapoError, match=r"^training from scratch failed: the reason$"):
        retraining.Process().train("spans", [], None)


def test_a_process_that_is_stopped_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapo.apps.teach import retraining

    monkeypatch.setattr(retraining, "COMMAND", ("-S", "-c", "import time; time.sleep(60)"))
    process = retraining.Process()
    threading.Timer(0.1, process.end).start()
    assert process.train("spans", [], None) is None


def test_training_that_fails_is_told_in_one_line(
    project: Path, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapo.apps.teach import retraining
    from sapo.apps.teach.retraining import Habits

    def fails(self: Any, kind: str, pairs: Any, base: bytes | None, known: Any) -> bytes:
        raise SapoError("training from scratch failed: no memory")

    monkeypatch.setattr(retraining.Process, "train", fails)
    client = open_project(project, habits=Habits(first=2, least=2))
    client.accept(1)
    client.accept(2)
    assert wait_for_training(client)["model"]["problem"] == "training from scratch failed: no memory"
    assert client.accept(3)["counts"]["accepted"] == 3


def test_the_temperature_makes_what_people_said_most_likely() -> None:
    import numpy as np

    from sapo.apps.teach.pupil import fit
    from sapo.search.lattice import Lattice
    from sapo.training.calibration import HeldOut

    edge = np.zeros((2, 2), np.float32)
    sure = Lattice(np.array([[4.0, 0.0]], np.float32), edge)  # 98 % for the first label
    right, wrong = HeldOut(sure, np.array([0], np.int32)), HeldOut(sure, np.array([1], np.int32))
    for rights, wrongs in ((3, 1), (40, 20), (4, 0), (58, 0)):
        temperature = fit([right] * rights + [wrong] * wrongs)
        assert temperature is not None
        share = (rights + 1) / (rights + wrongs + 2)  # Laplace's rule: never surer than the sentences can prove
        assert abs(1 / (1 + np.exp(-4.0 / temperature)) - share) < 0.01
    only = Lattice(np.array([[4.0, -np.inf]], np.float32), edge)
    assert fit([HeldOut(only, np.array([0], np.int32))]) is None  # there is no choice


def found_in(model: Any, *words: str) -> str:
    """Return B, I or O for each word: what the list `city` of a model has."""
    from sapo.corpus.blocks import Sentence, block_from_sentences

    block = block_from_sentences([Sentence({"word": words}, None)], "text", labeled=False)
    data, starts, ends = model.encoder.templates.knowledge.fields_of(block, "city")
    return b"".join(data[a:b].tobytes() for a, b in zip(starts, ends, strict=True)).decode()


@pytest.fixture
def listed(project: Path, tmp_path: Path) -> Path:
    """A project with a list of cities."""
    from sapo.apps.teach.project import make_project

    (tmp_path / "cities.txt").write_text("Rom\nNew York\n")
    make_project(tmp_path / "l.teach", [tmp_path / "notes.txt"], names={"city:case": tmp_path / "cities.txt"})
    return tmp_path / "l.teach"


@pytest.mark.parametrize("small", [10, 2])
def test_a_name_that_a_person_adds_is_known_from_the_next_training_on(
    listed: Path, open_project: Open, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    from sapo.apps.teach import pupil, retraining

    monkeypatch.setattr(retraining.Process, "train", in_this_process)
    for module in (retraining, pupil):
        monkeypatch.setattr(module, "SMALL", small)
    client = open_project(listed)
    assert client.get("/api/project").json["lists"] == ["city:case"]
    for sentence in (1, 2, 3, 4):
        client.accept(sentence)
    assert found_in(client.classroom.pupil.model, "Rom", "New", "York", "Oslo") == "BBIO"
    form = {"list": "city:case", "name": "Oslo", "author": "anna"}
    assert client.post("/api/names", form).status == 200
    wait_for_training(client)
    assert found_in(client.classroom.pupil.model, "Rom", "oslo", "Oslo") == "BOB"
    for wrong, why in (
        ({"name": "Oslo"}, "'Oslo' is in the list 'city:case' already"),
        ({"name": "Rom"}, "'Rom' is in the list 'city:case' already"),
        ({"name": "--"}, "has neither a letter nor a digit"),
        ({"list": "city"}, "there is no list 'city'; did you mean 'city:case'?"),
    ):
        reply = client.post("/api/names", {**form, **wrong})
        assert (reply.status, why in reply.json["error"]) == (422, True), reply.body
    client.close()
    again = open_project(listed)  # the journal has it
    assert found_in(again.classroom.pupil.model, "Oslo") == "B"


def test_a_name_that_is_marked_in_one_sentence_only_is_not_in_the_list_while_the_model_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sapo.apps.teach import pupil

    trained = []
    monkeypatch.setattr(pupil, "with_names", lambda tagger, lists: trained.append(tagger.model) or tagger)
    pairs = [(["in", city], ["O", "B-LOC"]) for city in ("Rom", "Oslo", "Bonn", "Bonn")] + [(["no"], ["O"])]
    pupil.train_on_all("spans", pairs, None, pupil.Known(None, {"city": ["Paris"]}, {"city": ["Oslo", "Bonn", "Wien"]}))
    assert found_in(trained[0], "Paris", "Oslo", "Bonn", "Wien", "Rom") == "BOBBO"
