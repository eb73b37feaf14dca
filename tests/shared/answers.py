"""Run the command `sapo` in this process: quick, and good enough where neither signals nor real streams matter."""

import io
import sys
import warnings
from dataclasses import dataclass
from unittest import mock

from sapo import jit
from sapo.cli.main import main

COMPILING = "sapo: compiling for the first time"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command ended, and what it printed."""

    code: int
    out: str
    lines: list[str]  # of standard error

    @property
    def errors(self) -> list[str]:
        """The lines of standard error that are no warnings."""
        return [line for line in self.lines if not line.startswith("sapo: warning: ")]


def answer(*args: object, input: str = "") -> Answer:
    """Run `sapo` with these arguments."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(3)]
    streams[0].buffer.write(input.encode())
    streams[0].seek(0)
    names = ("sys.stdin", "sys.stdout", "sys.stderr")
    patches = [mock.patch(name, stream) for name, stream in zip(names, streams, strict=True)]
    with warnings.catch_warnings(), mock.patch.object(sys, "argv", ["sapo", *map(str, args)]):
        warnings.simplefilter("default")
        with patches[0], patches[1], patches[2], mock.patch.object(jit, "watch_compiling"):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    for stream in streams[1:]:
        stream.flush()
    out, told = (stream.buffer.getvalue().decode() for stream in streams[1:])  # type: ignore[attr-defined]
    return Answer(code, out, [line for line in told.splitlines() if not line.startswith(COMPILING)])
