"""Kernel tests run as SAPO_TEST_KERNELS says, to the end: nothing may compile the kernels on the way."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _to_the_end(kernels_stay_as_they_are: None) -> None:
    """All tests of this directory run in one mode."""
