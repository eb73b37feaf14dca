"""Numbers in, as few bytes as hold them out; and back. Files keep them so."""

from collections.abc import Mapping

import numpy as np

from sapo.kernels.types import Bytes, Ints

WIDEST = 4


def narrow(numbers: Ints) -> Bytes:
    """Return the bytes of numbers that are not negative: [bytes, numbers], the lowest byte first.

    >>> narrow(np.array([1, 258], np.int32)).tolist()
    [[1, 2], [0, 1]]
    """
    width = max(1, (int(numbers.max(initial=0)).bit_length() + 7) // 8)
    return np.stack([(numbers >> (8 * byte)).astype(np.uint8) for byte in range(width)])


def widen(arrays: Mapping[str, np.ndarray], name: str) -> Ints:
    """Return the numbers of an array of a file; raise ValueError or KeyError if `narrow` did not make it.

    >>> widen({"sizes": np.array([[1, 2], [0, 1]], np.uint8)}, "sizes").tolist()
    [1, 258]
    """
    planes = arrays[name]
    if planes.dtype != np.uint8 or planes.ndim != 2 or not 1 <= len(planes) <= WIDEST:
        raise ValueError(name)
    numbers: Ints = planes[0].astype(np.int32)
    for byte in range(1, len(planes)):
        numbers |= planes[byte].astype(np.int32) << (8 * byte)
    if len(planes) == WIDEST and (numbers < 0).any():
        raise ValueError(name)
    return numbers
