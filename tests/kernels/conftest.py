"""Kernel tests run as SAPO_TEST_KERNELS says, to the end: nothing may compile the kernels on the way."""

import os
from collections.abc import Iterator

import pytest

from sapo import kernels


@pytest.fixture(scope="session")
def kernel_mode() -> str:
    """compiled, checked or interpreted."""
    return os.environ.get("SAPO_TEST_KERNELS", "compiled")


@pytest.fixture(scope="session", autouse=True)
def _kernels_stay_as_they_are(kernel_mode: str) -> Iterator[None]:
    yield
    assert kernels.compiled() == (kernel_mode != "interpreted")
