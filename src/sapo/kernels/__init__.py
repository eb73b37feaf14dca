"""All compiled loops: arrays in, arrays out, no strings, no classes, no printing."""

from sapo.kernels._garbage import no_garbage
from sapo.kernels._jit import compile_ahead, compile_kernels, compile_what, compiled, end_processes, prepare, record
from sapo.kernels._processes import start_python
from sapo.kernels._progress import TRAINING, clock, compile_seconds, expect, watch_compiling

__all__ = [
    "TRAINING",
    "clock",
    "compile_ahead",
    "compile_kernels",
    "compile_seconds",
    "compile_what",
    "compiled",
    "end_processes",
    "expect",
    "no_garbage",
    "prepare",
    "record",
    "start_python",
    "watch_compiling",
]
