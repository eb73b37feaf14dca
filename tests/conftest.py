"""How the kernels run in the tests: SAPO_TEST_KERNELS is compiled (the default), checked or interpreted."""

import os
from pathlib import Path

import hypothesis
import pytest

from sapo import kernels

# The first call of a kernel may have to compile it.
hypothesis.settings.register_profile("sapo", deadline=None)
hypothesis.settings.load_profile("sapo")

MODE = os.environ.get("SAPO_TEST_KERNELS", "compiled")


def pytest_configure(config: pytest.Config) -> None:
    if MODE in ("compiled", "checked"):
        kernels.compile_kernels(boundscheck=MODE == "checked")
    elif MODE != "interpreted":
        raise pytest.UsageError(f"SAPO_TEST_KERNELS is {MODE!r}; use compiled, checked or interpreted")


def pytest_report_header() -> str:
    return f"kernels: {MODE}; real corpora: {os.environ.get('SAPO_DATA', 'none, their tests are skipped')}"


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The directory of real corpora."""
    if "SAPO_DATA" not in os.environ:
        pytest.skip("SAPO_DATA is not set: no real corpora here")
    return Path(os.environ["SAPO_DATA"])
