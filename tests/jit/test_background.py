"""Long calls run in a thread, short ones do not."""

import threading

import pytest

from sapo.errors import SapoError
from sapo.jit.kernels import LONG_CALL, call_interruptibly


def here() -> threading.Thread:
    return threading.current_thread()


def test_a_short_call_needs_no_thread() -> None:
    assert call_interruptibly(here, steps=1) is threading.main_thread()


def test_a_long_call_leaves_the_main_thread_free(kernel_mode: str) -> None:
    thread = call_interruptibly(here, steps=LONG_CALL)
    assert (thread is threading.main_thread()) == (kernel_mode == "interpreted")


def test_an_error_of_a_long_call_arrives() -> None:
    def fail() -> None:
        raise SapoError("no")

    with pytest.raises(SapoError, match=r"^no$"):
        call_interruptibly(fail, steps=LONG_CALL)
