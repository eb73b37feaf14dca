"""Strings in, slots of an open-addressing table out, without a kernel.

A model file has no slots of strings. They are made when it is read, often before any kernel is compiled: an
interpreted kernel would take a hundred times as long as these array operations.
"""

import hashlib
import os

import numpy as np

from sapo.kernels.tables import LOW, PRIME, PROBES
from sapo.kernels.types import Bytes, Ints, Longs

FEW = 32  # strings that are quicker hashed one by one
LEAST_SEED = 1 << 16
MANY_PROBES = 16  # after them hardly a string is left


def new_slots(size: int, seed: int | None = None) -> Ints:
    """Return empty slots, a power of two of them, and behind them the seed: drawn anew if there is none."""
    slots = np.zeros(size + 1, np.int32)
    slots[size] = seed_from(os.urandom(8)) if seed is None else seed
    return slots


def seed_from(data: bytes | memoryview) -> int:
    """Return a seed that depends on all of these bytes; who chooses them cannot choose it.

    It is for what is saved, which must be the same each time.
    """
    return LEAST_SEED + int.from_bytes(hashlib.sha256(data).digest()[:8], "little") % (PRIME - LEAST_SEED)


def slots_of_strings(blob: Bytes, offsets: Longs, size: int, seed: int | None = None) -> Ints:
    """Return slots that `find_string` of kernels/tables.py can use; `size` is a power of two, and enough of them.

    All strings look at their first slot, then those that found it taken at their second one, and so on.
    """
    slots = new_slots(size, seed)
    starts, lengths = offsets[:-1], np.diff(offsets)
    waiting = np.arange(len(lengths), dtype=np.int32) + np.int32(1)
    place, leap = hash_strings(blob, offsets) & (size - 1), np.ones(len(lengths), np.int64)
    probes = 0
    while len(waiting):
        free = slots[place] == 0
        slots[place[free]] = waiting[free]  # of several that want the same one, one gets it
        left = slots[place] != waiting
        waiting, place, leap = waiting[left], place[left], leap[left]
        place = (place + leap) & (size - 1)
        probes += 1
        if probes == MANY_PROBES and MANY_PROBES * len(waiting) > len(lengths):  # a file may hold a string many times
            first = np.sort(_first_of_equals(blob, starts[waiting - 1], lengths[waiting - 1]))
            waiting, place, leap = waiting[first], place[first], leap[first]
        if probes == PROBES:
            second = _hash_all(blob, starts[waiting - 1], lengths[waiting - 1], int(slots[size]))
            place, leap = second & (size - 1), (second >> 9) | 1
    return slots


def _first_of_equals(blob: Bytes, starts: Longs, lengths: Longs) -> Longs:
    """Return the places of different strings. With 62 random bits of hashes none is lost by chance."""
    left, right = (_hash_all(blob, starts, lengths, seed_from(os.urandom(8))) for _ in range(2))
    first: Longs = np.unique((left << 31) | right, return_index=True)[1]
    return first


def _order(numbers: Longs) -> Longs:
    """Return what `np.argsort` returns, in a third of the time, for numbers below 2**31."""
    both = (numbers << 32) | np.arange(len(numbers))
    both.sort()
    return both & LOW


def hash_strings(blob: Bytes, offsets: Longs) -> Longs:
    """Return `hash_bytes` of kernels/tables.py of many strings."""
    h = _hash_all(blob, offsets[:-1], np.diff(offsets), None)
    return h ^ (h >> 15)


def _hash_all(blob: Bytes, starts: Longs, lengths: Longs, seed: int | None) -> Longs:
    """Return the second hashes of many strings for a seed, or without one the first ones before they are mixed."""
    order = _order(lengths)[::-1]  # those that have a byte more are always the first
    starts = starts[order]
    longer = len(lengths) - np.cumsum(np.bincount(lengths)) if len(lengths) else np.zeros(1, np.int64)
    h = np.full(len(lengths), 2166136261 if seed is None else 1, np.int64)
    done = 0
    while longer[done] > FEW:
        some = h[: longer[done]]
        if seed is None:
            some ^= blob[starts[: longer[done]] + done]
            some *= 16777619
            some &= LOW
        else:
            some *= seed
            some += blob[starts[: longer[done]] + done]
            some %= PRIME
        done += 1
    for i in range(int(longer[done])):
        value = int(h[i])
        for byte in blob[starts[i] + done : starts[i] + lengths[order[i]]].tolist():
            value = ((value ^ byte) * 16777619) & LOW if seed is None else (value * seed + byte) % PRIME
        h[i] = value
    hashes = np.empty_like(h)
    hashes[order] = h
    return hashes


def hash_keys(keys: Longs, seed: int = 0) -> Longs:
    """Return `hash_rest` of kernels/tables.py of many keys."""
    if seed:
        h = (seed + (keys & PRIME)) % PRIME
        h = (h * seed + ((keys >> 31) & PRIME)) % PRIME
        return (h * seed + (keys >> 62)) % PRIME
    h = ((keys & LOW) * 1640531527) & LOW
    h = ((h ^ (keys >> 32)) & LOW) * 1540483477
    return (h >> 16) & LOW
