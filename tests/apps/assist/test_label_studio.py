"""The messages of Label Studio's ML backend, as Label Studio 1.x sends them."""

import base64
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.apps.assist.helper import document_of
from sapo.corpus.annotations import CharSpan
from sapo.errors import SapoError
from sapo.text.splitter import Splitter

Make = Callable[..., Any]
CONFIG = """<View>
  <Labels name="ner" toName="body">
    <Label value="PER" background="red"/><Label value="LOC"/><Label value="ORG"/>
  </Labels>
  <Text name="body" value="$article"/>
</View>"""


def task(text: str, number: int = 7) -> dict[str, Any]:
    return {"id": number, "data": {"article": text, "source": 3}, "meta": {}, "created_at": "2024-01-01T00:00:00Z"}


def region(start: int, end: int, text: str, label: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": text, "labels": [label]}
    return {"id": "x1", "from_name": "ner", "to_name": "body", "type": "labels", "value": value, "origin": "manual"}


def event(text: str, *regions: dict[str, Any], action: str = "ANNOTATION_CREATED", **more: Any) -> dict[str, Any]:
    annotation = {"id": 1, "result": list(regions), "was_cancelled": False, "completed_by": 1, **more}
    project = {"id": 3, "title": "towns", "label_config": CONFIG}
    return {"action": action, "annotation": annotation, "project": project, "task": task(text)}


def predictions(client: Any, *texts: str) -> list[dict[str, Any]]:
    request = {
        "tasks": [task(text) for text in texts],
        "model_version": "",
        "project": "3.1700000000",
        "label_config": CONFIG,
        "params": {"login": None, "password": None, "context": None},
    }
    reply = client.post("/predict", request)
    assert reply.status == 200, reply.body
    results: list[dict[str, Any]] = reply.json["results"]
    return results


def found(prediction: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["value"]["text"], one["value"]["labels"][0]) for one in prediction["result"]]


def test_health_setup_and_versions_are_as_label_studio_expects(client: Make) -> None:
    studio = client("label-studio")
    assert studio.get("/health").json == studio.get("/").json == {"status": "UP", "model_class": "sapo"}
    request = {"project": "3.1700000000", "schema": CONFIG, "hostname": "http://localhost:8080", "access_token": "t"}
    assert studio.post("/setup", request).json == {"model_version": "towns-3"}
    assert studio.get("/versions").json["versions"] == ["towns-3"]


def test_a_prediction_has_regions_with_the_names_of_the_project(client: Make) -> None:
    first, second = predictions(client("label-studio"), "We live in Oslo. Anna is at home.", "Nothing here.")
    assert found(first) == [("Oslo", "LOC"), ("Anna", "PER")]
    one = first["result"][0]
    assert (one["from_name"], one["to_name"], one["type"]) == ("ner", "body", "labels")
    assert (one["value"]["start"], one["value"]["end"]) == (11, 15)
    assert 0 < one["score"] <= 1
    assert first["model_version"] == "towns-3"
    assert 0 <= second["score"] <= 1


def test_labels_that_the_project_does_not_have_are_not_suggested(client: Make) -> None:
    config = CONFIG.replace('<Label value="LOC"/>', "")
    request = {"tasks": [task("We live in Oslo. Anna is at home.")], "label_config": config}
    (prediction,) = client("label-studio").post("/predict", request).json["results"]
    assert found(prediction) == [("Anna", "PER")]


def test_an_annotation_is_learned_at_once_and_changes_the_version(client: Make) -> None:
    studio = client("label-studio")
    text = "The offices of Acme Works are closed."
    assert ("Acme Works", "ORG") not in found(predictions(studio, text)[0])
    reply = studio.post("/webhook", event(text, region(15, 25, "Acme Works", "ORG")))
    assert (reply.status, reply.json["learned"], reply.json["model_version"]) == (201, 1, "towns-4")
    assert ("Acme Works", "ORG") in found(predictions(studio, text)[0])


def test_an_annotation_that_is_told_twice_is_learned_once_and_a_changed_one_again(client: Make) -> None:
    studio = client("label-studio")
    first = event("Lima is far.", region(0, 4, "Lima", "LOC"))
    assert studio.post("/webhook", first).json["learned"] == 1
    assert studio.post("/webhook", first).json["learned"] == 0
    changed = event("Lima is far.", region(0, 4, "Lima", "PER"), action="ANNOTATION_UPDATED")
    assert studio.post("/webhook", changed).json["learned"] == 1
    assert found(predictions(studio, "Lima is far.")[0]) == [("Lima", "PER")]


@pytest.mark.parametrize(
    "message",
    [
        event("Lima is far.", region(0, 4, "Lima", "LOC"), action="ANNOTATION_DELETED"),
        event("Lima is far.", region(0, 4, "Lima", "LOC"), was_cancelled=True),
        {"action": "PROJECT_UPDATED", "project": {"id": 3}},
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 3}], "project": {"id": 3}},
    ],
)
def test_other_events_are_taken_and_teach_nothing(client: Make, message: dict[str, Any]) -> None:
    studio = client("label-studio")
    reply = studio.post("/webhook", message)
    assert reply.status == 201
    assert reply.json.get("learned", 0) == 0
    assert studio.helper.version == "towns-3"


def test_start_training_saves_the_model_and_it_loads(client: Make) -> None:
    studio = client("label-studio")
    text = "The offices of Acme Works are closed."
    studio.post("/webhook", event(text, region(15, 25, "Acme Works", "ORG")))
    assert not studio.output.exists()
    assert studio.post("/webhook", {"action": "START_TRAINING", "project": {"id": 3}}).status == 201
    spans = sapo.Tagger.load(studio.output).tag_text(text).spans
    assert [(span.text, span.type) for span in spans] == [("Acme Works", "ORG")]


def test_what_was_learned_is_saved_some_seconds_later(client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = client("label-studio")
    studio.app.worker.end()  # it would look at the time itself
    text = "The offices of Acme Works are closed."
    assert studio.helper.learn([document_of("task 7", text, [CharSpan(15, 25, "ORG")], studio.helper.cut(text))]) == 1
    assert 0 < studio.helper.idle() <= 10
    assert not studio.output.exists()
    monkeypatch.setattr("sapo.apps.assist.helper.SAVE_AFTER", 0.0)
    studio.helper.idle()
    saved = studio.output.read_bytes()
    studio.helper.idle()
    assert studio.output.read_bytes() == saved
    assert [span.type for span in sapo.Tagger.load(studio.output).tag_text(text).spans] == ["ORG"]


def test_a_model_that_cannot_be_saved_is_told_and_tried_again(client: Make, tmp_path: Path) -> None:
    studio = client("label-studio")
    studio.app.worker.end()
    studio.output.mkdir()  # no file can be written there
    text = "Lima is far."
    studio.helper.learn([document_of("task 7", text, [CharSpan(0, 4, "LOC")], studio.helper.cut(text))])
    studio.helper.save()
    assert "the model was not saved" in studio.said[-1]
    studio.output.rmdir()
    studio.helper.save()
    assert sapo.Tagger.load(studio.output).tag_text("Lima is far.").spans


def test_without_an_output_nothing_is_learned(client: Make) -> None:
    studio = client("label-studio", learns=False)
    assert studio.post("/webhook", event("Lima is far.", region(0, 4, "Lima", "LOC"))).json["learned"] == 0


def test_train_learns_the_first_annotation_of_each_task(client: Make) -> None:
    studio = client("label-studio")
    tasks = [{**task("Lima is far."), "annotations": [{"result": [region(0, 4, "Lima", "LOC")]}, {"result": []}]}]
    reply = studio.post("/train", {"annotations": tasks, "project": "3.17", "label_config": CONFIG})
    assert (reply.status, reply.json["learned"]) == (201, 1)


def test_offsets_count_characters_also_behind_an_emoji(client: Make) -> None:
    (prediction,) = predictions(client("label-studio"), "😀 We live in Oslo.")
    value = prediction["result"][0]["value"]
    assert (value["start"], value["end"], value["text"]) == (13, 17, "Oslo")


@pytest.mark.parametrize(
    ("path", "message", "told"),
    [
        ("/predict", {"tasks": [{"id": 5, "data": {"text": "x"}}], "label_config": CONFIG}, "task 5: expected a text"),
        ("/predict", {"tasks": [{"id": 5}]}, "missing required field `data`"),
        ("/predict", {"tasks": [], "label_config": "<View>"}, "not XML"),
        ("/predict", {"tasks": [], "label_config": "<!DOCTYPE a><View/>"}, "declarations"),
        ("/predict", {"tasks": [], "label_config": "<View><Text name='t' value='$t'/></View>"}, "no <Labels>"),
        ("/webhook", event("Lima.", region(0, 99, "Lima", "LOC")), "is not in the text"),
        ("/webhook", {"annotation": {}}, "missing required field `action`"),
        (
            "/setup",
            {"schema": CONFIG.replace("PER", "A").replace("LOC", "B")},
            "the project and the model have no label in common",
        ),
    ],
)
def test_a_message_that_cannot_be_answered_gets_one_line(client: Make, path: str, message: Any, told: str) -> None:
    reply = client("label-studio").post(path, message)
    assert reply.status == 422
    assert told in reply.json["error"]
    assert "\n" not in reply.json["error"]


def test_label_studio_sends_the_token_as_a_password(client: Make) -> None:
    studio = client("label-studio", token="0123456789abcdef")
    request: dict[str, Any] = {"tasks": [], "label_config": CONFIG}
    good = "Basic " + base64.b64encode(b"anybody:0123456789abcdef").decode()
    assert studio.post("/predict", request, authorization=good).status == 200
    assert studio.post("/predict", request, authorization="Bearer 0123456789abcdef").status == 200
    assert studio.post("/predict", request, authorization="Basic !").status == 401
    assert studio.post("/predict", request).status == 401
    assert studio.get("/health").status == 200


def test_a_model_that_labels_each_token_suggests_and_learns_tokens(client: Make) -> None:
    tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    studio = client("label-studio", tagger=tagger)
    config = CONFIG.replace("PER", "DT").replace("LOC", "NN").replace("ORG", "VB")
    request = {"tasks": [task("the dog")], "label_config": config}
    (prediction,) = studio.post("/predict", request).json["results"]
    assert found(prediction) == [("the", "DT"), ("dog", "NN")]
    message = event("dogs sing", region(0, 4, "dogs", "NN"), region(5, 9, "sing", "VB"))
    message["project"]["label_config"] = config
    assert studio.post("/webhook", message).json["learned"] == 1
    half = event("cats sing", region(5, 9, "sing", "VB"))
    half["project"]["label_config"] = config
    assert studio.post("/webhook", half).json["learned"] == 0


def test_what_is_too_much_is_refused_before_it_is_cut(client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = client("label-studio")
    cut: list[int] = []
    sentences = Splitter._sentences

    def watched(self: Splitter, text: str, begin: int, end: int) -> Iterator[Any]:
        for sentence in sentences(self, text, begin, end):
            cut.append(len(sentence))
            yield sentence

    monkeypatch.setattr(Splitter, "_sentences", watched)
    text = "!" * 3_900_000
    reply = studio.post("/predict", {"tasks": [task(text)], "label_config": CONFIG})
    assert (reply.status, "at most 50000 tokens" in reply.json["error"]) == (422, True)
    assert sum(cut) < 60_000
    reply = studio.post("/webhook", event(text, region(0, 1, "!", "LOC")))
    assert (reply.status, "at most 100000 tokens" in reply.json["error"]) == (422, True)
    assert sum(cut) < 200_000
    reply = studio.post("/predict", {"tasks": [{"data": {"text": ""}}] * 50_001})
    assert (reply.status, "at most 50000 tokens" in reply.json["error"]) == (422, True)
    assert studio.helper.version == "towns-3"


def test_too_many_labels_or_too_long_ones_are_refused(client: Make) -> None:
    studio = client("label-studio")
    many = event("a " * 1200, *(region(2 * at, 2 * at + 1, "a", f"L{at}") for at in range(1200)))
    reply = studio.post("/webhook", many)
    assert (reply.status, "can learn up to 1000 here, 1200 more" in reply.json["error"]) == (422, True)
    reply = studio.post("/webhook", event("Lima is far.", region(0, 4, "Lima", "x" * 1001)))
    assert (reply.status, "at most 1000 characters, not 1001" in reply.json["error"]) == (422, True)
    assert studio.helper.labels == ("LOC", "PER")


def test_marks_that_cover_the_text_too_often_are_refused(client: Make) -> None:
    studio = client("label-studio")
    text = "a b " * 200
    reply = studio.post("/webhook", event(text, *(region(0, 600 + at, "", "LOC") for at in range(200))))
    assert (reply.status, "the marks have 139,900 characters" in reply.json["error"]) == (422, True)


def test_of_many_marks_that_are_left_out_some_are_told(client: Make) -> None:
    studio = client("label-studio")
    regions = [region(0, 12 - at, "", "LOC") for at in range(10)]
    assert studio.post("/webhook", event("Lima is far.", *regions)).json["learned"] == 1
    assert len(studio.said) == 6
    assert studio.said[-1].endswith("task 7: 2 more spans like these")


def test_marks_as_old_versions_count_them_behind_many_emoji_are_moved(client: Make) -> None:
    studio = client("label-studio")
    text = "😀😀 Lima is far."
    assert studio.post("/webhook", event(text, region(5, 9, "Lima", "ORG"))).json["learned"] == 1
    assert studio.post("/webhook", event(text, region(3, 7, "Lima", "ORG"))).json["learned"] == 0  # the same


def test_other_data_of_a_task_is_not_read(client: Make) -> None:
    given = {"tasks": [{"data": {"text": "We live in Oslo.", "more": [{"a": [1.5, None]}]}}]}
    assert client("label-studio").post("/predict", given).status == 200
    for text in (b"\\ud800", b"\xff", b"\x01"):
        reply = client("label-studio").post("/predict", b'{"tasks": [{"data": {"text": "%s"}}]}' % text)
        assert (reply.status, "not JSON" in reply.json["error"]) == (422, True)


def test_a_configuration_that_is_too_long_is_refused(client: Make) -> None:
    reply = client("label-studio").post("/predict", {"tasks": [], "label_config": "<View/>" * 200_000})
    assert (reply.status, "may have 1,000,000 characters" in reply.json["error"]) == (422, True)


@given(st.text(alphabet=st.sampled_from('<>/View Labels name="t" toName Text value $ & ; ! é'), max_size=60))
def test_any_configuration_is_read_or_refused(config: str) -> None:
    from sapo.apps.assist.label_studio import read_config

    with contextlib.suppress(SapoError):
        assert read_config(config).key


def test_too_many_requests_and_late_ones_are_refused_as_by_sapo_serve(client: Make) -> None:
    made = client("label-studio")
    made.app.limits = type(made.app.limits)(requests=0)
    reply = made.post("/predict", {"tasks": []})
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert made.get("/health").status == 200
    assert made.ask("PUT", "/predict", [b""], {}).headers["allow"] == "POST"
    assert "there are /, /health, /versions, /setup" in made.get("/nothing").json["error"]
