"""What the tests of learners share."""

import pytest

from literal_sapo import Tiny
from sapo import kernels


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    return Tiny()


@pytest.fixture
def same_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training and tagging would compile the kernels for good; here the tests choose how they run."""
    monkeypatch.setattr(kernels, "compile_kernels", lambda: None)
    monkeypatch.setattr(kernels, "prepare", lambda **work: None)
