"""Map byte strings and integer keys to dense ids with hash tables, compiled or not.

An open-addressing table can grow. It is an array of slots, a power of two of them and never more than half full. A slot
holds id + 1, or 0 where it is empty. What the id stands for lies in the payload (bytes and offsets, or keys); a hit is
always compared with it, for a hash is not an identity. A quick hash, which everybody can compute, chooses the first
slot. Hostile data may hold many strings with the same one: so after PROBES slots a second hash chooses where to go on,
and how far to leap. It depends on the seed in the last place of the array, which is drawn when the table is made.
Nobody can find many strings that meet again without knowing it: two of n bytes do so with a chance of n / PRIME. Ids
do not depend on it.

A frozen table is small. A key is cut in two: its low bits are the rest; the bits above, changed by a hash of the rest,
are the number of a bucket. Keys are stored in the order of their buckets, and the place of a key is its id. Rest and
bucket give the key back, so that only the rest is stored, and a hit is exact. Where the quick hash would fill a bucket
with too many keys, the table has a seed, and uses the second hash.

All arithmetic stays below 2**63, so that interpreted and compiled kernels agree without relying on overflow. The one
exception is `ODD * rest`, of which only bytes below 2**64 are used: those are the same with overflow and without.

A model file has no slots of strings. They are made when it is read, often before any kernel is compiled: an
interpreted kernel would take a hundred times as long as these array operations.
"""

import hashlib
import os

import numpy as np

from sapo.jit import kernel
from sapo.jit.arrays import Bytes, Ints, Longs

LOW = 0xFFFFFFFF
PROBES = 128  # with a good hash, a table of 10 million that is half full never needs as many
PRIME = 2**31 - 1
ODD = 0x1E3779B97F4A7C15  # spreads a rest over its bytes; odd, so that it can be undone


@kernel
def hash_bytes(data: Bytes, start: int, end: int) -> int:
    """FNV-1a over 32 bits, then mixed, since the low bits choose the slot."""
    h = 2166136261
    for i in range(start, end):
        h = ((h ^ int(data[i])) * 16777619) & LOW
    return h ^ (h >> 15)


@kernel
def hash_key(key: int) -> int:
    h = ((key & LOW) * 1640531527) & LOW
    h = ((h ^ (key >> 32)) & LOW) * 1540483477
    return (h >> 16) & LOW


@kernel
def second_hash_bytes(data: Bytes, start: int, end: int, seed: int) -> int:
    """A polynomial with the bytes as coefficients, at the seed: another seed, other strings that collide."""
    h = 1
    for i in range(start, end):
        h = (h * seed + int(data[i])) % PRIME
    return h


@kernel
def second_hash_key(key: int, seed: int) -> int:
    """The same for the key in pieces of 31 bits."""
    h = (seed + (key & PRIME)) % PRIME
    h = (h * seed + ((key >> 31) & PRIME)) % PRIME
    return (h * seed + (key >> 62)) % PRIME


@kernel
def leap(hash: int) -> int:
    """How far a second hash leaps: an odd number, so that it comes to every slot."""
    return (hash >> 9) | 1


@kernel
def same_string(data: Bytes, start: int, end: int, blob: Bytes, offsets: Longs, string: int) -> bool:
    at = offsets[string]
    if offsets[string + 1] - at != end - start:
        return False
    for i in range(end - start):
        if blob[at + i] != data[start + i]:
            return False
    return True


@kernel
def near_string(data: Bytes, start: int, end: int, blob: Bytes, offsets: Longs, slots: Ints) -> int:
    """Return the slot that holds this string, or the empty slot where it belongs, or -1 if neither is near."""
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

    Loops over many strings call the two themselves: this would be too long to be compiled into them.
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
    """Find each string in a table; return how many were not there."""
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
    """Return the slot (of those from `base` on) that holds this key, or the empty one, or -1 if neither is near."""
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
    """Return the slot (of those from `base` on) that holds this key, or the empty one where it belongs."""
    slot = near_key(key, keys, slots, base, mask)
    if slot < 0:
        slot = far_key(key, keys, slots, base, mask)
    return slot


@kernel
def find_row(key: int, direct: bool, keys: Longs, slots: Ints, base: int, size: int) -> int:
    """The feature row of a key, or -1. In a direct table the key is the place."""
    if direct:
        return int(slots[base + key]) - 1
    slot = near_key(key, keys, slots, base, size - 1)
    if slot < 0:
        slot = far_key(key, keys, slots, base, size - 1)
    return int(slots[slot]) - 1


@kernel
def hash_rest(rest: int, seed: int) -> int:
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
    """The row of a key in a frozen table, or -1.

    A rest takes some bytes. In each bucket come the first bytes of all its rests, then the second ones, and so on.
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
    """Give a row to each key that has none in this table, in the order they come; return the new number of rows."""
    for key in wanted:
        slot = base + key if direct else find_key(key, keys, slots, base, size - 1)
        if slots[slot] == 0:
            keys[count] = key
            count += 1
            slots[slot] = count
    return count


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
    """Return slots that `find_string` of features/hashing.py can use; `size` is a power of two, and enough of them.

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
    """Return `hash_bytes` of features/hashing.py of many strings."""
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
    """Return `hash_rest` of features/hashing.py of many keys."""
    if seed:
        h = (seed + (keys & PRIME)) % PRIME
        h = (h * seed + ((keys >> 31) & PRIME)) % PRIME
        return (h * seed + (keys >> 62)) % PRIME
    h = ((keys & LOW) * 1640531527) & LOW
    h = ((h ^ (keys >> 32)) & LOW) * 1540483477
    return (h >> 16) & LOW
