"""Long calls of kernels in a thread, so that the main thread can take a signal.

Python runs the handler of a signal in the main thread, and only between two instructions of Python. While a kernel
runs there, Ctrl-C has no effect. Kernels do not hold the lock of Python, so a thread may run one while the main thread
waits. Where a signal ends the waiting, the result is of no use to anyone any more: the thread is left to itself, and
ends with the process.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sapo.kernels import _jit

R = TypeVar("R")
LONG = 100_000_000  # steps, each a pair of labels: some tenth of a second; to start a thread takes a thousandth of that
LOOK = 0.1  # seconds: some systems take signals only between two waits


def call(kernel: Callable[..., R], *arguments: Any, steps: float) -> R:
    """Call a kernel that only reads what others see too; in a thread if it may take long.

    >>> call(max, 1, 2, steps=10)
    2
    """
    if steps < LONG or not _jit.compiled() or threading.current_thread() is not threading.main_thread():
        return kernel(*arguments)
    done = threading.Event()
    results: list[R] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(kernel(*arguments))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    while not done.wait(LOOK):
        pass
    if errors:
        raise errors[0]
    return results[0]
