"""Compile kernels in other processes, before a run needs them or while a service answers requests.

Ahead of a run: one kernel takes as long to compile as all others. So one process compiles that one, and another, with
a lower priority, those that the run calls after it, while the run itself compiles what it calls first. A kernel that
another process is compiling is not compiled twice: the run waits for it (see `cache.alone`).

In the background of a service: small pieces of work run interpreted. Once they add up, a thread notes which kernels
are called and with what arguments, lets another process compile these into the cache, loads them, and only then swaps
them in. So requests go on interpreted for some seconds, and no request compiles or loads anything.
"""

import atexit
import contextlib
import functools
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sapo.jit import cache, kernels, progress
from sapo.jit.kernels import Recorder, no_garbage
from sapo.jit.progress import Function

Wanted = Sequence[tuple[Function, tuple[Any, ...]]]  # kernels with the types of their arguments
LONGEST = "learn.sapo.sapo_samples"
NICENESS = 10  # of the second process
NAME = "ahead"  # of the lock in the cache: one run at a time has such helpers
GATHER = 0.3  # seconds in which calls are collected before a round begins
COMMAND = "import sys; from sapo.jit import processes; processes.fill_from_pipe(sys.stdin.buffer.read())"

_child: subprocess.Popen[bytes] | None = None


def start_python(
    *arguments: str,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    start_new_session: bool = False,
) -> subprocess.Popen[bytes] | None:
    """Start Python with the modules that this process can import; its standard input is a pipe.

    Return None if it cannot be started: a server that embeds Python has no command to call, and a frozen program would
    start itself.
    """
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.lower().startswith("python"):
        return None
    # Modules of the current directory only if this process finds them, too: it may hold a stranger's data.
    places = [place or str(Path.cwd()) for place in sys.path if isinstance(place, str)]
    try:
        return subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            start_new_session=start_new_session,
        )
    except OSError:
        return None


def begin_ahead(module: str, options: dict[str, Any], directory: Path | None) -> None:
    """Start the other processes, unless the cache has the longest kernel, or they would be of no use."""
    global _child
    if directory is None or not cache.LOCKS or _child is not None or cores() < 2:
        return
    if any(directory.glob(f"{LONGEST}-*")) or not os.access(directory, os.W_OK) or cache.is_taken(directory / NAME):
        return
    _child = start_python("-m", module, stdout=subprocess.PIPE, start_new_session=True)
    if _child is not None:
        atexit.register(end_ahead)
        assert _child.stdin is not None
        with contextlib.suppress(OSError), _child.stdin as stream:  # it may have ended already
            stream.write(json.dumps({"parent": os.getpid(), **options}).encode())
        threading.Thread(target=_listen, args=(_child,), name="sapo-ahead", daemon=True).start()


def cores() -> int:
    """Return how many cores this process may use."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # a container may have a share of all: "150000 100000" or "max"
        share, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        found = min(found, int(share) // int(period))
    return found


def _listen(child: subprocess.Popen[bytes]) -> None:
    """Count what the others have compiled."""
    assert child.stdout is not None
    with child.stdout as lines:
        for line in lines:
            progress.part_compiled(line.decode().strip())
    child.wait()


def end_ahead() -> None:
    """End the other processes, if there are any."""
    if _child is not None and _child.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(_child.pid, signal.SIGTERM)


def only_one(directory: Path | None) -> contextlib.AbstractContextManager[bool]:
    """Give True if no other process is in this context for the same cache."""
    return contextlib.nullcontext(False) if directory is None else cache.first(directory / NAME)


def fill_cache(wanted: Wanted, parent: int) -> None:
    """Compile kernels into the cache, in two processes: this one, which `begin_ahead` started, and a fork of it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # in the middle of compiling, too
    kernels.compile_kernels()
    progress.listen(lambda name: print(name, flush=True))
    names = [progress.name_of(function) for function, _ in wanted]
    middle = names.index(LONGEST) if LONGEST in names else 0
    second = os.fork()
    if second == 0:
        os.nice(NICENESS)
        _compile(wanted[middle + 1 :], os.getppid())
        os._exit(0)
    _compile([*wanted[middle:], *wanted[:middle]], parent)
    os.waitpid(second, 0)


def _compile(wanted: Wanted, parent: int) -> None:
    """Compile the kernels that no other process is compiling, as long as the process that asked exists."""
    from sapo.jit.compiler import path_of

    for function, types in wanted:
        form = kernels.form_of(function)
        if os.getppid() == parent and not cache.is_taken(path_of(form, types)):
            form.compile(types)
            print(progress.name_of(function), flush=True)


class BackgroundCompiler:
    """The background thread, and the calls that it has noted."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.functions = functions
        self.called: dict[Function, tuple[Any, ...]] = {}  # with these arguments, since the last round
        self.seen: set[Function] = set()
        self.tried: set[Any] = set()  # kernels with the types of their arguments
        self.news = threading.Event()
        self.child: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def begin(self) -> None:
        """Record the calls of kernels, and start the thread."""
        atexit.register(self.stop)
        recorder = Recorder(self.note_first)
        kernels.swap({function: recorder.recording(function) for function in self.functions})
        threading.Thread(target=self.run, name="sapo-kernels", daemon=True).start()

    def stop(self) -> None:
        """Stop compiling."""
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
            from sapo.jit.compiler import type_of

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
            kernels.swap(ready)

    def load(self, wanted: dict[Function, Any]) -> dict[Function, Any]:
        """Return the compiled forms of these kernels that the cache has."""
        from sapo.jit.compiler import load

        ready = {}
        for function, key in wanted.items():
            if not self.stopped and load(kernels.form_of(function), key):
                ready[function] = form = kernels.form_of(function)
                form._compile_for_args = functools.partial(self.interpreted, function)
        return ready

    def interpreted(self, function: Function, *arguments: Any) -> Function:
        """Return what to call if no form takes such arguments: numba would compile one while the request waits."""
        self.note(function, arguments)
        return kernels.interpreted_form(function)

    def compile_elsewhere(self, wanted: list[tuple[str, str, Any]]) -> None:
        self.child = start_python("-c", COMMAND)
        if self.child is not None:  # otherwise everything stays interpreted
            self.child.communicate(pickle.dumps(wanted))


def fill_from_pipe(wanted: bytes) -> None:
    """Compile into the cache the kernels that `BackgroundCompiler.round` pickled for this process."""
    parent = os.getppid()
    kernels.compile_kernels()
    for module, name, types in pickle.loads(wanted):
        if os.getppid() == parent:  # otherwise the process that asked is gone
            getattr(import_module(module), name).compile(types)
