"""Accepting, taking back, locks, slips and disagreements, as the page asks for them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taught_text import GOLD

Open = Callable[..., Any]


def test_a_new_project_has_its_sentences_and_labels(client: Any) -> None:
    project = client.get("/api/project").json
    assert project["kind"] == "spans"
    assert project["labels"] == ["PER", "ORG", "LOC"]
    assert project["counts"] == {"sentences": 7, "accepted": 0, "by_label": {"PER": 0, "ORG": 0, "LOC": 0}}
    first = client.get("/api/sentences?order=in-order&count=1").json["sentences"][0]
    assert [first["text"][start:end] for start, end in first["tokens"]] == ["Anna", "Berg", "lives", "in", "Oslo", "."]
    assert first["tags"] == ["O"] * 6


def test_the_first_accepted_sentence_makes_a_model_that_tags_the_screen(client: Any) -> None:
    answer = client.accept(1, visible=[2, 3, 4])
    assert (answer["sentence"]["state"], answer["sentence"]["by"]) == ("accepted", "anna")
    assert answer["counts"]["by_label"] == {"PER": 1, "ORG": 0, "LOC": 1}
    assert {view["id"] for view in answer["changed"]} == {2, 3, 4}
    assert answer["curve_point"] is None  # there was no model that could have been right
    anna = client.get("/api/sentences?ids=1").json["sentences"][0]
    assert anna["tags"] == GOLD[1]


def test_it_learns_what_people_say(client: Any) -> None:
    for sentence in range(1, 7):
        answer = client.accept(sentence, visible=[7])
    view = client.get("/api/sentences?ids=7").json["sentences"][0]
    assert view["tags"] == GOLD[7]
    assert [(span["from"], span["to"], span["label"]) for span in view["spans"]] == [(0, 1, "PER"), (2, 3, "LOC")]
    assert all(0 < span["probability"] <= 1 for span in view["spans"])
    assert 0 < view["sure"] <= 1
    assert answer["curve_point"]["accepted"] == 5
    assert client.get("/api/project").json["curve"][-1] == answer["curve_point"]


def test_a_sentence_without_spans_can_be_the_first(client: Any) -> None:
    client.accept(5)
    assert client.accept(1, visible=[3])["model"]["problem"] is None
    assert client.get("/api/sentences/3/nbest?n=3").json["taggings"]


def test_undo_and_redo_are_of_one_person(client: Any) -> None:
    client.accept(1, "anna")
    client.accept(2, "ben")
    undone = client.post("/api/undo", {"author": "anna"}).json
    assert (undone["sentence"]["id"], undone["sentence"]["state"]) == (1, "open")
    assert client.post("/api/undo", {"author": "anna"}).json["sentence"] is None
    assert client.get("/api/project").json["counts"]["accepted"] == 1
    redone = client.post("/api/redo", {"author": "anna"}).json
    assert (redone["sentence"]["id"], redone["sentence"]["tags"]) == (1, GOLD[1])
    assert client.post("/api/redo", {"author": "ben"}).json["sentence"] is None


def test_undoing_the_only_sentence_leaves_no_model(client: Any) -> None:
    client.accept(1)
    client.post("/api/undo", {"author": "anna"})
    assert client.get("/api/sentences/2/nbest").json["taggings"] == []
    assert client.get("/api/sentences/2/explain?token=0").status == 422


def test_a_new_label_inside_tags_is_added(client: Any) -> None:
    answer = client.accept(5, tags=["B-PRON", "O", "O", "O"])
    assert answer["labels"] == ["PER", "ORG", "LOC", "PRON"]
    assert client.post("/api/labels", {"name": "DATE"}).json["labels"][-1] == "DATE"
    assert client.post("/api/labels", {"name": "DATE"}).json == {"error": "the label 'DATE' already exists"}


def test_wrong_tags_are_refused_in_one_line(client: Any) -> None:
    for tags, why in (
        (["O"], "there are 1 tags for 6 tokens; give one for each token"),
        (["I-PER", *["O"] * 5], "token 0: 'I-PER' cannot begin a sentence in iob2"),
        (["PER", *["O"] * 5], "token 0: 'PER' is not a tag of iob2"),
    ):
        reply = client.post("/api/accept", {"id": 1, "tags": tags, "author": "anna"})
        assert (reply.status, reply.json["error"][: len(why)]) == (422, why)
    reply = client.post("/api/accept", {"id": 99, "tags": ["O"], "author": "anna"})
    assert (reply.status, reply.json["error"]) == (422, "there is no sentence 99")
    assert client.get("/api/project").json["counts"]["accepted"] == 0


def test_what_others_lock_is_not_given_out(client: Any) -> None:
    assert client.post("/api/lock", {"id": 1, "author": "anna"}).json == {"lock": "anna"}
    assert client.post("/api/lock", {"id": 1, "author": "ben"}).json == {"lock": "anna"}

    def given(author: str) -> set[int]:
        return {one["id"] for one in client.get(f"/api/sentences?order=random&author={author}").json["sentences"]}

    assert given("anna") == set(range(1, 8))
    assert given("ben") == set(range(2, 8))
    assert client.post("/api/unlock", {"id": 1, "author": "ben"}).json == {"lock": "anna"}
    client.accept(1, "anna")  # an accepted sentence is free
    assert client.post("/api/lock", {"id": 1, "author": "ben"}).json == {"lock": "ben"}


def test_a_sentence_that_another_person_has_is_not_changed(client: Any) -> None:
    client.accept(1, "ben")
    client.post("/api/lock", {"id": 1, "author": "anna"})
    refused = "anna is working on this sentence; take it over first, or come back later"
    message = {"id": 1, "tags": ["O"] * 6, "author": "ben"}
    for path, body in (("accept", message), ("undo", {"author": "ben"}), ("redo", {"author": "ben"})):
        if path == "redo":  # ben takes his sentence back before anna has it
            client.post("/api/unlock", {"id": 1, "author": "anna"})
            assert client.post("/api/undo", {"author": "ben"}).json["sentence"]["state"] == "open"
            client.post("/api/lock", {"id": 1, "author": "anna"})
        before = len(client.classroom.state.log)
        reply = client.post(f"/api/{path}", body)
        assert (reply.status, reply.json) == (409, {"error": refused})
        assert len(client.classroom.state.log) == before
    client.post("/api/unlock", {"id": 1, "author": "anna"})
    assert client.accept(1, "ben", tags=["O"] * 6)["sentence"]["tags"] == ["O"] * 6


def test_of_several_people_who_accept_at_once_only_the_holder_does(client: Any) -> None:
    from sapo.apps.limits import RefusedError
    from sapo.apps.teach.messages import AcceptForm, ChangeAnswer

    client.post("/api/lock", {"id": 1, "author": "anna"})
    forms = [AcceptForm(id=1, tags=GOLD[1], author=author) for author in ("ben", "anna")]
    client.app.worker.end()  # only one thread may use a classroom
    bens, annas = client.classroom.accept(forms)
    assert isinstance(bens, RefusedError)
    assert isinstance(annas, ChangeAnswer)
    assert [event.author for event in client.classroom.state.log] == ["start"] * 3 + ["anna"]


def test_a_sentence_is_taken_over_on_request_and_all_pages_hear_it(client: Any) -> None:
    heard: list[tuple[str, int | None, str | None]] = []
    client.classroom.publish = lambda *what: heard.append(what)
    client.post("/api/lock", {"id": 1, "author": "anna"})
    assert client.post("/api/lock", {"id": 1, "author": "ben", "take": True}).json == {"lock": "ben"}
    assert client.post("/api/accept", {"id": 1, "tags": GOLD[1], "author": "anna"}).status == 409
    assert client.post("/api/lock", {"id": 1, "author": "anna"}).json == {"lock": "ben"}
    client.accept(1, "ben")
    locks = [what for what in heard if what[0] in ("lock", "unlock")]
    assert locks == [("lock", 1, "anna"), ("lock", 1, "ben"), ("unlock", 1, "ben")]


def test_all_pages_hear_that_a_lock_has_ended(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapo.apps.teach import classroom

    monkeypatch.setattr(classroom, "SECONDS", 0.0)
    heard: list[tuple[str, int | None, str | None]] = []
    client.classroom.publish = lambda *what: heard.append(what)
    client.post("/api/lock", {"id": 1, "author": "anna"})
    while ("unlock", 1, "anna") not in heard:
        time.sleep(0.01)


def test_a_part_of_a_token_can_be_marked(tmp_path: Path, open_project: Open) -> None:
    from sapo.apps.teach.project import make_project

    (tmp_path / "orders.txt").write_text("Send the LumiLamp/SolarPack today.\n\nThe LumiLamp/SolarPack broke.\n")
    make_project(tmp_path / "orders.teach", [tmp_path / "orders.txt"], ["LAMP", "PACK"])
    client = open_project(tmp_path / "orders.teach")
    client.accept(1, "ben", tags=["O", "O", "B-PACK", "O", "O"])
    answer = client.accept(1, tags=["O", "O", "B-LAMP", "O", "B-PACK", "O", "O"], cuts=[17, 18], visible=[2])
    view = answer["sentence"]
    assert [view["text"][start:end] for start, end in view["tokens"][2:5]] == ["LumiLamp", "/", "SolarPack"]
    assert [(span["from"], span["to"], span["label"]) for span in view["spans"]] == [(2, 3, "LAMP"), (4, 5, "PACK")]
    assert client.get("/api/disagreements").json["items"][0]["by"]["ben"][2:5] == ["B-PACK", "I-PACK", "I-PACK"]
    assert answer["model"]["problem"] is None
    for places, why in (([17], "character 17 is not inside a token"), ([99], "character 99 is not inside a token")):
        body = {"id": 1, "tags": ["O"] * 8, "author": "ben", "cuts": places}
        assert client.post("/api/accept", body).json["error"] == f"cuts: {why}"
    undone = client.post("/api/undo", {"author": "anna"}).json["sentence"]
    assert undone["tags"][2:5] == ["B-PACK", "I-PACK", "I-PACK"]  # of ben; the cuts stay
    client.post("/api/redo", {"author": "anna"})
    client.close()
    again = open_project(tmp_path / "orders.teach")
    assert again.get("/api/sentences?ids=1").json["sentences"][0]["tags"] == view["tags"]
    exported = again.get("/api/export?format=columns").body.decode()
    assert "LumiLamp\tB-LAMP\n/\tO\nSolarPack\tB-PACK\n" in exported


def test_of_two_people_who_accept_at_once_the_second_must_know_the_tokens(client: Any) -> None:
    from sapo.apps.teach.messages import AcceptForm, ChangeAnswer

    cut = AcceptForm(id=1, tags=["O", *GOLD[1]], author="anna", cuts=[2])
    client.app.worker.end()  # only one thread may use a classroom
    annas, bens = client.classroom.accept([cut, AcceptForm(id=1, tags=GOLD[1], author="ben")])
    assert isinstance(annas, ChangeAnswer)
    assert str(bens) == "there are 6 tags for 7 tokens; give one for each token"


def test_people_who_disagree_are_listed(client: Any) -> None:
    client.accept(1, "anna")
    client.accept(2, "anna")
    asked = client.get("/api/sentences?order=in-order&author=ben&second=1").json
    assert [one["id"] for one in asked["sentences"]] == [1, 2]
    assert asked["sentences"][0]["tags"] == ["O"] * 6  # Ben does not see what Anna said
    client.accept(1, "ben")
    client.accept(2, "ben", tags=["O", "O", "O", "B-LOC", "O"])
    found = client.get("/api/disagreements").json
    assert (found["both"], [item["id"] for item in found["items"]]) == (2, [2])
    assert found["items"][0]["by"] == {"anna": GOLD[2], "ben": ["O", "O", "O", "B-LOC", "O"]}
    assert 0.7 < found["kappa"] < 0.9
    assert client.get("/api/sentences?ids=2").json["sentences"][0]["by"] == "ben"  # the last one decides


def test_likely_slips_are_listed(tmp_path: Path, open_project: Open) -> None:
    from sapo.apps.teach.project import make_project

    (tmp_path / "same.txt").write_text("Ben likes Oslo.\n\n" * 6)
    make_project(tmp_path / "same.teach", [tmp_path / "same.txt"])
    client = open_project(tmp_path / "same.teach")
    for sentence in range(1, 6):
        client.accept(sentence, tags=GOLD[7])
    client.accept(6, tags=["O"] * 4)
    version = client.classroom.pupil.version
    while client.classroom.cache.digests[6].version != version:  # tagged again in idle time
        time.sleep(0.01)
    (slip,) = client.get("/api/slips").json["slips"]
    assert (slip["sentence"]["id"], slip["model_tags"]) == (6, GOLD[7])
    assert 0 < slip["probability"] <= 1


def test_what_another_process_imports_is_learned(project: Path, client: Any) -> None:
    from sapo.apps.teach.project import import_file
    from sapo.apps.teach.store import Store

    (project.parent / "more.conll").write_text("Carl\tB-PER\nsings\tO\n\n")
    store = Store(project)
    import_file(store, project.parent / "more.conll", None, None)
    store.close()
    while client.get("/api/project").json["counts"]["accepted"] == 0:
        time.sleep(0.02)
    assert client.get("/api/project").json["counts"]["sentences"] == 8
    assert client.get("/api/sentences?ids=8").json["sentences"][0]["by"] == "more.conll"
    assert client.get("/api/sentences?order=least-sure").json["total"] == 7


def test_an_explanation_has_what_speaks_for_and_against(client: Any) -> None:
    client.accept(1)
    why = client.get("/api/sentences/3/explain?token=0&top=5").json
    assert (why["token"], len(why["for"]) + len(why["against"]) > 0) == (0, True)
    assert all(one["weight"] > 0 for one in why["for"])
    assert all(one["weight"] < 0 for one in why["against"])


def test_the_screen_is_whole_if_others_have_changed_the_model(client: Any) -> None:
    version = client.accept(1)["model"]["version"]
    client.accept(2, "ben")
    answer = client.accept(3, visible=[4, 5], version=version)
    assert {view["id"] for view in answer["changed"]} == {4, 5}


def test_a_project_goes_on_after_it_was_closed(project: Path, open_project: Open) -> None:
    client = open_project(project)
    for sentence in range(1, 6):
        client.accept(sentence)
    before = client.get("/api/sentences?ids=6,7").json
    client.close()
    again = open_project(project)
    after = again.get("/api/sentences?ids=6,7").json
    assert [one["tags"] for one in after["sentences"]] == [one["tags"] for one in before["sentences"]]
    assert again.get("/api/project").json["counts"]["accepted"] == 5
    assert again.post("/api/undo", {"author": "anna"}).json["sentence"]["id"] == 5


def test_an_answer_says_how_long_it_took(client: Any) -> None:
    head, _, milliseconds = client.get("/api/project").headers["server-timing"].partition("=")
    assert head == "total;dur"
    assert float(milliseconds) > 0
