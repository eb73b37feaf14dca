"""The description in OpenAPI is true: requests made from it get the answers that it describes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asgi_client import served
from described import check_operation
from taught_text import GOLD

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
openapi = pytest.importorskip("sapo.apps.teach.messages", reason="msgspec is not installed", exc_type=ImportError)

SCHEMA = schemathesis.openapi.from_dict(openapi.document())
STREAM = "/api/events"  # never ends
OPERATIONS = [one for result in SCHEMA.get_all_operations() if (one := result.ok()).path != STREAM]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real server with a project, in a thread of this process."""
    from sapo.apps.http import Guard, bind
    from sapo.apps.limits import RequestLimits
    from sapo.apps.teach.app import Hub, TeachApp, opened
    from sapo.apps.teach.project import make_project
    from taught_text import TEXT

    room = tmp_path_factory.mktemp("served")
    (room / "notes.txt").write_text(TEXT)
    make_project(room / "notes.teach", [room / "notes.txt"], ["PER"])
    hub = Hub()
    with bind("127.0.0.1", 0) as bound, opened(room / "notes.teach", hub, lambda line: None) as classroom:
        app = TeachApp(classroom, hub, Guard(bound.getsockname()[1]), RequestLimits(), print)
        with served(app, bound) as url:
            yield url
        app.worker.end()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
def test_requests_from_the_description_get_what_it_describes(operation: Any, address: str) -> None:
    check_operation(operation, address)


def test_what_people_do_has_the_form_that_is_described(project: Path, open_project: Callable[..., Any]) -> None:
    client = open_project(project)
    client.accept(1, visible=[2])
    client.accept(3)
    client.accept(1, "ben", tags=["O"] * 6)
    asked = {
        "/api/project": "/api/project",
        "/api/sentences": "/api/sentences?state=all",
        "/api/sentences/{id}/nbest": "/api/sentences/2/nbest",
        "/api/sentences/{id}/explain": "/api/sentences/2/explain?token=0",
        "/api/slips": "/api/slips",
        "/api/disagreements": "/api/disagreements",
    }
    for path, request in asked.items():
        _check_form(path, "GET", client.get(request))
    message = {"id": 2, "tags": GOLD[2], "author": "ben", "visible": [1, 3]}
    _check_form("/api/accept", "POST", client.post("/api/accept", message))
    for path in ("/api/undo", "/api/redo"):
        _check_form(path, "POST", client.post(path, {"author": "ben"}))


def _check_form(path: str, method: str, reply: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs, a part of schemathesis, is not installed")
    document = openapi.document()
    form = document["paths"][path][method.lower()]["responses"]["200"]["content"]["application/json"]["schema"]
    assert reply.status == 200
    jsonschema.validate({**form, "components": document["components"]}, reply.json)
