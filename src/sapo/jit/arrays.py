"""Name the array types that kernels take, by dtype; index consecutive pieces of arrays; provide an array that can grow.

A field of a bundle may be None to leave out what is done with it. Numba does not compile a branch on
`argument is None`, but it looks at arguments only: pass such a field to a function of its own.

Pieces of different sizes are stored one after the other in one array: piece i is `array[offsets[i]:offsets[i + 1]]`.
"""

import contextlib
import ctypes
import math
import sys
from collections.abc import Iterable, Mapping
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Reals = NDArray[np.float32] | NDArray[np.float64]  # compiled for each
Bools = NDArray[np.bool_]
Shorts = NDArray[np.uint16]

MOST_DIMENSIONS = 8
DTYPES = {  # as safetensors files name them
    "U8": np.uint8,
    "U16": np.uint16,
    "I32": np.int32,
    "I64": np.int64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
}


LARGE = 1 << 20  # bytes of an array that goes back to the system when it is freed
_MMAP_THRESHOLD = -3  # of mallopt(3)


def return_large_arrays() -> None:
    """Have the C library return the memory of large arrays as soon as they are freed, if it can.

    By default glibc keeps more and more of it: after the trials of a run on CoNLL-2000, 75 MB that nothing uses.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # other C libraries have no such setting
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE)


def stored_array(data: bytes | mmap, start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    """Return an array of a safetensors file, whose arrays begin at `start`.

    Raises ValueError, KeyError or TypeError if its entry in the header cannot be right.
    """
    dtype = np.dtype(DTYPES[entry["dtype"]])
    if len(entry["shape"]) > MOST_DIMENSIONS:
        raise ValueError("shape")
    shape = [int(size) for size in entry["shape"]]
    begin, end = (int(offset) for offset in entry["data_offsets"])
    if not (0 <= begin <= end <= len(data) - start and all(0 <= size < 1 << 48 for size in shape)):
        raise ValueError("offsets")
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError("shape")
    return np.frombuffer(data, dtype, math.prod(shape), start + begin).reshape(shape)


def offsets_of(sizes: NDArray[Any]) -> Longs:
    """Return where each of consecutive pieces of these sizes begins, and where the last ends.

    >>> offsets_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def joined_offsets(parts: Iterable[Longs]) -> Longs:
    """Return the offsets of several arrays of pieces once these stand one after the other.

    >>> joined_offsets([np.array([0, 2]), np.array([0, 1, 4])]).tolist()
    [0, 2, 3, 6]
    """
    return np.cumsum(np.concatenate([np.zeros(1, np.int64), *map(np.diff, parts)]))


def pieces_of(offsets: Longs, chosen: NDArray[Any]) -> tuple[Longs, Longs]:
    """Return the offsets of the chosen pieces once they stand one after the other, and the places of their elements.

    >>> offsets, places = pieces_of(np.array([0, 2, 2, 5]), np.array([2, 0]))
    >>> offsets.tolist(), places.tolist()
    ([0, 3, 5], [2, 3, 4, 0, 1])
    """
    sizes = offsets[chosen + 1] - offsets[chosen]
    new = offsets_of(sizes)
    return new, np.arange(new[-1]) + np.repeat(offsets[chosen] - new[:-1], sizes)


class Growable:
    """The first `count` rows of a larger array; rows that `add` adds are zero.

    >>> numbers = Growable(np.array([3, 4]))
    >>> numbers.append(np.array([5]))
    >>> numbers.add(1)
    >>> numbers.used.tolist()
    [3, 4, 5, 0]
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self.count = 0
        self.whole: NDArray[Any] = np.zeros((_with_room(len(rows)), *rows.shape[1:]), rows.dtype)
        self.append(rows)

    @property
    def used(self) -> Any:
        """The rows so far, not a copy. They stay in place until there is no room left."""
        return self.whole[: self.count]

    def append(self, rows: NDArray[Any]) -> None:
        """Add these rows."""
        self.reserve(len(rows))
        self.whole[self.count : self.count + len(rows)] = rows
        self.count += len(rows)

    def add(self, rows: int) -> None:
        """Add a number of rows of zeros."""
        self.reserve(rows)
        self.count += rows

    def reserve(self, rows: int) -> None:
        """Make room for a number of rows, by a constant factor, so that the mean cost of a row is constant."""
        if self.count + rows > len(self.whole):
            larger = np.zeros((_with_room(self.count + rows), *self.whole.shape[1:]), self.whole.dtype)
            larger[: self.count] = self.used
            self.whole = larger


def _with_room(rows: int) -> int:
    return rows + rows // 8 + 256
