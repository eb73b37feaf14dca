"""The description in OpenAPI is true: requests made from it get the answers that it describes."""

import urllib.request
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
openapi = pytest.importorskip("sapo.serve.openapi", reason="msgspec is not installed", exc_type=ImportError)

SCHEMA = schemathesis.openapi.from_dict(openapi.document(["place", "chunk", "ready"]))
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
def test_requests_from_the_description_get_what_it_describes(operation: Any, address: str) -> None:
    modes = schemathesis.GenerationMode
    made = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes if _can(operation, mode)))

    @given(case=made)
    @settings(
        max_examples=8, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    def check(case: Any) -> None:
        response = case.call(base_url=address)
        checks = schemathesis.checks
        case.validate_response(
            response,
            checks=[
                checks.not_a_server_error,
                checks.CHECKS.get_one("status_code_conformance"),
                checks.CHECKS.get_one("content_type_conformance"),
                checks.CHECKS.get_one("response_schema_conformance"),
            ],
        )

    check()


def _can(operation: Any, mode: Any) -> bool:
    """Whether requests of this kind can be made: one without input cannot be wrong."""
    return mode == schemathesis.GenerationMode.POSITIVE or operation.method == "post"


def test_a_real_server_gives_the_description(address: str) -> None:
    with urllib.request.urlopen(f"{address}/openapi.json", timeout=30) as reply:
        assert reply.headers["content-type"] == "application/json"
        assert "server" not in reply.headers
        assert b'"/models/{name}/tag"' in reply.read()
