"""How the kernels run in the tests: SAPO_TEST_KERNELS is compiled (the default), checked or interpreted."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from sapo import jit

# Every run looks at other examples: on a server, too, where hypothesis would take the same ones each time by default.
# What it prints for one that fails reproduces it. No deadline: the first call of a kernel may have to compile it.
hypothesis.settings.register_profile("sapo", deadline=None, derandomize=False, print_blob=True)
hypothesis.settings.register_profile("thorough", hypothesis.settings.get_profile("sapo"))
hypothesis.settings.load_profile("sapo")
THOROUGH = 10  # times the examples of a test, by --hypothesis-profile thorough

pytest.register_assert_rewrite("slow_trainer")  # so that what it asserts is told as in a test

MODE = os.environ.get("SAPO_TEST_KERNELS", "compiled")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so it is in the background of a shell; commands inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if MODE in ("compiled", "checked"):
        jit.compile_kernels(boundscheck=MODE == "checked")
    elif MODE == "interpreted":
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    else:
        raise pytest.UsageError(f"SAPO_TEST_KERNELS is {MODE!r}; use compiled, checked or interpreted")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take more examples in the profile "thorough": it cannot say so itself to a test that gives their number."""
    if hypothesis.settings.get_current_profile_name() != "thorough":
        return
    for test in {item.obj for item in items if isinstance(item, pytest.Function)}:
        chosen = getattr(test, "_hypothesis_internal_use_settings", None)
        if chosen is not None:
            more = hypothesis.settings(chosen, max_examples=THOROUGH * chosen.max_examples)
            getattr(test, "__func__", test)._hypothesis_internal_use_settings = more


def pytest_report_header() -> str:
    return f"kernels: {MODE}; real corpora: {os.environ.get('SAPO_DATA', 'none, their tests are skipped')}"


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The directory of real corpora."""
    if "SAPO_DATA" not in os.environ:
        pytest.skip("SAPO_DATA is not set: no real corpora here")
    return Path(os.environ["SAPO_DATA"])


@pytest.fixture(scope="session")
def kernel_mode() -> str:
    """compiled, checked or interpreted."""
    return MODE


@pytest.fixture(scope="session")
def kernels_stay_as_they_are(kernel_mode: str) -> Iterator[None]:
    """Nothing may compile the kernels on the way."""
    yield
    assert jit.compiled() == (kernel_mode != "interpreted")
