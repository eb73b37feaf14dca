"""Pages of other sites, other names and requests without the token are refused; limits hold; nothing leaks out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]
FROM_ELSEWHERE = [
    {"host": "evil.example:8765"},
    {"host": "localhost:1"},
    {"host": "localhost"},
    {"host": ""},
    {"origin": "http://evil.example"},
    {"origin": "null"},
]


@pytest.mark.parametrize("headers", FROM_ELSEWHERE, ids=str)
@pytest.mark.parametrize("path", ["/", "/api/project", "/api/events"])
def test_other_names_and_other_sites_are_refused(client: Any, path: str, headers: dict[str, str]) -> None:
    assert client.get(path, **headers).status == 403


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_the_names_of_this_machine_are_answered(client: Any, host: str) -> None:
    assert client.get("/api/project", host=host, origin=f"http://{host}").status == 200


def test_every_answer_has_the_headers_that_keep_a_page_safe(client: Any) -> None:
    for path in ("/", "/api/project", "/no/such/path", "/openapi.json"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_a_body_must_be_json(client: Any) -> None:
    message = b'{"id": 1, "author": "anna"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert client.post("/api/lock", message, content_type=kind).status == 415
    assert client.post("/api/lock", message).status == 200
    assert client.post("/api/lock", b"[").status == 422
    assert client.post("/api/lock", {"id": 1, "author": "anna", "more": 1}).status == 422


def test_no_path_leads_to_another_file(client: Any) -> None:
    for path in (
        "/../store.py",
        "/page/page.html",
        "/%2e%2e/store.py",
        "/store.py",
        "//etc/passwd",
        "/.",
        "/__init__.py",
    ):
        assert client.get(path).status == 404


def test_numbers_are_bounded(client: Any) -> None:
    for path in (
        "/api/sentences?count=201",
        "/api/sentences?count=0",
        "/api/sentences?after=-1",
        "/api/sentences?order=best",
        "/api/sentences?ids=" + ",".join(["1"] * 201),
        "/api/sentences?ids=1,,2",
        "/api/sentences/1/nbest?n=51",
        "/api/sentences/1/explain",
        "/api/sentences/1/explain?token=99999999999999999999",
        "/api/export?format=brat",
        "/api/project?" + "&".join(f"a{number}=1" for number in range(30)),
    ):
        reply = client.get(path)
        assert (reply.status, "\n" in reply.json["error"]) == (422, False), path
    assert client.get("/api/sentences/" + "9" * 15 + "/nbest").status == 422
    assert client.get("/api/sentences/" + "9" * 16 + "/nbest").status == 404
    many = {"id": 1, "tags": ["O"] * 6, "author": "anna", "visible": list(range(1, 202))}
    assert client.post("/api/accept", many).status == 422


def test_a_body_that_is_too_large_is_refused(project: Path, open_project: Open) -> None:
    client = open_project(project, body=100)
    assert client.post("/api/lock", b" " * 101).status == 413


def test_names_that_cannot_be_shown_are_refused(client: Any) -> None:
    for name in ("\x1b[2J", " ", "x" * 101, "a\nb"):
        reply = client.post("/api/accept", {"id": 5, "tags": ["O"] * 4, "author": name})
        assert (reply.status, "\x1b" in reply.json["error"]) == (422, False)
        assert client.post("/api/labels", {"name": name}).status == 422


def test_a_model_learns_only_so_many_labels(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapo.apps.taggers.MOST_LABELS", 5)
    tokens = client.get("/api/sentences?ids=5").json["sentences"][0]["tokens"]
    tags = [f"B-L{number}" for number in range(len(tokens))]
    reply = client.post("/api/accept", {"id": 5, "tags": tags, "author": "anna"})
    assert (reply.status, "can learn up to 5 here" in reply.json["error"]) == (422, True)
    assert [client.post("/api/labels", {"name": name}).status for name in "ABC"] == [200, 200, 422]


def test_a_token_opens_the_page(project: Path, open_project: Open) -> None:
    from sapo.apps.http import Guard

    client = open_project(project, guard=Guard(8765, "secret-token"))
    assert client.get("/").status in (200, 404)  # the page itself holds nothing of the project
    assert client.get("/api/project").status == 401
    assert client.get("/api/events").status == 401
    assert client.get("/?token=wrong").status == 401
    entered = client.get("/?token=secret-token")
    assert (entered.status, entered.headers["location"]) == (303, "/")
    cookie, *attributes = entered.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= set(attributes)
    assert client.get("/api/project", cookie=cookie).status == 200
    assert client.get("/api/project", cookie=f"{cookie}x").status == 401
    assert client.get("/api/project", authorization="Bearer secret-token").status == 200
    assert client.get("/api/project", cookie=cookie, host="my-machine:8765").status == 200
    assert client.get("/api/project", cookie=cookie, origin="http://evil.example").status == 403
