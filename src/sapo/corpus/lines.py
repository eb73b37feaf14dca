"""Read a file line by line, as bytes, with a limit on the length of a line."""

from collections.abc import Iterator
from pathlib import Path

from sapo import limits
from sapo.corpus.files import read_chunks, show_path
from sapo.corpus.scanner import BOM
from sapo.errors import SapoError


def read_lines(path: str | Path, advice: str = "write one sentence a line") -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line, without its line feed. `advice` ends the message about a long line.

    A line feed at the end of the file begins no further line.
    """
    name = show_path(path)
    pieces: list[bytes] = []  # of a line that has not ended; joined once, since each join copies all of it
    size = number = 0
    for chunk in read_chunks(path):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*pieces, lines[0]])
            pieces, size = [], 0
        for line in lines:
            number += 1
            yield number, line.removeprefix(BOM) if number == 1 else line
        pieces.append(rest)
        size += len(rest)
        if size > limits.current().line:
            raise too_long(f"{name}:{number + 1}", size, advice)
    if size:
        last = b"".join(pieces)
        yield number + 1, last.removeprefix(BOM) if number == 0 else last


def too_long(place: str, size: int, advice: str) -> SapoError:
    """Return the error about a line above its limit."""
    most = limits.current().line
    return SapoError(f"{place}: line longer than {most:,} bytes; {advice}, or use --limit line={2 * size}")
