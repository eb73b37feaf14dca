"""What the tests of learners share."""

import pytest

from literal_sapo import Tiny
from sapo import jit


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    return Tiny()


@pytest.fixture
def same_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training and tagging would compile the kernels for good; here the tests choose how they run."""
    monkeypatch.setattr(jit, "compile_kernels", lambda: None)
    monkeypatch.setattr(jit, "prepare", lambda **work: None)
