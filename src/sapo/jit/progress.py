"""Count how far compiling is: which kernels a run needs, which are done, and how long it took.

A kernel that is called from Python needs all kernels that it calls. Those that it turns out not to need count as done
in the end.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

Function = Callable[..., Any]
Observer = Callable[[int, int], None]  # takes how many kernels are done, and of how many

# Kernels that `sapo train` and `sapo.train` call, so that the total is known from the start.
TRAINING = (
    "features.hashing.intern_strings",
    "features.hashing.rehash_strings",
    "features.hashing.count_keys",
    "features.hashing.insert_rows",
    "features.layout.template_keys",
    "features.layout.feature_rows",
    "learn.sapo.sapo_samples",
    "learn.weights.fold",
    "learn.rows.absolute_sum",
    "learn.rows.squared_sum",
)

_lock = threading.Lock()
_reporting = threading.Lock()
_observer: Observer | None = None
_listener: Callable[[str], None] | None = None
_expected: tuple[str, ...] = ()
_needed: set[str] = set()
_done: set[str] = set()
_reported = (0, 0)  # the last call of the observer
_seconds = 0.0  # of compiling
_aside = 0.0  # seconds in `aside`: of compiling, loading and keeping
_depth = 0  # how many threads are in `aside`, or kernels that compile others


def watch_compiling(observer: Observer | None) -> Observer | None:
    """Call `observer(done, total)` whenever a kernel is compiled (not loaded); return the observer before."""
    global _observer
    before, _observer = _observer, observer
    return before


def expect(names: Iterable[str]) -> None:
    """Set which kernels this run will call, as "module.function", so that the total is right from the start."""
    global _expected
    _expected = tuple(names)


def compile_seconds() -> float:
    """Return how many seconds this process has spent compiling so far."""
    return _seconds


def clock() -> float:
    """Return the time in seconds, without compiling and loading: differences are how long the work itself took."""
    return time.perf_counter() - _aside


@contextmanager
def aside() -> Iterator[None]:
    """Take what happens in this context off the clock: loading a kernel, or compiling it and keeping it."""
    global _aside, _depth
    with _lock:
        _depth += 1
    started = time.perf_counter()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _aside += time.perf_counter() - started


@contextmanager
def compiling(function: Function, registered: Iterable[Function], directory: Path | None) -> Iterator[None]:
    """Count a kernel, and all that it calls, as compiled in this context."""
    global _seconds
    by_name = {name_of(other): other for other in registered}
    with _lock:
        mine = reached(function, by_name)
        _needed.update(mine)
        for name in _expected:
            if name in by_name and not _is_cached(name, directory):
                _needed.update(reached(by_name[name], by_name))
    _report()
    started = time.perf_counter()
    try:
        yield
    finally:
        with _lock:
            _seconds += time.perf_counter() - started
            _done.update(mine)
        _report()


def part_compiled(name: str) -> None:
    """Count a kernel that was compiled as a part of another one, or by another process."""
    _done.add(name)
    if _listener is not None:
        _listener(name)
    _report()


def listen(listener: Callable[[str], None]) -> None:
    """Call `listener` with the name of each kernel that is compiled as a part of another one."""
    global _listener
    _listener = listener


def name_of(function: Function) -> str:
    """Return the name of a kernel: "module.function", without the package."""
    return f"{function.__module__.removeprefix('sapo.')}.{function.__name__}"


def reached(function: Function, by_name: dict[str, Function]) -> set[str]:
    """Return the names of a kernel and of all that it may call."""
    found: set[str] = set()
    waiting = [function]
    while waiting:
        each = waiting.pop()
        if name_of(each) in found:
            continue
        found.add(name_of(each))
        code: CodeType = each.__code__
        for name in code.co_names:
            other = each.__globals__.get(name)
            if callable(other) and hasattr(other, "__name__") and name_of(other) in by_name:
                waiting.append(by_name[name_of(other)])
    return found


def _is_cached(name: str, directory: Path | None) -> bool:
    return directory is not None and any(directory.glob(f"{name}-*"))


def _report() -> None:
    """Call the observer if the counts of what this process needs have changed; other processes may compile more."""
    global _reported
    with _reporting:
        counts = len(_done & _needed), len(_needed)
        if _observer is not None and _needed and counts != _reported:
            _reported = counts
            _observer(*counts)
