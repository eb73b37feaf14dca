"""Mark functions as kernels, and swap them for their compiled form when there is enough work.

`@kernel` registers a function and leaves it as it is, so that a short run (one sentence from a shell) works
interpreted and never imports numba. `compile_kernels` swaps every registered function for its compiled form in all
modules of the package at once. So a kernel may be imported by name; only a copy that is not an attribute of a module
(in a `partial`, a dictionary or a default argument) would stay interpreted.

A kernel below `@in_numpy` has a second form that runs where it is interpreted. The loops that tag a sentence have one:
the first sentences of a process, while numba is loaded, would otherwise take ten times as long.
"""

import functools
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sapo.jit.cache import PACKAGE, cache_directory, kernel_files
from sapo.jit.progress import Function

if TYPE_CHECKING:
    from sapo.jit.processes import BackgroundCompiler

F = TypeVar("F", bound=Function)
R = TypeVar("R")

# Loading numba costs about a second. In this time interpreted kernels look at this many pairs of labels, each of which
# takes a third of a microsecond; the features of a token take as long as TOKEN pairs.
INTERPRETED_PAIRS = 3_000_000
TOKEN = 1_000
LONG_CALL = 100_000_000  # steps, each a pair of labels: a tenth of a second, a thousand times that of starting a thread
LOOK_EVERY = 0.1  # seconds: some systems take signals only between two waits

_registered: list[Function] = []
_inlined: set[Function] = set()  # compiled into the functions that call them
_in_numpy: dict[Function, Function] = {}  # what runs where these are interpreted
_lock = threading.RLock()
_counting = threading.Lock()
_options: dict[str, Any] | None = None  # None: interpreted
_forms: dict[Function, Any] = {}
_background: "BackgroundCompiler | None" = None
_pairs_seen = 0
_recording = False  # everything stays interpreted


def kernel(function: F) -> F:
    """Mark a function as a compiled loop: arrays and numbers only, no strings, classes or callbacks."""
    with _lock:
        _registered.append(function)
        return cast(F, interpreted_form(function) if _options is None else form_of(function))


def inlined(function: F) -> F:
    """Mark a kernel that is called often and takes large bundles of arrays: passing them would cost more than it does.

    Goes below `@kernel`. Each caller has a copy of its own, so the function should be short or have one caller.
    """
    _inlined.add(function)
    return function


def in_numpy(form: F) -> Callable[[F], F]:
    """Run this form of a kernel, which calls NumPy instead of looping, where the kernel is interpreted.

    Goes below `@kernel`. The form computes the same numbers, added up in the same order.
    """

    def mark(function: F) -> F:
        _in_numpy[function] = functools.wraps(function)(form)
        return function

    return mark


def interpreted_form(function: Function) -> Function:
    """Return what runs where a kernel is interpreted."""
    return _in_numpy.get(function, function)


def fetch_add(counters: Any, index: int, amount: int) -> int:
    """Add to a counter that threads share, and return what it was; jit/compiler.py has the compiled form."""
    with _counting:
        before = int(counters[index])
        counters[index] += amount
        return before


def look_at(counters: Any, index: int) -> int:
    """Return a counter that other threads may be changing; jit/compiler.py has the compiled form."""
    return int(counters[index])


def give_way() -> None:
    """Let another thread have the core; jit/compiler.py has the compiled form."""
    time.sleep(0)


def prepare(*, tokens: int = 0, pairs: int = 0) -> None:
    """Announce work: tokens to encode, and pairs of labels to look at, in all steps together.

    If it is more than a few sentences, compile the kernels now. If small pieces add up to that, as in a service,
    compile them in the background, so that no request waits.
    """
    global _pairs_seen
    if _options is not None:
        return
    work = TOKEN * tokens + pairs
    _pairs_seen += work
    if work > INTERPRETED_PAIRS:
        compile_kernels()
    elif _pairs_seen > INTERPRETED_PAIRS:
        compile_in_background()


def compiled() -> bool:
    """Return whether the kernels have been swapped for their compiled form."""
    return _options is not None


def compile_kernels(*, boundscheck: bool = False) -> None:
    """Swap all kernels for their compiled form. There is no way back.

    With NUMBA_DISABLE_JIT=1, which debuggers and coverage tools need, they stay as they are.
    """
    global _options
    with _lock:
        if _options is not None or _disabled():
            return
        if _background is not None:
            _background.stop()
        _options = _make_options(boundscheck)
        _forms.clear()
        swap({function: form_of(function) for function in _registered})


def compile_in_background() -> None:
    """Swap the kernels that are called for their compiled form, as soon as it is ready."""
    global _background
    with _lock:
        if _options is None and _background is None and not _disabled():
            from sapo.jit.processes import BackgroundCompiler

            _background = BackgroundCompiler(tuple(_registered))
            _background.begin()


def compile_ahead(module: str, options: dict[str, Any]) -> None:
    """Let other processes compile what a run will need, while it starts, unless the cache has it already.

    They run `python -m module`, which reads the options as JSON from standard input, and calls `compile_what` with
    `parent`, which is added to them.
    """
    made = _options or _make_options(False)
    if not made["boundscheck"] and not _disabled():
        from sapo.jit import processes

        processes.begin_ahead(module, options, made["directory"])


def compile_what(run: Callable[[], object], parent: int) -> None:
    """Compile into the cache what a run calls, as long as the process `parent` exists; the run itself is interpreted.

    Do nothing if another process is doing so already.
    """
    from sapo.jit import processes

    with processes.only_one(_make_options(False)["directory"]) as free:
        if free:
            processes.fill_cache(record(run), parent)


def end_processes() -> None:
    """End the processes that compile for this one, if there are any."""
    if _background is not None:
        _background.stop()
    if (processes := sys.modules.get(f"{__package__}.processes")) is not None:
        processes.end_ahead()


def record(run: Callable[[], object]) -> list[tuple[Function, tuple[Any, ...]]]:
    """Run something with interpreted kernels; return those that it calls, with the types of their arguments."""
    global _recording
    from sapo.jit.compiler import type_of

    import_all()
    found: dict[tuple[Function, tuple[Any, ...]], None] = {}
    recorder = Recorder(lambda function, arguments: found.setdefault((function, tuple(map(type_of, arguments)))))
    _recording = True
    swap({function: recorder.recording(function) for function in _registered})
    try:
        run()
    finally:
        _recording = False
        swap({function: interpreted_form(function) for function in _registered})
    return list(found)


class Recorder:
    """Call `note(function, arguments)` after each call of a kernel that no other kernel makes."""

    def __init__(self, note: Callable[[Function, tuple[Any, ...]], None]) -> None:
        self.note = note
        self.inside = threading.local()

    def recording(self, function: Function) -> Function:
        """Return the same kernel, whose calls are noted."""
        run = interpreted_form(function)

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if getattr(self.inside, "kernel", False):
                return run(*arguments)
            self.inside.kernel = True
            try:
                result = run(*arguments)
            finally:
                self.inside.kernel = False
            self.note(function, arguments)
            return result

        return call


def import_all() -> None:
    """Import all modules with kernels, so that all are registered."""
    for path in kernel_files():
        import_module(".".join(("sapo", *path.relative_to(PACKAGE).with_suffix("").parts)))


def swap(new: dict[Function, Any]) -> None:
    """Replace kernels by other callables, in all modules."""
    with _lock:
        for name, module in list(sys.modules.items()):
            if name.startswith("sapo."):
                for attribute, value in list(vars(module).items()):
                    function = getattr(value, "__wrapped__", value)
                    if isinstance(function, FunctionType) and function in new:
                        setattr(module, attribute, new[function])


def form_of(function: Function) -> Any:
    """Return the compiled form of a kernel, which is compiled or loaded when it is called for the first time."""
    from sapo.jit.compiler import compile_function

    with _lock:
        if function not in _forms:
            options = _options or _make_options(False)
            _forms[function] = compile_function(
                function, **options, inline=function in _inlined, registered=_registered
            )
        return _forms[function]


def _disabled() -> bool:
    return _recording or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _make_options(boundscheck: bool) -> dict[str, Any]:
    return {"boundscheck": boundscheck, "directory": cache_directory(boundscheck=boundscheck)}


def _after_fork() -> None:
    """Reset a forked process: it has no background thread, and a lock may be held."""
    global _lock, _background
    _lock, _background = threading.RLock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def no_garbage(*, lasting: bool = True) -> Iterator[None]:
    """Collect no garbage in this context, in which many objects are made; `lasting` if they stay.

    Collecting takes a fifth of the time of compiling, and of tagging words that are new. It also stops all other
    threads: in a service that loads kernels in the background, requests would wait.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if lasting and gc.get_freeze_count() == 0:  # otherwise another part of the program uses freeze
                # All objects count as old now; otherwise the next collection would examine all that were made.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def call_interruptibly(kernel: Callable[..., R], *arguments: Any, steps: float) -> R:
    """Call a kernel that changes nothing that others see; if it may take long, in a thread, so that Ctrl-C works.

    >>> call_interruptibly(max, 1, 2, steps=10)
    2
    """
    if steps < LONG_CALL or not compiled() or threading.current_thread() is not threading.main_thread():
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
    while not done.wait(LOOK_EVERY):
        pass
    if errors:
        raise errors[0]
    return results[0]
