"""Make standard output and error robust, so that no work is lost if they are closed, full or have no reader."""

import io
import os
import sys
from typing import Any

from sapo.errors import harmless


class Notes(io.FileIO):
    """Standard error that drops what cannot be written, because a model that took hours is worth more."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class Harmless(io.TextIOWrapper):
    """Standard output for text that may come from strangers. Data goes through its buffer, and stays as it is."""

    def write(self, text: str) -> int:
        return super().write(harmless(text))


def prepare_streams() -> None:
    """Prepare the streams, once, when a command begins. Streams that a program has replaced are left alone."""
    real = sys.__stderr__
    if sys.stderr is None:  # closed by the caller, as in `sapo ... 2>&-`
        sys.stderr = _notes(os.open(os.devnull, os.O_WRONLY), "utf-8")
    elif real is not None and sys.stderr is real:
        sys.stderr = _notes(real.fileno(), real.encoding)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout is sys.__stdout__:
        real_out, encoding, line_buffering = sys.stdout, sys.stdout.encoding, sys.stdout.line_buffering
        real_out.flush()
        # half of a surrogate pair cannot be encoded; JSON accepts \ud800
        sys.stdout = Harmless(real_out.detach(), encoding, "backslashreplace", line_buffering=line_buffering)


def _notes(number: int, encoding: str) -> io.TextIOWrapper:
    raw = io.BufferedWriter(Notes(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)
