"""Interpreted kernels in, the same kernels out, which note how they are called from outside of the kernels."""

import functools
import threading
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class Recorder:
    """Calls `note(function, arguments)` after each call of a kernel that no other kernel makes."""

    def __init__(self, note: Callable[[Function, tuple[Any, ...]], None]) -> None:
        self.note = note
        self.inside = threading.local()

    def recording(self, function: Function) -> Function:
        """Return the same kernel, whose calls are noted."""

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if getattr(self.inside, "kernel", False):
                return function(*arguments)
            self.inside.kernel = True
            try:
                result = function(*arguments)
            finally:
                self.inside.kernel = False
            self.note(function, arguments)
            return result

        return call
