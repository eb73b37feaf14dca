"""Make standard output and error robust, so that no work is lost if they are closed, full or have no reader."""

import io
import os
import sys
from typing import Any


class Notes(io.FileIO):
    """Standard error that drops what cannot be written, because a model that took hours is worth more."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Prepare the streams, once, when a command begins. Streams that a program has replaced are left alone."""
    real = sys.__stderr__
    if sys.stderr is None:  # closed by the caller, as in `sapo ... 2>&-`
        sys.stderr = _notes(os.open(os.devnull, os.O_WRONLY), "utf-8")
    elif real is not None and sys.stderr is real:
        sys.stderr = _notes(real.fileno(), real.encoding)
    if isinstance(sys.stdout, io.TextIOWrapper):  # half of a surrogate pair cannot be encoded; JSON accepts \ud800
        sys.stdout.reconfigure(errors="backslashreplace")


def _notes(number: int, encoding: str) -> io.TextIOWrapper:
    raw = io.BufferedWriter(Notes(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)
