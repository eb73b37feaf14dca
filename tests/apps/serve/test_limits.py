"""Requests that are too large, too slow, too many or without the token are refused, each in its own way."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sapo.errors import SapoError
from sapo.text.splitter import Splitter

Make = Callable[..., Any]
JSON = {"content-type": "application/json"}


def test_a_body_that_is_too_large_is_refused(make_client: Make) -> None:
    client = make_client(body=100)
    assert client.post("/tag", {"text": "a" * 80}).status == 200
    reply = client.post("/tag", {"text": "a" * 100})
    assert reply.status == 413
    assert reply.json["error"] == "the body of a request may have at most 100 bytes; send it in parts"
    assert client.ask("POST", "/tag", [b""], {**JSON, "content-length": "101"}).status == 413
    assert client.ask("POST", "/tag", [b" " * 60] * 2, JSON).status == 413  # in parts, without a length


def test_too_many_tokens_are_refused(make_client: Make) -> None:
    client = make_client(tokens=10)
    assert client.post("/tag", {"text": "a " * 10}).status == 200
    reply = client.post("/tag", {"text": "a " * 11})
    assert (reply.status, reply.json["error"][:50]) == (422, "a request may have at most 10 tokens, this one has")
    assert client.post("/explain", {"text": "a " * 11, "token": 0}).status == 422


@pytest.mark.parametrize("asked", [{"sentences": [[]] * 11}, {"texts": [""] * 11}, {"text": "!" * 11_000}])
@pytest.mark.parametrize("path", ["/tag", "/nbest", "/marginals"])
def test_what_has_no_words_counts_too(make_client: Make, path: str, asked: dict[str, Any]) -> None:
    client = make_client(tokens=10)
    reply = client.post(path, asked)
    assert (reply.status, "at most 10 tokens" in reply.json["error"]) == (422, True)
    assert client.post(path, {"sentences": [[]] * 10}).status == 200


def test_a_text_is_cut_only_as_far_as_it_is_allowed(make_client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client(tokens=2000)
    cut: list[int] = []
    sentences = Splitter._sentences

    def watched(self: Splitter, text: str, begin: int, end: int) -> Iterator[Any]:
        for sentence in sentences(self, text, begin, end):
            cut.append(len(sentence))
            yield sentence

    monkeypatch.setattr(Splitter, "_sentences", watched)
    for path, more in (("/tag", {}), ("/nbest", {}), ("/explain", {"token": 0})):
        assert client.post(path, {"text": "!" * 1_000_000, **more}).status == 422
    assert sum(cut) <= 3 * 4000


def test_more_lists_than_tokens_could_need_are_not_even_read(make_client: Make) -> None:
    client = make_client(tokens=10)
    reply = client.post("/tag", b'{"sentences": [' + b"[]," * 100 + b"[]]}")
    assert (reply.status, reply.json["error"][:49]) == (422, "a request may have at most 100 lists and objects;")


def test_an_answer_that_would_be_too_large_is_refused(make_client: Make) -> None:
    client = make_client(tokens=10, n=100)
    assert client.post("/nbest", {"text": "a", "n": 100}).status == 200
    reply = client.post("/nbest", {"text": "a a a", "n": 100})
    assert (reply.status, "300 values" in reply.json["error"]) == (422, True)


def test_an_n_that_is_too_large_is_refused(make_client: Make) -> None:
    client = make_client(n=3)
    assert client.post("/nbest", {"text": "a", "n": 3}).status == 200
    reply = client.post("/nbest", {"text": "a", "n": 4})
    assert (reply.status, reply.json["error"]) == (422, "n must be at most 3, not 4")


class Held:
    """A worker's function that waits until it is let go."""

    def __init__(self, worker: Any) -> None:
        self.go, self.begun, self.sizes = threading.Event(), threading.Event(), []
        self._work, worker._work = worker._work, self

    def __call__(self, key: Any, requests: Any) -> Any:
        self.sizes.append(len(requests))
        self.begun.set()
        assert self.go.wait(30)
        return self._work(key, requests)


def test_an_answer_that_takes_too_long_is_given_up(make_client: Make) -> None:
    client = make_client(seconds=0.05)
    held = Held(client.app._quick)
    reply = client.post("/tag", {"text": "a"})
    held.go.set()
    assert reply.status == 504
    assert reply.json["error"].startswith("the answer took more than 0.05 s")


def test_a_request_that_does_not_arrive_is_given_up(make_client: Make) -> None:
    client = make_client(seconds=0.05)

    async def ask() -> Any:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        fields = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/tag", "headers": fields}
        await client.app(scope, asyncio.Event().wait, send)
        return sent[0]["status"]

    assert asyncio.run(ask()) == 408


def test_a_request_counts_when_it_has_arrived(make_client: Make) -> None:
    client = make_client(requests=1)

    async def ask() -> list[int]:
        slow = asyncio.Event()

        async def receive() -> Any:
            await slow.wait()
            return {"type": "http.request", "body": b'{"text": "a"}'}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/tag", "headers": [(b"content-type", b"application/json")]}
        half = [asyncio.ensure_future(client.app(scope, receive, send)) for _ in range(300)]
        await asyncio.sleep(0)
        whole = await client.asked("POST", "/tag", [b'{"text": "a"}'], JSON)
        slow.set()
        await asyncio.gather(*half)
        return [whole.status, *{one["status"] for one in sent if "status" in one}]

    assert asyncio.run(ask())[0] == 200


def test_too_many_requests_are_told_to_come_back(make_client: Make) -> None:
    client = make_client(requests=2)
    held = Held(client.app._quick)

    async def ask() -> list[int]:
        asked = [asyncio.ensure_future(client.asked("POST", "/tag", [b'{"text": "a"}'], JSON)) for _ in range(3)]
        refused = await asked[2]
        assert refused.headers["retry-after"] == "1"
        assert (await client.asked("GET", "/health", [b""], {})).status == 200
        held.go.set()
        return [(await one).status for one in asked]

    assert asyncio.run(ask()) == [200, 200, 503]
    assert client.app.running == 0


def test_waiting_requests_are_answered_together_and_a_bad_one_alone(make_client: Make) -> None:
    client = make_client()
    held = Held(client.app._quick)
    bodies = [b'{"tokens": ["in"]}', b'{"tokens": ["in", "Oslo"]}', b'{"tokens": [["a", "b"]]}', b'{"text": "at home"}']

    async def ask() -> list[Any]:
        first = asyncio.ensure_future(client.asked("POST", "/tag", [bodies[0]], JSON))
        await asyncio.to_thread(held.begun.wait, 30)
        others = [asyncio.ensure_future(client.asked("POST", "/tag", [body], JSON)) for body in bodies[1:]]
        await asyncio.sleep(0.05)
        held.go.set()
        return [await first, *[await one for one in others]]

    replies = asyncio.run(ask())
    assert held.sizes == [1, 3]
    assert [reply.status for reply in replies] == [200, 200, 422, 200]
    assert replies[1].json["sentences"][0]["tags"] == ["O", "B-LOC"]
    assert replies[2].json["error"].startswith("sentence 1, token 1: expected a string")


def test_a_mistake_of_ours_is_answered_and_logged(make_client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client()
    monkeypatch.setattr("sapo.apps.serve.work.find", lambda *args, **more: 1 / 0)
    reply = client.post("/tag", {"text": "a"})
    assert (reply.status, reply.json["error"]) == (500, "internal server error; see the server log")
    assert "ZeroDivisionError" in client.said[-1]
    monkeypatch.undo()
    assert client.post("/tag", {"text": "a"}).status == 200


def test_only_who_has_the_token_is_answered(make_client: Make, tmp_path: Path) -> None:
    from sapo.apps.limits import Token

    (tmp_path / "token").write_text("0123456789abcdef\n")
    client = make_client(token=Token.read(tmp_path / "token"))
    asked = {"text": "a"}
    assert client.post("/tag", asked, authorization="Bearer 0123456789abcdef").status == 200
    for wrong in ("Bearer 0123456789abcdeg", "Bearer", "Basic 0123456789abcdef", "0123456789abcdef"):
        reply = client.post("/tag", asked, authorization=wrong)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    for path in ("/models", "/metrics", "/openapi.json", "/nothing"):
        assert client.get(path).status == 401
    assert [client.get(path).status for path in ("/health", "/ready")] == [200, 200]


@pytest.mark.parametrize(
    ("text", "told"), [("", "expected one line"), ("a b" * 9, "expected one line"), ("é" * 20, "plain")]
)
def test_a_token_that_is_none_is_refused(tmp_path: Path, text: str, told: str) -> None:
    from sapo.apps.limits import Token

    (tmp_path / "token").write_text(text, "utf-8")
    with pytest.raises(SapoError, match=told):
        Token.read(tmp_path / "token")
    with pytest.raises(SapoError, match="no such file"):
        Token.read(tmp_path / "none")
