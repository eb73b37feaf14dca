"""Requests made from a description in OpenAPI, and whether their answers are as described."""

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

EXAMPLES = 8  # of each operation


def check_operation(operation: Any, address: str) -> None:
    """Send requests that keep to the description and such that do not, and check the answers."""
    import schemathesis

    modes = [mode for mode in schemathesis.GenerationMode if _can(operation, mode, schemathesis)]
    made = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))
    checks = schemathesis.checks
    wanted = ("status_code_conformance", "content_type_conformance", "response_schema_conformance")

    @given(case=made)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Any) -> None:
        response = case.call(base_url=address)
        all_checks = [checks.not_a_server_error, *map(checks.CHECKS.get_one, wanted)]
        case.validate_response(response, checks=all_checks)

    check()


def _can(operation: Any, mode: Any, schemathesis: Any) -> bool:
    """Return whether requests of this kind can be made: one without input cannot be wrong."""
    return bool(mode == schemathesis.GenerationMode.POSITIVE or operation.method == "post")
