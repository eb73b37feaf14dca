"""Map byte strings and integer keys to dense ids with hash tables, compiled or not.

An open-addressing table can grow. It is an array of slots: a power of two of them, never more than half full, and a
seed in the last place. A slot holds id + 1, or 0 if it is empty. The strings (bytes and offsets) or keys are in arrays
of their own, by id; a hit is always compared with them. A quick hash chooses the first slot. Anybody can compute it, so
hostile data may contain many strings with the same one. Therefore, after PROBES slots, a second hash chooses where to
go on and how far to leap. It depends on the seed, which is drawn when the table is made: without knowing it, two
strings of n bytes collide with a probability of n / PRIME. Ids do not depend on the seed.

A frozen table is small. A key is cut in two: its low bits are the rest; the bits above, combined with a hash of the
rest, are the number of a bucket. Keys are stored in the order of their buckets, and the place of a key is its id. The
rest and the bucket determine the key, so only the rest is stored, and a hit is exact. If the quick hash would put too
many keys into one bucket, the table has a seed and uses the second hash.

All arithmetic stays below 2**63, so that interpreted and compiled kernels agree without relying on overflow. The one
exception is `ODD * rest`, of which only bytes below 2**64 are used: those are the same with overflow and without.

A model file does not store the slots of strings. They are made when it is read, often before any kernel is compiled.
An interpreted kernel would take a hundred times as long as the array operations of `slots_of_strings`.
"""

import hashlib
import os

import numpy as np

from sapo.jit import kernel
from sapo.jit.arrays import Bytes, Ints, Longs

LOW = 0xFFFFFFFF
PROBES = 128  # with a good hash, a half-full table of 10 million never needs as many
PRIME = 2**31 - 1
ODD = 0x1E3779B97F4A7C15  # spreads a rest over its bytes; odd, so that it has an inverse
LEAST_SEED = 1 << 16
FEW = 32  # strings that are faster to hash one by one
MANY_PROBES = 16  # after which hardly a string is left


@kernel
def hash_bytes(data: Bytes, start: int, end: int) -> int:
    """Return the quick hash of a string: FNV-1a with 32 bits, then mixed, since the low bits choose the slot."""
    h = 2166136261
    for i in range(start, end):
        h = ((h ^ int(data[i])) * 16777619) & LOW
    return h ^ (h >> 15)


@kernel
def hash_key(key: int) -> int:
    """Return the quick hash of a key."""
    h = ((key & LOW) * 1640531527) & LOW
    h = ((h ^ (key >> 32)) & LOW) * 1540483477
    return (h >> 16) & LOW


@kernel
def second_hash_bytes(data: Bytes, start: int, end: int, seed: int) -> int:
    """Return the polynomial whose coefficients are the bytes, at the seed: each seed has other collisions."""
    h = 1
    for i in range(start, end):
        h = (h * seed + int(data[i])) % PRIME
    return h


@kernel
def second_hash_key(key: int, seed: int) -> int:
    """Return the same for a key, in pieces of 31 bits."""
    h = (seed + (key & PRIME)) % PRIME
    h = (h * seed + ((key >> 31) & PRIME)) % PRIME
    return (h * seed + (key >> 62)) % PRIME


@kernel
def leap(hash: int) -> int:
    """Return how far a second hash leaps: an odd number, so that it reaches every slot."""
    return (hash >> 9) | 1


@kernel
def same_string(data: Bytes, start: int, end: int, blob: Bytes, offsets: Longs, string: int) -> bool:
    """Return whether data[start:end] is this string of a table."""
    at = offsets[string]
    if offsets[string + 1] - at != end - start:
        return False
    for i in range(end - start):
        if blob[at + i] != data[start + i]:
            return False
    return True


@kernel
def near_string(data: Bytes, start: int, end: int, blob: Bytes, offsets: Longs, slots: Ints) -> int:
    """Return the slot that holds this string, or the empty slot where it belongs, or -1 after PROBES other slots."""
    mask = len(slots) - 2
    slot = hash_bytes(data, start, end) & mask
    size = end - start
    for _ in range(PROBES):
        if slots[slot] == 0:
            return slot
        at = offsets[slots[slot] - 1]
        if offsets[slots[slot]] - at == size:
            same = True
            for i in range(size):
                if blob[at + i] != data[start + i]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask
    return -1


@kernel
def far_string(data: Bytes, start: int, end: int, blob: Bytes, offsets: Longs, slots: Ints) -> int:
    """Return the slot where the second hash leads, as `near_string` does."""
    mask = len(slots) - 2
    second = second_hash_bytes(data, start, end, int(slots[mask + 1]))
    slot = second & mask
    while slots[slot] != 0 and not same_string(data, start, end, blob, offsets, slots[slot] - 1):
        slot = (slot + leap(second)) & mask
    return slot


@kernel
def find_string(data: Bytes, start: int, end: int, blob: Bytes, offsets: Longs, slots: Ints) -> int:
    """Return the slot that holds this string, or the empty slot where it belongs.

    Loops over many strings call these two functions themselves: numba would not inline this one.
    """
    slot = near_string(data, start, end, blob, offsets, slots)
    if slot < 0:
        slot = far_string(data, start, end, blob, offsets, slots)
    return slot


@kernel
def look_up_strings(
    data: Bytes,
    starts: Ints,  # [strings]
    ends: Ints,  # [strings]
    blob: Bytes,
    offsets: Longs,
    slots: Ints,
    ids: Ints,  # [strings] out: the id, or -1
) -> int:
    """Find each string in a table; return how many are missing."""
    missing = 0
    for i in range(len(ids)):
        slot = near_string(data, starts[i], ends[i], blob, offsets, slots)
        if slot < 0:
            slot = far_string(data, starts[i], ends[i], blob, offsets, slots)
        ids[i] = slots[slot] - 1
        if ids[i] < 0:
            missing += 1
    return missing


@kernel
def intern_strings(
    data: Bytes,
    starts: Ints,  # [strings]
    ends: Ints,  # [strings]
    blob: Bytes,  # with room for all that may be new
    offsets: Longs,  # with room, offsets[count] is the end of the blob
    slots: Ints,  # with room
    count: int,
    ids: Ints,  # [strings] in: -1 where wanted; out: the id
) -> int:
    """Give an id to each string whose id is still -1, adding the new ones; return the new count."""
    for i in range(len(ids)):
        if ids[i] >= 0:
            continue
        slot = near_string(data, starts[i], ends[i], blob, offsets, slots)
        if slot < 0:
            slot = far_string(data, starts[i], ends[i], blob, offsets, slots)
        if slots[slot] == 0:
            at = offsets[count]
            for j in range(starts[i], ends[i]):
                blob[at] = data[j]
                at += 1
            count += 1
            offsets[count] = at
            slots[slot] = count
        ids[i] = slots[slot] - 1
    return count


@kernel
def rehash_strings(blob: Bytes, offsets: Longs, count: int, slots: Ints) -> None:
    """Fill empty slots with the first `count` strings."""
    for i in range(count):
        slots[find_string(blob, offsets[i], offsets[i + 1], blob, offsets, slots)] = i + 1


@kernel
def near_key(key: int, keys: Longs, slots: Ints, base: int, mask: int) -> int:
    """Return the slot from `base` on that holds this key, or the empty one where it belongs, or -1 after PROBES."""
    slot = hash_key(key) & mask
    for _ in range(PROBES):
        if slots[base + slot] == 0 or keys[slots[base + slot] - 1] == key:
            return base + slot
        slot = (slot + 1) & mask
    return -1


@kernel
def far_key(key: int, keys: Longs, slots: Ints, base: int, mask: int) -> int:
    """Return the slot where the second hash leads, as `near_key` does."""
    second = second_hash_key(key, int(slots[len(slots) - 1]))
    slot = second & mask
    while slots[base + slot] != 0 and keys[slots[base + slot] - 1] != key:
        slot = (slot + leap(second)) & mask
    return base + slot


@kernel
def find_key(key: int, keys: Longs, slots: Ints, base: int, mask: int) -> int:
    """Return the slot from `base` on that holds this key, or the empty one where it belongs."""
    slot = near_key(key, keys, slots, base, mask)
    if slot < 0:
        slot = far_key(key, keys, slots, base, mask)
    return slot


@kernel
def find_row(key: int, direct: bool, keys: Longs, slots: Ints, base: int, size: int) -> int:
    """Return the feature row of a key, or -1. In a direct table the key is the place."""
    if direct:
        return int(slots[base + key]) - 1
    slot = near_key(key, keys, slots, base, size - 1)
    if slot < 0:
        slot = far_key(key, keys, slots, base, size - 1)
    return int(slots[slot]) - 1


@kernel
def hash_rest(rest: int, seed: int) -> int:
    """Return the quick hash of a rest, or the second one if there is a seed."""
    if seed != 0:
        return second_hash_key(rest, seed)
    return hash_key(rest)


@kernel
def find_frozen(
    key: int,
    rest_bits: int,
    seed: int,  # 0: none
    buckets: Ints,  # row of the first key of each bucket, for all tables, one after the other
    base: int,  # where the buckets of this table begin
    mask: int,  # the number of its buckets, less one
    rests: Bytes,  # of all tables; see below
    origin: int,  # where the rest of row 0 would be, if row 0 were in this table
) -> int:
    """Return the row of a key in a frozen table, or -1.

    A rest takes some bytes. Each bucket has the first bytes of all its rests, then the second bytes, and so on.
    """
    rest = int(key) & ((1 << rest_bits) - 1)
    bucket = base + (((key >> rest_bits) ^ hash_rest(rest, seed)) & mask)
    first = int(buckets[bucket])
    size = int(buckets[bucket + 1]) - first
    width = (rest_bits + 7) >> 3
    spread = rest * ODD
    start = origin + width * first
    wanted = (spread >> (8 * width - 8)) & 255
    for i in range(size):
        if rests[start + i] == wanted:
            same = True
            for byte in range(1, width):
                if rests[start + byte * size + i] != (spread >> (8 * (width - byte) - 8)) & 255:
                    same = False
                    break
            if same:
                return first + i
    return -1


@kernel
def count_keys(
    wanted: Longs,  # [occurrences] keys, -1 where there is none
    keys: Longs,  # out: the distinct keys in the order they appear, with room
    counts: Ints,  # out: how often each occurs
    slots: Ints,  # empty, with room, and a seed
) -> int:
    """Collect the distinct keys; return their number."""
    mask = len(slots) - 2
    distinct = 0
    for i in range(len(wanted)):
        if wanted[i] < 0:
            continue
        slot = near_key(wanted[i], keys, slots, 0, mask)
        if slot < 0:
            slot = far_key(wanted[i], keys, slots, 0, mask)
        if slots[slot] == 0:
            keys[distinct] = wanted[i]
            counts[distinct] = 0
            distinct += 1
            slots[slot] = distinct
        counts[slots[slot] - 1] += 1
    return distinct


@kernel
def insert_rows(rows: Ints, keys: Longs, slots: Ints, base: int, mask: int) -> None:
    """Put feature rows into one table; `keys[row]` is the key of a row."""
    for row in rows:
        slot = near_key(keys[row], keys, slots, base, mask)
        if slot < 0:
            slot = far_key(keys[row], keys, slots, base, mask)
        slots[slot] = row + 1


@kernel
def add_keys(
    wanted: Longs,  # [occurrences]
    keys: Longs,  # with room, keys[row] is the key of a row
    count: int,  # rows so far
    direct: bool,
    slots: Ints,  # with room
    base: int,
    size: int,
) -> int:
    """Give a row to each key that has none in this table, in order; return the new number of rows."""
    for key in wanted:
        slot = base + key if direct else find_key(key, keys, slots, base, size - 1)
        if slots[slot] == 0:
            keys[count] = key
            count += 1
            slots[slot] = count
    return count


def new_slots(size: int, seed: int | None = None) -> Ints:
    """Return empty slots, `size` of them, and after them the seed; it is drawn if none is given."""
    slots = np.zeros(size + 1, np.int32)
    slots[size] = seed_from(os.urandom(8)) if seed is None else seed
    return slots


def seed_from(data: bytes | memoryview) -> int:
    """Return a seed that depends on all of these bytes, so that files are reproducible, but cannot be aimed at."""
    return LEAST_SEED + int.from_bytes(hashlib.sha256(data).digest()[:8], "little") % (PRIME - LEAST_SEED)


def slots_of_strings(blob: Bytes, offsets: Longs, size: int, seed: int | None = None) -> Ints:
    """Return slots for `find_string`; `size` is a power of two, at least twice the number of strings.

    All strings try their first slot at once; then those that found it taken try their second one, and so on.
    """
    slots = new_slots(size, seed)
    starts, lengths = offsets[:-1], np.diff(offsets)
    waiting = np.arange(len(lengths), dtype=np.int32) + np.int32(1)
    place, leap = hash_strings(blob, offsets) & (size - 1), np.ones(len(lengths), np.int64)
    probes = 0
    while len(waiting):
        free = slots[place] == 0
        slots[place[free]] = waiting[free]  # of several that try the same slot, one gets it
        left = slots[place] != waiting
        waiting, place, leap = waiting[left], place[left], leap[left]
        place = (place + leap) & (size - 1)
        probes += 1
        if probes == MANY_PROBES and MANY_PROBES * len(waiting) > len(lengths):  # a file may repeat a string
            first = np.sort(_first_of_equals(blob, starts[waiting - 1], lengths[waiting - 1]))
            waiting, place, leap = waiting[first], place[first], leap[first]
        if probes == PROBES:
            second = _hash_all(blob, starts[waiting - 1], lengths[waiting - 1], int(slots[size]))
            place, leap = second & (size - 1), (second >> 9) | 1
    return slots


def _first_of_equals(blob: Bytes, starts: Longs, lengths: Longs) -> Longs:
    """Return the places of distinct strings. With 62 random bits of hashes none is lost by chance."""
    left, right = (_hash_all(blob, starts, lengths, seed_from(os.urandom(8))) for _ in range(2))
    first: Longs = np.unique((left << 31) | right, return_index=True)[1]
    return first


def _order(numbers: Longs) -> Longs:
    """Return the result of `np.argsort`, in a third of the time, for numbers below 2**31."""
    both = (numbers << 32) | np.arange(len(numbers))
    both.sort()
    return both & LOW


def hash_strings(blob: Bytes, offsets: Longs) -> Longs:
    """Return `hash_bytes` of many strings."""
    h = _hash_all(blob, offsets[:-1], np.diff(offsets), None)
    return h ^ (h >> 15)


def _hash_all(blob: Bytes, starts: Longs, lengths: Longs, seed: int | None) -> Longs:
    """Return the second hashes of many strings for a seed; without one, the quick hashes before they are mixed."""
    order = _order(lengths)[::-1]  # longest first, so that the strings with a next byte are always at the front
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
    """Return `hash_rest` of many keys."""
    if seed:
        h = (seed + (keys & PRIME)) % PRIME
        h = (h * seed + ((keys >> 31) & PRIME)) % PRIME
        return (h * seed + (keys >> 62)) % PRIME
    h = ((keys & LOW) * 1640531527) & LOW
    h = ((h ^ (keys >> 32)) & LOW) * 1540483477
    return (h >> 16) & LOW
