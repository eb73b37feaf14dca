"""Strings in, slots of an open-addressing table out, without a kernel.

A model file has no slots of strings. They are made when it is read, often before any kernel is compiled: an
interpreted kernel would take a hundred times as long as these array operations.
"""

import numpy as np

from sapo.kernels.tables import LOW
from sapo.kernels.types import Bytes, Ints, Longs

FEW = 32  # strings that are quicker hashed one by one


def slots_of_strings(blob: Bytes, offsets: Longs, size: int) -> Ints:
    """Return slots that `find_string` of kernels/tables.py can use; `size` is a power of two, and enough of them."""
    home = hash_strings(blob, offsets) & (size - 1)
    order = _order(home)
    # place[i] = max(home[i], place[i - 1] + 1)
    places = _in_turn(home[order])
    past = places >= size
    if past.any():  # they go on at the first slot, and push away who is there
        order = np.concatenate([order[past], order[~past]])
        places = _in_turn(np.concatenate([np.zeros(past.sum(), np.int64), home[order[past.sum() :]]]))
    slots = np.zeros(size, np.int32)
    slots[places] = order + 1
    return slots


def _order(numbers: Longs) -> Longs:
    """Return what `np.argsort` returns, in a third of the time, for numbers below 2**31."""
    both = (numbers << 32) | np.arange(len(numbers))
    both.sort()
    return both & LOW


def _in_turn(home: Longs) -> Longs:
    turn = np.arange(len(home))
    return np.maximum.accumulate(home - turn) + turn if len(home) else home


def hash_strings(blob: Bytes, offsets: Longs) -> Longs:
    """Return `hash_bytes` of kernels/tables.py of many strings."""
    lengths = np.diff(offsets)
    order = _order(lengths)[::-1]  # those that have a byte more are always the first
    starts = offsets[:-1][order]
    longer = len(lengths) - np.cumsum(np.bincount(lengths)) if len(lengths) else np.zeros(1, np.int64)
    h = np.full(len(lengths), 2166136261, np.int64)
    done = 0
    while longer[done] > FEW:
        some = h[: longer[done]]
        some ^= blob[starts[: longer[done]] + done]
        some *= 16777619
        some &= LOW
        done += 1
    for i in range(int(longer[done])):
        value = int(h[i])
        for byte in blob[starts[i] + done : starts[i] + lengths[order[i]]].tolist():
            value = ((value ^ byte) * 16777619) & LOW
        h[i] = value
    hashes = np.empty_like(h)
    hashes[order] = h ^ (h >> 15)
    return hashes
