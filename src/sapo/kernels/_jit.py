"""Plain functions in, compiled functions out. The only file that knows numba.

`@kernel` registers a function and leaves it as it is, so that a short run (one sentence from a shell) works
interpreted and never imports numba. `compile_kernels` swaps every registered function for its compiled form
in all kernel modules at once. Outside this package kernels are therefore called through their module
(`topn.top_n(...)`), never imported by name.
"""

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# Loading numba costs about a second. In this time interpreted kernels look at so many pairs of labels, each of which
# takes a third of a microsecond; the features of a token take as long as TOKEN pairs.
INTERPRETED_PAIRS = 3_000_000
TOKEN = 1_000

_registered: list[Callable[..., Any]] = []
_inlined: set[Callable[..., Any]] = set()  # compiled into the functions that call them
_lock = threading.RLock()
_options: dict[str, Any] | None = None  # None: interpreted
_directory: Path | None = None  # of the cache
_pairs_seen = 0
_on_compile: Callable[[], None] | None = None


def kernel(function: F) -> F:
    """Mark a function as a compiled loop: arrays and numbers only, no strings, classes or callbacks."""
    with _lock:
        _registered.append(function)
        return function if _options is None else _compile(function)


def inlined(function: F) -> F:
    """Mark a kernel that is called often and takes large bundles of arrays: passing them would cost more than it does.

    Goes below `@kernel`, and only where one place calls it: each has a copy of its own.
    """
    _inlined.add(function)
    return function


def prepare(*, tokens: int = 0, pairs: int = 0) -> None:
    """Tell how much work is coming: tokens to encode, and pairs of labels to look at, in all steps together.

    Once it is more than a few sentences, the kernels are compiled.
    """
    global _pairs_seen
    if _options is None:
        _pairs_seen += TOKEN * tokens + pairs
        if _pairs_seen > INTERPRETED_PAIRS:
            compile_kernels()


def compiled() -> bool:
    return _options is not None


def on_first_compile(notice: Callable[[], None]) -> None:
    """Call `notice` once if kernels must really be compiled, not merely loaded from the cache."""
    global _on_compile
    _on_compile = notice


def compile_kernels(*, boundscheck: bool = False) -> None:
    """Swap all kernels for their compiled form. One way: there is no reason to go back."""
    global _options, _directory
    with _lock:
        if _options is not None:
            return
        _directory = _cache_directory(boundscheck)
        _options = {"nogil": True, "boundscheck": boundscheck, "cache": _directory is not None}
        swap = {function: _compile(function) for function in _registered}
        _listen()
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{__package__}."):
                for attribute, value in list(vars(module).items()):
                    if callable(value) and value in swap:
                        setattr(module, attribute, swap[value])


def _compile(function: Callable[..., Any]) -> Any:
    import numba

    # The directory is read when a dispatcher is made; other users of numba keep theirs.
    outer, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(_directory or "")
    try:
        dispatcher = numba.njit(**(_options or {}), forceinline=function in _inlined)(function)
    finally:
        numba.config.CACHE_DIR = outer
    _compile_once_for_all_constants(dispatcher)
    if _directory is not None:
        cache = dispatcher._cache
        cache.save_overload = _without_os_errors(cache.save_overload)
    return dispatcher


def _compile_once_for_all_constants(dispatcher: Any) -> None:
    """A kernel that is called with a constant, such as 0, needs no form of its own for it: that takes twice as long."""
    from numba.core.types.misc import unliteral

    template_for = dispatcher.get_call_template

    def get_call_template(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        plain = tuple(unliteral(argument) for argument in arguments)
        return template_for(plain, {name: unliteral(argument) for name, argument in keywords.items()})

    dispatcher.get_call_template = get_call_template


def _without_os_errors(save: Callable[..., None]) -> Callable[..., None]:
    """On a full disk the kernels are compiled anew the next time; that is no reason to fail."""

    def try_to_save(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            save(*arguments)

    return try_to_save


def _listen() -> None:
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            global _on_compile
            ours = event.data["dispatcher"].py_func in _registered
            if _on_compile is not None and ours:
                notice, _on_compile = _on_compile, None
                notice()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())


def _cache_directory(boundscheck: bool) -> Path | None:
    """A directory keyed by the source of all kernels: numba does not notice a changed callee."""
    digest = hashlib.sha256(b"boundscheck" if boundscheck else b"")
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        directory = Path(base).expanduser() / "sapo" / f"kernels-{digest.hexdigest()[:16]}"
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".writable-{os.getpid()}-{threading.get_ident()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):
        return None
    return directory
