"""Requests of every kind get the answers that the tagger gives."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import sapo

TEXT = "We  are in Oslo. She saw New York."


def test_text_is_answered_with_offsets(client: Any, originals: Path) -> None:
    reply = client.post("/tag", {"text": TEXT})
    assert reply.status == 200
    assert reply.json["model"] == "place"
    expected = sapo.Tagger.load(originals / "place.sapo").tag_text(TEXT)
    assert len(reply.json["sentences"]) == len(expected.sentences)
    for found, sentence in zip(reply.json["sentences"], expected.sentences, strict=True):
        assert found["tags"] == sentence.tags
        assert [(one["text"], one["start"], one["end"]) for one in found["tokens"]] == [
            (one.text, one.start, one.end) for one in sentence.tokens
        ]
        assert [(one["text"], one["start"], one["end"], one["type"]) for one in found["spans"]] == [
            (one.text, one.start, one.end, one.type) for one in sentence.spans
        ]
        assert "probabilities" not in found
    assert sum(len(one["spans"]) for one in reply.json["sentences"]) > 0


def test_offsets_count_characters_and_not_bytes(client: Any) -> None:
    (found,) = client.post("/tag", {"text": "ééé 😀 in Oslo"}).json["sentences"]
    assert [(one["start"], one["end"], one["text"]) for one in found["spans"]] == [(9, 13, "Oslo")]


def test_probabilities_are_those_of_the_tagger(client: Any, originals: Path) -> None:
    (found,) = client.post("/tag", {"text": "in Oslo", "probabilities": True}).json["sentences"]
    (sentence,) = sapo.Tagger.load(originals / "place.sapo").tag_text("in Oslo", probabilities=True).sentences
    assert found["probabilities"] == pytest.approx([token.probability for token in sentence.tokens])
    assert [one["probability"] for one in found["spans"]] == pytest.approx([s.probability for s in sentence.spans])


def test_tokens_are_answered_with_spans_of_tokens(client: Any) -> None:
    (found,) = client.post("/tag", {"tokens": ["in", "Oslo"]}).json["sentences"]
    assert found == {
        "index": 0,
        "tags": ["O", "B-LOC"],
        "spans": [{"type": "LOC", "token_start": 1, "token_end": 2}],
    }


def test_many_texts_and_sentences_keep_their_index(client: Any) -> None:
    found = client.post("/tag", {"texts": ["in Oslo", "", "at home"]}).json["sentences"]
    assert [one["index"] for one in found] == [0, 2]
    found = client.post("/tag", {"sentences": [["in"], [], ["at", "home"]]}).json["sentences"]
    assert [(one["index"], len(one["tags"])) for one in found] == [(0, 1), (1, 0), (2, 2)]


def test_a_large_request_has_the_answers_of_small_ones(client: Any) -> None:
    words = ["in", "Oslo"]
    (small,) = client.post("/tag", {"tokens": words}).json["sentences"]
    large = client.post("/tag", {"sentences": [words] * 2000}).json["sentences"]
    assert large == [{**small, "index": number} for number in range(2000)]


def test_a_small_request_does_not_wait_for_a_large_one(client: Any) -> None:
    large = {"content-type": "application/json"}, [json.dumps({"sentences": [["in", "Oslo"]] * 20_000}).encode()]

    async def both() -> list[str]:
        done: list[str] = []

        async def ask(name: str, parts: list[bytes]) -> None:
            assert (await client.asked("POST", "/tag", parts, large[0])).status == 200
            done.append(name)

        await asyncio.gather(ask("large", large[1]), ask("small", [b'{"tokens": ["in", "Oslo"]}']))
        return done

    assert asyncio.run(both()) == ["small", "large"]


def test_models_are_found_by_name(client: Any) -> None:
    reply = client.post("/models/chunk/tag", {"tokens": [["the", "DT"], ["cat", "NN"]]})
    assert (reply.json["model"], reply.json["sentences"][0]["tags"]) == ("chunk", ["B-NP", "I-NP"])
    reply = client.post("/models/ready/tag", {"tokens": [{"w": "a"}, {"w": "dog", "upper": False}]})
    assert reply.json["sentences"][0]["tags"] == ["DT", "NN"]
    reply = client.post("/models/chunks/tag", {"tokens": []})
    assert (reply.status, reply.json) == (404, {"error": "no model is called 'chunks'; did you mean 'chunk'?"})


def test_n_best_taggings_are_those_of_the_tagger(client: Any, originals: Path) -> None:
    (found,) = client.post("/nbest", {"tokens": ["in", "Oslo"], "n": 3}).json["sentences"]
    expected = sapo.Tagger.load(originals / "place.sapo").nbest(["in", "Oslo"], 3)
    assert [one["tags"] for one in found["taggings"]] == [one.tags for one in expected]
    assert [one["probability"] for one in found["taggings"]] == pytest.approx([one.probability for one in expected])


def test_marginals_are_those_of_the_tagger(client: Any, originals: Path) -> None:
    (found,) = client.post("/marginals", {"tokens": ["in", "Oslo"]}).json["sentences"]
    expected = sapo.Tagger.load(originals / "place.sapo").marginals(["in", "Oslo"])
    assert found["marginals"] == [pytest.approx(row) for row in expected]


def test_an_explanation_is_that_of_sapo_explain(client: Any, originals: Path) -> None:
    reply = client.post("/explain", {"text": "in Oslo", "token": 1, "top": 2})
    why = sapo.explain(sapo.Tagger.load(originals / "place.sapo"), ["in", "Oslo"], 1, top=2)
    assert reply.json["explanation"]["tag"] == why.tag
    assert reply.json["explanation"]["difference"] == pytest.approx(why.difference)


@pytest.mark.parametrize(
    ("path", "message", "told"),
    [
        ("/tag", b"{", "the request is not JSON: "),
        ("/tag", b'{"text": "\xff"}', "the request is not JSON: "),
        ("/tag", b"[" * 100_000, "the request "),
        ("/tag", {}, "give exactly one of text, texts, tokens and sentences"),
        ("/tag", {"text": "a", "tokens": ["a"]}, "give exactly one of"),
        ("/tag", {"txt": "a"}, "the request does not have the expected form: Object contains unknown field `txt`"),
        ("/tag", {"tokens": "a"}, "the request does not have the expected form: Expected `array | null`, got `str`"),
        ("/tag", {"tokens": [["a", "b"]]}, "sentence 1, token 1: expected a string, found ['a', 'b']"),
        ("/models/chunk/tag", {"text": "a"}, "this model also needs pos of each word"),
        ("/models/chunk/tag", {"tokens": [["a"]]}, "sentence 1, token 1: expected (word, pos), 2 strings"),
        ("/models/ready/tag", {"text": "a"}, "this model was trained on ready-made features"),
        ("/nbest", {"text": "a", "n": 0}, "the request does not have the expected form: Expected `int` >= 1"),
        ("/explain", {"text": "in Oslo", "token": 2}, "token must be an index from 0 to 1, not 2"),
        ("/explain", {"text": "in Oslo", "token": 1, "tag": "X"}, "the model has no label 'X'"),
        ("/explain", {"token": 1}, "give either text or tokens"),
    ],
)
def test_a_mistake_is_one_line(client: Any, path: str, message: Any, told: str) -> None:
    reply = client.post(path, message)
    assert reply.status == 422
    assert reply.json["error"].startswith(told)
    assert "\n" not in reply.json["error"]


def test_what_there_is_not_is_refused(client: Any) -> None:
    assert client.get("/nothing").status == 404
    assert client.get("/models/place/nothing").status == 404
    reply = client.get("/tag")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert client.ask("DELETE", "/models", [b""], {}).status == 405
    reply = client.ask("POST", "/tag", [b"{}"], {"content-type": "text/plain"})
    assert reply.status == 415
    head = client.ask("HEAD", "/health", [b""], {})
    assert (head.status, head.body) == (200, b"")


def test_health_and_models_are_described(client: Any, originals: Path) -> None:
    assert client.get("/health").json == {"status": "ok"}
    assert client.get("/ready").json == {"ready": True, "problems": {}}
    assert [one["name"] for one in client.get("/models").json["models"]] == ["place", "chunk", "ready", "tree"]
    found = client.get("/models/chunk")
    assert found.json["columns"] == ["word", "pos"]
    assert found.json["marks_spans"]
    assert found.json["record"]["learner"] == "sapo"
    assert str(originals).encode() not in found.body


def test_metrics_count_requests(client: Any) -> None:
    client.post("/tag", {"text": "a"})
    client.get("/nowhere/at/all")
    reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = reply.body.decode().splitlines()
    assert any(line.startswith('sapo_requests_total{path="/tag",status="200"} ') for line in lines)
    assert any(line.startswith('sapo_requests_total{path="other",status="404"} ') for line in lines)
    assert any(line.startswith('sapo_request_seconds_bucket{path="/tag",le="+Inf"} ') for line in lines)
    assert "nowhere" not in reply.body.decode()


def test_no_answer_allows_other_sites(client: Any) -> None:
    reply = client.post("/tag", {"text": "a"}, origin="https://example.org")
    assert not [name for name in reply.headers if name.startswith("access-control")]
