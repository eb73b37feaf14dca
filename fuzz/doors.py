"""Bytes in, what a reader takes out: standard input, or a file in memory where a reader needs a path."""

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_rooms: list[tempfile.TemporaryDirectory[str]] = []


class _Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]


@contextmanager
def piped(data: bytes) -> Iterator[str]:
    """Let standard input hold these bytes; this is ten times as fast as a file."""
    before = sys.stdin
    sys.stdin = _Input(data)  # type: ignore[assignment]
    try:
        yield "-"
    finally:
        sys.stdin = before


def room() -> Path:
    """Return a directory for this process, in memory where there is one."""
    if not _rooms:
        base = "/dev/shm" if Path("/dev/shm").is_dir() else None
        _rooms.append(tempfile.TemporaryDirectory(prefix="sapo-fuzz-", dir=base))
    return Path(_rooms[0].name)


def file(name: str, data: bytes) -> Path:
    """Return the path of a file with these bytes."""
    path = room() / name
    path.write_bytes(data)
    return path
