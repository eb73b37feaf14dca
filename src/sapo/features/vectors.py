"""Read a file of word vectors, and keep the vectors of a linear model in 8 bits per number.

These forms of a file are read, plain or gzip-compressed:

    word 0.1 -0.2 ...     text, as GloVe writes it; with a first line of two numbers, how many vectors there are and
                          how long they are, as word2vec and fastText (.vec) write it
    binary                word2vec: the same first line, and 32-bit numbers after each word
    safetensors           the matrix `vectors` [words, length], and `words`: UTF-8 bytes with a newline between words

Linear models have D features for a vector of D numbers, whose values are these numbers. All vectors are multiplied by
the same factor, so that the squares of a vector add up to `SQUARES` on average over the file: when weights change for a
token, its vector then counts as much as that many other features.
"""

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapo import jit
from sapo.corpus.files import CHUNK, LONGEST_JSON, check_utf8, gunzipped, missing_file, parse_json
from sapo.errors import DataError, SapoError
from sapo.features.lexicon import Lexicon
from sapo.features.strings import array_of, bounded
from sapo.jit import kernel
from sapo.jit.arrays import Bytes, Floats, Ints, Longs, stored_array

MOST_WORDS = 400_000  # that a model keeps: the first of the file, which are the most frequent ones
# With GloVe of 50 numbers, 1, 4 and 16 are equally good on two dev sets: 42.5, 41.6, 41.8 and 89.0, 89.2, 88.9.
SQUARES = 4.0
ZERO = 128  # how a byte says 0
STEPS = 127  # of a byte, from 0 to the largest number of a vector
LARGEST = 1e6  # scale in a model file
AT_ONCE = 10_000  # words: the 64-bit numbers of all of them would determine the peak of memory
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


class WordVectors:
    """The vectors of words, as features of a linear model. A word that is missing has that of its nearest spelling.

    >>> vectors = WordVectors(["rain", "oslo"], np.array([[2, 0], [0, -2]], np.float32))
    >>> vectors.values(np.array([1])).tolist()
    [[2.0, 0.0]]
    """

    def __init__(self, words: Sequence[str], matrix: Floats) -> None:
        first: dict[str, int] = {}
        for place, word in enumerate(words):
            if "\n" not in word:  # which stands between the words of a model file
                first.setdefault(word, place)
        chosen = sorted(first)
        places = np.array([first[word] for word in chosen], np.int64)
        numbers, largest, squares = np.empty((len(places), matrix.shape[1]), np.uint8), np.zeros(len(places)), 0.0
        for begin in range(0, len(places), AT_ONCE):
            some = slice(begin, begin + AT_ONCE)
            rows = matrix[places[some]].astype(np.float64)
            squares += float(np.square(rows).sum())
            largest[some] = np.abs(rows).max(axis=1)
            numbers[some] = (
                np.rint(rows * (STEPS / np.where(largest[some] > 0, largest[some], 1))[:, np.newaxis]) + ZERO
            )
        factor = math.sqrt(SQUARES * len(places) / squares) if squares else 0.0
        self._set(Lexicon(chosen), numbers, (largest / STEPS * factor).astype(np.float32))

    def _set(self, words: Lexicon, numbers: Bytes, scales: Floats) -> None:
        self._words, self._numbers, self._scales = words, numbers, scales
        numbers.flags.writeable = scales.flags.writeable = (
            False  # as those of a file, so that kernels are compiled once
        )

    @classmethod
    def read(cls, path: str | Path) -> "WordVectors":
        """Read the first 400,000 vectors of a file. Raise SapoError if it cannot be read."""
        found = read_vectors(path, MOST_WORDS)
        vectors = cls(found.words, found.matrix)
        if not vectors._scales.any():
            raise DataError(f"{path}: all numbers of all word vectors are 0, so they say nothing about words")
        return vectors

    def __len__(self) -> int:
        return len(self._words)

    @property
    def size(self) -> int:
        """The length of a vector."""
        return int(self._numbers.shape[1])

    def find(self, data: Bytes, starts: Ints, ends: Ints) -> Ints:
        """Return the number of the vector of each word, -1 if it has none."""
        return self._words.numbers(data, starts, ends)

    def values(self, found: Ints | Longs) -> Floats:
        """Return the vectors of these numbers, [numbers, size]."""
        return (self._numbers[found].astype(np.float32) - np.float32(ZERO)) * self._scales[found, np.newaxis]

    def add_rows(self, found: Ints, row_offsets: Longs, rows: Ints) -> tuple[Longs, Ints, Floats]:
        """Return the features of tokens with those of their vectors, which are the first ones, and all values.

        `found` has the number of each token's vector; the others are counted from 0 in `rows`.
        """
        offsets = row_offsets + self.size * np.append(0, np.cumsum(found >= 0))
        all_rows, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
        join_rows(found, self._numbers, self._scales, row_offsets, rows, offsets, all_rows, values)
        return offsets, all_rows, values

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        return {"words": self._words.packed(), "numbers": self._numbers, "scales": self._scales}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> "WordVectors":
        """Return the vectors of a model file; raise ValueError or KeyError if its arrays do not fit together."""
        words = Lexicon.unpacked(array_of(arrays, f"{name}.words", np.uint8))
        numbers, scales = arrays[f"{name}.numbers"], array_of(arrays, f"{name}.scales", np.float32)
        if numbers.dtype != np.uint8 or numbers.ndim != 2 or not numbers.shape[1]:
            raise ValueError(f"{name}.numbers")
        if not len(words) == len(numbers) == len(scales) or not bounded(scales, LARGEST):
            raise ValueError(name)
        vectors = cls.__new__(cls)
        vectors._set(words, numbers.view(), scales.view())
        return vectors


@kernel
def join_rows(
    found: Ints,  # [tokens] the vector of each token, or -1
    numbers: Bytes,  # [words, size]
    scales: Floats,  # [words]
    row_offsets: Longs,  # [tokens + 1]
    rows: Ints,
    offsets: Longs,  # [tokens + 1] with the features of vectors
    all_rows: Ints,  # out
    values: Floats,  # out
) -> None:
    """Write the features of each token and then those of its vector, with their values."""
    size = numbers.shape[1]
    zero, one = np.float32(ZERO), np.float32(1.0)  # in single precision, eight numbers at a time
    for t in range(len(found)):
        at = offsets[t]
        for i in range(row_offsets[t], row_offsets[t + 1]):
            all_rows[at] = rows[i] + size
            values[at] = one
            at += 1
        word = found[t]
        if word >= 0:
            scale = scales[word]
            for d in range(size):
                all_rows[at + d] = d
            for d in range(size):
                values[at + d] = (np.float32(numbers[word, d]) - zero) * scale


def read_vectors(path: str | Path, most: int | None = None) -> Vectors:
    """Return the vectors of a file, or the first ones, at most this many.

    Raises SapoError if the file cannot be read; the message says where and why.
    """
    data = _read(path)
    if not data.strip():
        raise DataError(f"{path}: the file of word vectors is empty")
    length = int.from_bytes(data[:8], "little")
    if data[8:9] == b"{" and length <= len(data) - 8:
        return _from_safetensors(data, length, path, most)
    if data[6:9] == b"\0\0{":
        raise DataError(f"{path}: begins as a safetensors file, but ends before its header does; copy it again")
    first, _, rest = data.partition(b"\n")
    header = _header(first)
    if header is None:
        return _from_text(data, path, 1, None, most)
    # binary numbers nearly always have bytes that never occur in text
    if not _begins_as_text(rest, header[1]) and _CONTROL.search(rest[: 1 << 16]):
        return _from_binary(rest, path, *header, most)
    return _from_text(rest, path, 2, header, most)


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


def _from_text(
    data: bytes, path: str | Path, first_line: int, header: tuple[int, int] | None, most: int | None
) -> Vectors:
    words: list[str] = []
    rows: list[Floats] = []
    width = None if header is None else header[1]
    whole = np.frombuffer(data, np.uint8)
    ends = np.append(np.flatnonzero(whole == ord("\n")), len(data))
    starts = np.append(0, ends[:-1] + 1)
    jit.prepare(pairs=len(data))
    first = 0
    while first < len(starts) and len(words) != most:
        # the width is that of the first line
        last = first + (1 if width is None else AT_ONCE if most is None else min(AT_ONCE, most - len(words)))
        least = min(2 * (width or 0), 1 << 62)  # bytes of a line with so many numbers
        if len(short := np.flatnonzero(ends[first:last] - starts[first:last] < least)):
            last = first + max(1, int(short[0]))  # the announced width may be that of no line: make no room for it
        fits = width is not None and ends[first] - starts[first] >= least
        found = np.zeros((min(last, len(starts)) - first, width if width is not None and fits else 0), np.float32)
        places = np.zeros(len(found), np.int64)
        if width and fits:
            read_plain_lines(whole, starts[first:last], ends[first:last], found, places)
        for i, end_of_word in enumerate(places.tolist()):
            start, number = int(starts[first + i]), first_line + first + i
            try:
                word = data[start:end_of_word].decode("utf-8")
            except UnicodeDecodeError:
                end_of_word = 0
            if not end_of_word:
                parsed = _parse_line(data[start : ends[first + i]], path, number, width)
                if parsed is None:
                    continue
                word, row = parsed
                if width is None:
                    width, found = len(row), row[np.newaxis]
                found[i], places[i] = row, 1
            words.append(word)
        rows.append(found[places > 0])
        first = last
    if not words:
        raise DataError(f"{path}: the file of word vectors is empty")
    if header is not None and header[0] != len(words) != most:
        raise DataError(f"{path}:1: announces {header[0]:,} vectors, but {len(words):,} follow; is the file cut off?")
    return Vectors(words, np.concatenate([some for some in rows if len(some)]))


def _parse_line(line: bytes, path: str | Path, number: int, width: int | None) -> tuple[str, Floats] | None:
    """Return the word and the vector of a line, None if it is empty; raise SapoError if it has another form."""
    fields, place = line.split(), f"{path}:{number}"
    if not fields:
        return None
    if width is None:
        width = len(fields) - 1
    # counted from the right, because a word may contain blanks
    if len(fields) <= width or width == 0:
        raise DataError(f"{place}: expected a word and {width or 'some'} numbers, found {len(fields) - 1} numbers")
    try:
        word = b" ".join(fields[:-width]).decode("utf-8")
        with np.errstate(over="ignore"):  # too large a number is infinite, which is refused below
            row = np.array([float(field) for field in fields[-width:]], np.float32)
        if len(fields) > width + 1:  # more numbers than the lines before, or a word with blanks?
            _refuse_number(fields[-width - 1], place, width)
    except SapoError:
        raise
    except ValueError:
        check_utf8(line, str(path), number, corpus=False)
        raise DataError(f"{place}: expected a word and {width} numbers, found {_shown(line)}") from None
    if not np.isfinite(row).all():
        raise DataError(f"{place}: the vector of {word!r} has a value that is not a finite number")
    return word, row


@kernel
def is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@kernel
def read_plain_lines(
    data: Bytes,
    starts: Longs,  # [lines]
    ends: Longs,  # [lines]
    found: Floats,  # [lines, width] out
    places: Longs,  # [lines] out: where the word ends, or 0 if the line is not plain
) -> None:
    """Read lines of a word and numbers such as -0.25 or 1e-05; leave all other lines to Python.

    A number of at most 15 digits and a power of ten up to 22 are exact, so one division rounds as Python does.
    """
    width = found.shape[1]
    powers = np.empty(23, np.float64)
    powers[0] = 1.0
    for i in range(1, 23):
        powers[i] = powers[i - 1] * 10.0
    for line in range(len(starts)):
        at = int(starts[line])
        end = int(ends[line])
        while end > at and is_blank(int(data[end - 1])):
            end -= 1
        while at < end and not is_blank(int(data[at])):
            at += 1
        places[line] = at if at > starts[line] else 0
        for d in range(width):
            if at >= end or not is_blank(int(data[at])):
                places[line] = 0
                break
            while is_blank(int(data[at])):  # the last byte is none
                at += 1
            negative = data[at] == 45
            if negative or data[at] == 43:
                at += 1
            whole = 0
            digits = 0
            power = 0
            point = False
            while at < end:
                byte = int(data[at])
                if 48 <= byte <= 57:
                    whole = whole * 10 + byte - 48
                    digits += 1
                    power -= 1 if point else 0
                    if digits > 15:
                        break
                elif byte == 46 and not point:
                    point = True
                else:
                    break
                at += 1
            if digits > 0 and at < end and (data[at] == 101 or data[at] == 69):
                at += 1
                less = at < end and data[at] == 45
                if less or (at < end and data[at] == 43):
                    at += 1
                exponent = 0
                begun = at
                while at < end and at < begun + 3 and 48 <= int(data[at]) <= 57:
                    exponent = exponent * 10 + int(data[at]) - 48
                    at += 1
                power += -exponent if less else exponent
                if at == begun:
                    digits = 0
            if digits == 0 or digits > 15 or power < -22 or power > 22:
                places[line] = 0
                break
            value = whole / powers[-power] if power < 0 else whole * powers[power]
            found[line, d] = -value if negative else value
        if at != end:
            places[line] = 0


def _refuse_number(field: bytes, place: str, width: int) -> None:
    try:
        float(field)
    except ValueError:
        return
    raise DataError(f"{place}: expected {width} numbers, found more")


def _from_binary(data: bytes, path: str | Path, count: int, width: int, most: int | None) -> Vectors:
    size = 4 * width
    if width == 0 or count * (size + 2) > len(data) + 1:
        raise DataError(f"{path}:1: announces {count:,} vectors of {width} numbers, but the file ends before that")
    words: list[str] = []
    wanted = count if most is None else min(count, most)
    matrix = np.empty((wanted, width), np.float32)
    at = 0
    for number in range(wanted):
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
    if wanted == count and data[at:].strip():
        raise DataError(f"{path}:1: announces {count:,} vectors of {width} numbers, but more follows them")
    return Vectors(words, matrix)


def _from_safetensors(data: bytes, length: int, path: str | Path, most: int | None) -> Vectors:
    try:
        if length > LONGEST_JSON:
            raise ValueError("header")
        table = parse_json(data[8 : 8 + length].decode())
        matrix, text = (stored_array(data, 8 + length, table[name]) for name in ("vectors", "words"))
    except KeyError as error:
        raise DataError(
            f"{path}: expected the arrays 'vectors' and 'words' of numbers and bytes, found no {error}"
        ) from None
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        raise DataError(f"{path}: its header is broken, or its end is missing; save it again") from None
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind != "f":
        raise DataError(
            f"{path}: 'vectors' must be a matrix of F16, F32 or F64 with a row for each word, "
            f"not {matrix.dtype} {list(matrix.shape)}"
        )
    try:
        words = text.tobytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: 'words' is not UTF-8 (byte {error.start + 1:,}); encode the words again") from None
    if text.dtype != np.uint8 or len(words) != len(matrix):
        raise DataError(
            f"{path}: expected as many words as vectors, found {len(words):,} words and {len(matrix):,} vectors; "
            "'words' must be bytes, with a newline between words"
        )
    matrix = matrix[:most].astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(wrong):
        raise DataError(f"{path}: vector {wrong[0] + 1}, of {words[wrong[0]]!r}: a value is not a finite number")
    return Vectors(words[:most], matrix)


def _shown(line: bytes) -> str:
    return repr(line.decode("utf-8", "replace"))[:40]
