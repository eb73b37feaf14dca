"""The description in OpenAPI is true: requests made from it get the answers that it describes."""

import urllib.request
from typing import Any

import pytest

from described import check_operation

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
openapi = pytest.importorskip("sapo.apps.serve.messages", reason="msgspec is not installed", exc_type=ImportError)

SCHEMA = schemathesis.openapi.from_dict(openapi.document(["place", "chunk", "ready", "tree"]))
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
def test_requests_from_the_description_get_what_it_describes(operation: Any, address: str) -> None:
    check_operation(operation, address)


def test_a_real_server_gives_the_description(address: str) -> None:
    with urllib.request.urlopen(f"{address}/openapi.json", timeout=30) as reply:
        assert reply.headers["content-type"] == "application/json"
        assert "server" not in reply.headers
        assert b'"/models/{name}/tag"' in reply.read()
