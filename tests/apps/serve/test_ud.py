"""A UD pipeline answers over HTTP as it does in Python, in JSON and in CoNLL-U."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sapo

if TYPE_CHECKING:
    from conftest import Client

TEXT = "The old dogs don't sleep. Tom reads."
PATH = "/models/tree/ud"


@pytest.fixture(scope="module")
def ud(originals: Path) -> sapo.UD:
    return sapo.UD.load(originals / "tree.sapo")


def test_the_answer_in_conllu_is_that_of_the_pipeline(client: "Client", ud: sapo.UD) -> None:
    reply = client.post(PATH, {"text": TEXT, "format": "conllu"})
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.body.decode() == ud(TEXT).to_conllu()


def test_the_answer_in_json_has_what_the_pipeline_found(client: "Client", ud: sapo.UD) -> None:
    answer = client.post(PATH, {"texts": ["", TEXT]}).json
    assert answer["model"] == "tree"
    assert [one["index"] for one in answer["sentences"]] == [1, 1]
    for one, sentence in zip(answer["sentences"], ud(TEXT), strict=True):
        assert [TEXT[token["start"] : token["end"]] for token in one["tokens"]] == [t.form for t in sentence.tokens]
        assert [(token["first"], token["last"]) for token in one["tokens"]] == [
            (t.first, t.last) for t in sentence.tokens
        ]
        fields = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")
        assert one["words"] == [{name: getattr(word, name) for name in fields} for word in sentence.words]


def test_words_that_are_cut_stay(client: "Client") -> None:
    (sentence,) = client.post(PATH, {"sentences": [["Tom", "don't", "sleep"]]}).json["sentences"]
    assert [word["form"] for word in sentence["words"]] == ["Tom", "don't", "sleep"]
    assert "start" not in sentence["tokens"][0]
    assert client.post(PATH, {"sentences": [[]]}).json["sentences"] == [{"index": 0, "tokens": [], "words": []}]


@pytest.mark.parametrize(
    ("path", "request_", "message"),
    [
        ("/models/tree/tag", {"text": "a"}, "the model 'tree' does not answer tag; ask for ud"),
        ("/models/place/ud", {"text": "a"}, "the model 'place' does not answer ud; ask for tag"),
        (PATH, {}, "give exactly one of text, texts and sentences"),
        (PATH, {"text": "a", "texts": []}, "give exactly one of text, texts and sentences"),
        (PATH, {"sentences": [["a\tb"]]}, "a word must have characters, and no tab or line break"),
        (PATH, {"text": "a", "format": "xml"}, "format"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(client: "Client", path: str, request_: Any, message: str) -> None:
    reply = client.post(path, request_)
    assert (reply.status, message in reply.json["error"]) == (422, True), reply.json


def test_a_pipeline_keeps_to_the_limits(new_client: "type[Client]", originals: Path) -> None:
    small = new_client(originals / "tree.sapo", tokens=5)
    assert small.post("/ud", {"text": "Tom reads."}).status == 200
    for request in ({"text": TEXT}, {"texts": [""] * 6}, {"sentences": [["a"] * 6]}):
        reply = small.post("/ud", request)
        assert (reply.status, "at most 5 tokens" in reply.json["error"]) == (422, True)
    described = json.loads(small.get("/models/tree").body)
    assert (described["kind"], "NOUN" in described["labels"]) == ("ud", True)
