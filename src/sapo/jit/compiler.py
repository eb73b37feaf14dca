"""Compile functions with numba. This is the only file that knows numba; it is loaded when kernels are compiled.

A kernel is compiled in two forms. The whole form is called from Python: it is optimized, turned into machine code, and
kept in the cache. A part is what another kernel calls. It goes into the code of its caller, which is optimized as a
whole, so optimizing it and turning it into machine code on its own would be work for nothing, twice the time of all
the rest.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numba.extending
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering
from numba.core.types.misc import unliteral

from sapo.jit.cache import ENDING, alone, read_file, write_file
from sapo.jit.kernels import fetch_add, give_way, look_at, no_garbage
from sapo.jit.progress import Function, aside, compiling, name_of, part_compiled


@numba.extending.intrinsic  # type: ignore[untyped-decorator]
def _atomic_add(_: Any, counters: Any, index: Any, amount: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(context, builder, signature.args[0], array, [arguments[1]])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return numba.int64(counters, numba.intp, numba.int64), build


@numba.extending.intrinsic  # type: ignore[untyped-decorator]
def _atomic_load(_: Any, counters: Any, index: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(context, builder, signature.args[0], array, [arguments[1]])
        return builder.load_atomic(pointer, "seq_cst", 8)

    return numba.int64(counters, numba.intp), build


@numba.extending.intrinsic  # type: ignore[untyped-decorator]
def _yield_core(_: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return numba.void(), build


@numba.extending.overload(fetch_add, strict=False)  # type: ignore[untyped-decorator]
def _fetch_add(counters: Any, index: Any, amount: Any) -> Any:
    return lambda counters, index, amount: _atomic_add(counters, index, amount)


@numba.extending.overload(look_at, strict=False)  # type: ignore[untyped-decorator]
def _look_at(counters: Any, index: Any) -> Any:
    return lambda counters, index: _atomic_load(counters, index)


@numba.extending.overload(give_way, strict=False)  # type: ignore[untyped-decorator]
def _give_way() -> Any:
    return lambda: _yield_core()


def compile_function(
    function: Function, directory: Path | None, *, boundscheck: bool, inline: bool, registered: Sequence[Function]
) -> Any:
    """Return the compiled form of a kernel, which is compiled or loaded when it is called for the first time.

    `registered` are all kernels, to count how far compiling is.
    """
    options = {"nogil": True, "boundscheck": boundscheck, "no_cfunc_wrapper": True}
    part = numba.njit(**options, no_cpython_wrapper=True, forceinline=inline, pipeline_class=_PartCompiler)(function)
    whole = numba.njit(**options)(function)
    if directory is not None:
        whole._cache = _Cache(function, directory)

    def get_call_template(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        # A call with a constant, such as 0, needs no form of its own.
        plain = tuple(unliteral(argument) for argument in arguments)
        return part.get_call_template(plain, {name: unliteral(argument) for name, argument in keywords.items()})

    # Other kernels look here for what they call.
    whole.get_call_template = get_call_template
    whole.get_overload = part.get_overload
    compile_part, compile_whole, compile_core = part.compile, whole.compile, whole._compiler.compile

    def note_part(signature: Any) -> Any:
        new = tuple(signature) not in part.overloads
        found = compile_part(signature)
        if new:
            part_compiled(name_of(function))
        return found

    def note_whole(arguments: Any, result: Any) -> Any:
        with compiling(function, registered, directory), no_garbage():
            return compile_core(arguments, result)

    def time_whole(signature: Any) -> Any:
        with aside(), raised_again(), nullcontext() if directory is None else alone(path_of(whole, signature)):
            return compile_whole(signature)

    part.compile = note_part
    whole.compile = time_whole
    whole._compiler.compile = note_whole  # is called unless it is in the cache
    return whole


@contextmanager
def raised_again() -> Iterator[None]:
    """Raise Ctrl-C and exits that came in a function that LLVM calls, where Python would only report them."""
    lost: list[BaseException] = []
    as_usual = sys.unraisablehook

    def keep(found: Any) -> None:
        if isinstance(found.exc_value, Exception):
            as_usual(found)
        else:
            lost.append(found.exc_value)

    sys.unraisablehook = keep
    try:
        yield
    except Exception:
        if not lost:
            raise
    finally:
        sys.unraisablehook = as_usual
    if lost:
        raise lost[0]


def type_of(value: Any) -> Any:
    """Return the type that numba compiles for, which can be pickled."""
    return numba.typeof(value)


def path_of(form: Any, types: tuple[Any, ...]) -> Path:
    """Return the file of the cache for the form of a kernel that takes arguments of these types."""
    path: Path = form._cache.path_of(types, form.targetctx)
    return path


def load(form: Any, types: tuple[Any, ...]) -> bool:
    """Load the form of a kernel for arguments of these types; return whether the cache has it."""
    with global_compiler_lock:
        found = form._cache.load_overload(types, form.targetctx)
        if found is not None and types not in form.overloads:
            form.add_overload(found)
            form.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
    return found is not None


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code to be linked into that of a caller: neither optimized nor made executable here."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "_PartLibrary":
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: only code that deals with Python's objects has an environment, and kernels do not."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):  # type: ignore[misc]
    _name = "sapo_part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _PartCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_PartLowering if step is NativeLowering else step, what) for step, what in passes.passes]
        passes.finalize()
        return [passes]


class _Locator:
    """Tell numba where the files of a kernel are: in the directory that was checked."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def ensure_cache_path(self) -> None:
        pass

    def get_cache_path(self) -> str:
        return str(self.directory)

    def get_source_stamp(self) -> None:
        """Return nothing: the name of the directory says which kernels these are."""

    def get_disambiguator(self) -> str:
        return ""


class _Files:
    """Keep one file for each kernel and signature, so that several processes can compile at the same time.

    Numba's own files have an index, which two processes can write at once, and no checksum that reveals damage.
    """

    def __init__(self, function: Function, directory: Path) -> None:
        self.start = directory / name_of(function)

    def path(self, key: Any) -> Path:
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        return Path(f"{self.start}-{hashlib.sha256(repr((versions, key)).encode()).hexdigest()[:16]}{ENDING}")

    def load(self, key: Any) -> Any:
        data = read_file(self.path(key))
        return None if data is None else pickle.loads(data)

    def save(self, key: Any, data: Any) -> None:
        write_file(self.path(key), dumps(data))

    def flush(self) -> None:
        pass


class _Cache(FunctionCache):  # type: ignore[misc]
    def __init__(self, function: Function, directory: Path) -> None:
        class Implementation(CompileResultCacheImpl):  # type: ignore[misc]
            def __init__(self, function: Function) -> None:
                self._locator = _Locator(directory)
                self._filename_base = function.__name__

        self._impl_class = Implementation
        super().__init__(function)
        self._cache_file = _Files(function, directory)

    def path_of(self, signature: Any, context: Any) -> Path:
        return self._cache_file.path(self._index_key(signature, context.codegen()))

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except Exception:  # whatever is wrong with the file, compiling helps
            return None
