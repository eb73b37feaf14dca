"""Read a file of word vectors.

It may be text, with a word and its numbers on each line, and optionally a first line with the number and the length of
the vectors; or the binary format of word2vec. Both may be plain or gzip-compressed.
"""

import math
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapo.corpus.files import CHUNK, gunzipped, missing_file
from sapo.errors import DataError, SapoError
from sapo.jit.arrays import Floats

LONGEST_NUMBER = 18  # digits of a count
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Vectors:
    """Words and their vectors."""

    words: list[str]
    matrix: Floats  # [words, size]

    @property
    def size(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])


def read_vectors(path: str | Path) -> Vectors:
    """Return the vectors of a file. Raise SapoError if it cannot be read; the message says where and why."""
    data = _read(path)
    if not data.strip():
        raise DataError(f"{path}: the file of word vectors is empty")
    first, _, rest = data.partition(b"\n")
    header = _header(first)
    if header is None:
        return _from_text(data, path, 1, None)
    # binary numbers nearly always have bytes that never occur in text
    if not _begins_as_text(rest, header[1]) and _CONTROL.search(rest[: 1 << 16]):
        return _from_binary(rest, path, *header)
    return _from_text(rest, path, 2, header)


def _read(path: str | Path) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            if stream.peek(2)[:2] != b"\x1f\x8b":
                return stream.read()
            source, pieces = gunzipped(stream, str(path)), []
            while piece := source.read(CHUNK):
                pieces.append(piece)
            return b"".join(pieces)
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a directory, not a file of word vectors") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _header(line: bytes) -> tuple[int, int] | None:
    """Return the number and the length of the vectors, if the line is two whole numbers; otherwise None."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) <= LONGEST_NUMBER for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _begins_as_text(data: bytes, width: int) -> bool:
    """Return whether the first line is a word and its numbers."""
    try:
        return len([float(field) for field in data[: 1 << 20].partition(b"\n")[0].split()[1:]]) == width
    except ValueError:
        return False


def _from_text(data: bytes, path: str | Path, first_line: int, header: tuple[int, int] | None) -> Vectors:
    words: list[str] = []
    rows: list[Floats] = []
    width = None if header is None else header[1]
    for number, line in enumerate(data.split(b"\n"), first_line):
        fields = line.split()
        if not fields:
            continue
        place = f"{path}:{number}"
        if width is None:
            width = len(fields) - 1
        # counted from the right, because a word may contain blanks
        if len(fields) <= width or width == 0:
            raise DataError(f"{place}: expected a word and {width or 'some'} numbers, found {len(fields) - 1} numbers")
        try:
            word = b" ".join(fields[:-width]).decode("utf-8")
            row = np.array([float(field) for field in fields[-width:]], np.float32)
            if len(fields) > width + 1:  # more numbers than the lines before, or a word with blanks?
                _refuse_number(fields[-width - 1], place, width)
        except SapoError:
            raise
        except ValueError:
            raise DataError(f"{place}: expected a word and {width} numbers, found {_shown(line)}") from None
        if not np.isfinite(row).all():
            raise DataError(f"{place}: the vector of {word!r} has a value that is not a finite number")
        words.append(word)
        rows.append(row)
    if not rows:
        raise DataError(f"{path}: the file of word vectors is empty")
    if header is not None and header[0] != len(words):
        raise DataError(f"{path}:1: announces {header[0]:,} vectors, but {len(words):,} follow; is the file cut off?")
    return Vectors(words, np.stack(rows))


def _refuse_number(field: bytes, place: str, width: int) -> None:
    try:
        float(field)
    except ValueError:
        return
    raise DataError(f"{place}: expected {width} numbers, found more")


def _from_binary(data: bytes, path: str | Path, count: int, width: int) -> Vectors:
    size = 4 * width
    if width == 0 or count * (size + 2) > len(data) + 1:
        raise DataError(f"{path}:1: announces {count:,} vectors of {width} numbers, but the file ends before that")
    words: list[str] = []
    matrix = np.empty((count, width), np.float32)
    at = 0
    for number in range(count):
        space = data.find(b" ", at)
        if space < 0 or space + 1 + size > len(data):
            raise DataError(f"{path}: vector {number + 1} of {count:,}: the file ends before it does")
        raw = data[at:space].lstrip(b"\n")
        word = raw.decode("utf-8", "replace")
        if not raw or _CONTROL.search(raw):
            raise DataError(
                f"{path}: vector {number + 1} of {count:,}: {_shown(raw)} is not a word; "
                f"does each have {width} numbers, as the first line says?"
            )
        matrix[number] = np.frombuffer(data, "<f4", width, space + 1)
        if not math.isfinite(float(matrix[number].sum())) and not np.isfinite(matrix[number]).all():
            raise DataError(f"{path}: vector {number + 1}, of {word!r}: a value is not a finite number")
        words.append(word)
        at = space + 1 + size
    if data[at:].strip():
        raise DataError(f"{path}:1: announces {count:,} vectors of {width} numbers, but more follows them")
    return Vectors(words, matrix)


def _shown(line: bytes) -> str:
    return repr(line.decode("utf-8", "replace"))[:40]
