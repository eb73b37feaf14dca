"""Compile for a process that answers requests, so that no request waits.

Small pieces of work run interpreted. Once they add up, `begin` starts a thread here. It looks which kernels are called
and with what arguments, lets another process compile these into the cache, loads them, and only then swaps them in. So
requests go on interpreted for some seconds, and no request compiles or loads anything.
"""

import atexit
import functools
import os
import pickle
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from sapo.kernels._garbage import no_garbage
from sapo.kernels._processes import start_python
from sapo.kernels._recording import Recorder

Function = Callable[..., Any]

GATHER = 0.3  # seconds in which calls are collected before a round begins
COMMAND = "import sys; from sapo.kernels import _background; _background.fill(sys.stdin.buffer.read())"


class Background:
    """The thread, and what it has seen."""

    def __init__(
        self,
        functions: Sequence[Function],
        swap: Callable[[dict[Function, Any]], None],  # puts other callables in the place of kernels, in all modules
        form_of: Callable[[Function], Any],  # returns the compiled form of a kernel
    ) -> None:
        self.functions, self.swap, self.form_of = functions, swap, form_of
        self.called: dict[Function, tuple[Any, ...]] = {}  # with these arguments, since the last round
        self.seen: set[Function] = set()
        self.tried: set[Any] = set()  # kernels with the types of their arguments
        self.news = threading.Event()
        self.child: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def begin(self) -> None:
        atexit.register(self.stop)
        recorder = Recorder(self.note_first)
        self.swap({function: recorder.recording(function) for function in self.functions})
        threading.Thread(target=self.run, name="sapo-kernels", daemon=True).start()

    def stop(self) -> None:
        """Do nothing more."""
        self.stopped = True
        self.news.set()
        if self.child is not None:
            self.child.kill()

    def note_first(self, function: Function, arguments: tuple[Any, ...]) -> None:
        if function not in self.seen:
            self.note(function, arguments)

    def note(self, function: Function, arguments: tuple[Any, ...]) -> None:
        """Ask for a form of a kernel that takes such arguments."""
        self.seen.add(function)
        self.called[function] = arguments
        self.news.set()

    def run(self) -> None:
        while self.news.wait() and not self.stopped:
            time.sleep(GATHER)
            self.news.clear()
            called, self.called = self.called, {}
            self.round(called)

    def round(self, called: dict[Function, tuple[Any, ...]]) -> None:
        """Compile these kernels in another process, load them here, and swap them in."""
        with no_garbage():  # importing numba is most of it
            from sapo.kernels._compiler import type_of

            types = {function: tuple(map(type_of, arguments)) for function, arguments in called.items()}
            wanted = {function: key for function, key in types.items() if (function, key) not in self.tried}
            self.tried.update(wanted.items())
            ready = self.load(wanted)
        missing = {function: key for function, key in wanted.items() if function not in ready}
        if missing:
            self.compile_elsewhere([(function.__module__, function.__name__, key) for function, key in missing.items()])
            with no_garbage():
                ready |= self.load(missing)
        if not self.stopped:
            self.swap(ready)

    def load(self, wanted: dict[Function, Any]) -> dict[Function, Any]:
        """Return the compiled forms of these kernels that the cache has."""
        from sapo.kernels._compiler import load

        ready = {}
        for function, key in wanted.items():
            if not self.stopped and load(self.form_of(function), key):
                ready[function] = form = self.form_of(function)
                form._compile_for_args = functools.partial(self.interpreted, function)
        return ready

    def interpreted(self, function: Function, *arguments: Any) -> Function:
        """Return what to call where no form takes such arguments: numba would compile one while all wait."""
        self.note(function, arguments)
        return function

    def compile_elsewhere(self, wanted: list[tuple[str, str, Any]]) -> None:
        self.child = start_python("-c", COMMAND)
        if self.child is not None:  # otherwise all stays interpreted
            self.child.communicate(pickle.dumps(wanted))


def fill(wanted: bytes) -> None:
    """Compile kernels into the cache. This is the other process: it takes what `round` has pickled."""
    from sapo.kernels import _jit

    parent = os.getppid()
    _jit.compile_kernels()
    for module, name, types in pickle.loads(wanted):
        if os.getppid() == parent:  # else the one that asked is gone
            getattr(import_module(module), name).compile(types)
