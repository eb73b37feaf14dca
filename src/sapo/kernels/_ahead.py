"""Compile what a run will need in other processes, while it starts, so that two cores are busy.

One kernel takes as long as all others. So one process compiles that one, and another, which steps back for it, those
that the run calls after it, while the run itself compiles what it calls first. A kernel that another process compiles
at this moment is not compiled twice: the run waits for it (see `_cache.alone`).
"""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sapo.kernels import _cache, _progress
from sapo.kernels._processes import start_python

Wanted = Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]  # kernels with the types of their arguments
LONGEST = "sapo.sapo_samples"
STEP_BACK = 10  # niceness
NAME = "ahead"  # of the lock in the cache: one run at a time has such helpers

_child: subprocess.Popen[bytes] | None = None


def begin(module: str, options: dict[str, Any], directory: Path | None) -> None:
    """Start the other processes, unless the cache has the longest kernel, or they would be of no use."""
    global _child
    if directory is None or not _cache.LOCKS or _child is not None or cores() < 2:
        return
    if any(directory.glob(f"{LONGEST}-*")) or not os.access(directory, os.W_OK) or _cache.is_taken(directory / NAME):
        return
    _child = start_python("-m", module, stdout=subprocess.PIPE, start_new_session=True)
    if _child is not None:
        atexit.register(end)
        assert _child.stdin is not None
        with contextlib.suppress(OSError), _child.stdin as stream:  # it may have ended already
            stream.write(json.dumps({"parent": os.getpid(), **options}).encode())
        threading.Thread(target=_listen, args=(_child,), name="sapo-ahead", daemon=True).start()


def cores() -> int:
    """Return how many cores this process may use."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(
        OSError, ValueError
    ):  # a container may have a share of all cores: "150000 100000" or "max"
        share, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        found = min(found, int(share) // int(period))
    return found


def _listen(child: subprocess.Popen[bytes]) -> None:
    """Count what the others have compiled."""
    assert child.stdout is not None
    with child.stdout as lines:
        for line in lines:
            _progress.part_compiled(line.decode().strip())
    child.wait()


def end() -> None:
    """End the other processes, if there are any."""
    if _child is not None and _child.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(_child.pid, signal.SIGTERM)


def only_one(directory: Path | None) -> contextlib.AbstractContextManager[bool]:
    """Give True if no other process is in this context for the same cache."""
    return contextlib.nullcontext(False) if directory is None else _cache.first(directory / NAME)


def fill(wanted: Wanted, parent: int) -> None:
    """Compile kernels into the cache, in two processes. This is called in the process that `begin` started."""
    from sapo.kernels import _jit

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # in the middle of compiling, too
    _jit.compile_kernels()
    _progress.listen(lambda name: print(name, flush=True))
    names = [_progress.name_of(function) for function, _ in wanted]
    middle = names.index(LONGEST) if LONGEST in names else 0
    second = os.fork()
    if second == 0:
        os.nice(STEP_BACK)
        _compile(wanted[middle + 1 :], os.getppid())
        os._exit(0)
    _compile([*wanted[middle:], *wanted[:middle]], parent)
    os.waitpid(second, 0)


def _compile(wanted: Wanted, parent: int) -> None:
    """Compile those that no other process compiles, as long as the one that asked is there."""
    from sapo.kernels import _jit
    from sapo.kernels._compiler import path_of

    for function, types in wanted:
        form = _jit.form_of(function)
        if os.getppid() == parent and not _cache.is_taken(path_of(form, types)):
            form.compile(types)
            print(_progress.name_of(function), flush=True)
