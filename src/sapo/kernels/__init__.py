"""All compiled loops: arrays in, arrays out, no strings, no classes, no printing."""

from sapo.kernels._jit import compile_kernels, compiled, on_first_compile, prepare

__all__ = ["compile_kernels", "compiled", "on_first_compile", "prepare"]
