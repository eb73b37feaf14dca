"""Compile marked functions with numba when there is enough work for them."""

from sapo.jit.kernels import (
    call_interruptibly,
    compile_ahead,
    compile_kernels,
    compile_what,
    compiled,
    end_processes,
    in_numpy,
    inlined,
    kernel,
    no_garbage,
    prepare,
    record,
)
from sapo.jit.progress import TRAINING, clock, compile_seconds, expect, watch_compiling

__all__ = [
    "TRAINING",
    "call_interruptibly",
    "clock",
    "compile_ahead",
    "compile_kernels",
    "compile_seconds",
    "compile_what",
    "compiled",
    "end_processes",
    "expect",
    "in_numpy",
    "inlined",
    "kernel",
    "no_garbage",
    "prepare",
    "record",
    "watch_compiling",
]
