"""Name the array types that kernels take, by dtype, and an array that can grow.

A field that is None leaves out what is done with it, and that is not even compiled: numba drops a branch on
`argument is None`. It looks at arguments only, so such a field goes to a function of its own as an argument.
"""

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
        """Make room for a number of rows, by a constant factor: a row costs the same however many there are."""
        if self.count + rows > len(self.whole):
            larger = np.zeros((_with_room(self.count + rows), *self.whole.shape[1:]), self.whole.dtype)
            larger[: self.count] = self.used
            self.whole = larger


def _with_room(rows: int) -> int:
    return rows + rows // 8 + 256
