"""Search the n best segmentations of a sentence: the kernels of benchmarks/segments.py.

A segmentation is a sequence of spans with a type, and of tokens outside of them. Its n best are found by a dynamic
program over the end and the type of the last segment (Sarawagi and Cohen 2004). Features see the tokens of a segment,
with their BIOES positions, pairs of types, and if wanted the segment as a whole.

This is not the file that is run: kernels of `__main__` would be loaded from the cache again at each call.
"""

from typing import NamedTuple

import numpy as np

from sapo.jit import compile_kernels, inlined, kernel
from sapo.jit.arrays import Doubles, Floats, Ints, Longs, Shorts
from sapo.search.transitions import ALL_BITS, BITS, code_of

TEMPLATES = 16
TEMPLATE_CODES = tuple(code_of("segment", str(t)) for t in range(TEMPLATES))
NUMBER_CODES = tuple(code_of("number", str(i)) for i in range(32))
LOWER, NORMAL, SHAPE, SUFFIX, BRACKETS = range(5)  # columns of the codes of a token
STEPS = 1 << 16

compile_kernels()


class Codes(NamedTuple):
    """What the features of whole segments look at; row t + 1 is that of token t, and sentences are a row apart."""

    words: Longs  # [rows, 5] codes; BRACKETS has +1 and -1 for those that open and close
    seen: Ints  # [rows, longest, types] how often the string that begins here was seen as an entity, in classes
    noise: Longs  # [rows] random bits of this epoch; empty if nothing is hidden
    limits: Shorts  # [hashes] below which a feature is hidden


class Layout(NamedTuple):
    """Where weights are: those of token features and labels, of pairs of types, of what was seen, and of hashes."""

    types: int  # without O, which is type 0
    longest: int  # of the spans
    pairs: int
    seen: int
    hashes: int
    mask: int  # of the bits of a hash that are used
    whole: int  # a bit for each template of whole segments, and the next one for what was seen; 0 if there are none
    value: float  # of the features of whole segments; those of others are 1


@kernel
@inlined
def label_of(type: int, place: int, length: int) -> int:
    """Return the label of a token: O, or the type with B, I, E or S."""
    if type == 0:
        return 0
    letter = 3 if length == 1 else 0 if place == 0 else 2 if place == length - 1 else 1
    return 4 * (type - 1) + 1 + letter


@kernel
@inlined
def turned(code: int, by: int) -> int:
    """Rotate a code, so that the same word at two places gives two codes."""
    return ((code << by) & ALL_BITS) | (code >> (BITS - by))


@kernel
def offer(value: float, start: int, before: int, rank: int, scores: Doubles, backs: Longs) -> None:
    """Put a value in its place among the best ones."""
    k = len(scores) - 1
    if value <= scores[k]:
        return
    while k > 0 and scores[k - 1] < value:
        scores[k] = scores[k - 1]
        backs[k] = backs[k - 1]
        k -= 1
    scores[k] = value
    backs[k, 0] = start
    backs[k, 1] = before
    backs[k, 2] = rank


@kernel
def best_segmentations(outside: Doubles, spans: Doubles, pairs: Doubles, n: int) -> tuple[Longs, Longs, Doubles]:
    """Return the parts of the n best segmentations, where those of each begin, and their scores.

    `outside` [tokens] has the scores of O, `spans` [tokens, longest, types] those of the span of each length and type
    that begins at a token, and `pairs` those of a type after another. A part is a start, a length, a type, and the type
    before, as one number (see `part_of`).

        opened[i, y] = the n best of best[i, y'] + pairs[y', y]            over y'
        best[e, y]   = the n best of opened[i, y] + score of (i, e, y)     over i; i = e - 1 for O
    """
    T, longest, Y = spans.shape
    best = np.full((T + 1, Y + 1, n), -np.inf)
    opened = np.full((T + 1, Y + 1, n), -np.inf)
    back = np.zeros((T + 1, Y + 1, n, 3), np.int64)
    came = np.zeros((T + 1, Y + 1, n, 3), np.int64)
    best[0, 0, 0] = 0.0  # what begins a sentence follows O
    for end in range(T + 1):
        for y in range(Y + 1):
            for length in range(1, (min(longest, end) if y > 0 else min(1, end)) + 1):
                i = end - length
                score = spans[i, length - 1, y - 1] if y > 0 else outside[i]
                for k in range(n):
                    if opened[i, y, k] + score <= best[end, y, n - 1]:
                        break
                    offer(opened[i, y, k] + score, i, 0, k, best[end, y], back[end, y])
        for y in range(Y + 1):
            for before in range(Y + 1):
                for k in range(n):
                    if best[end, before, k] + pairs[before, y] <= opened[end, y, n - 1]:
                        break
                    offer(best[end, before, k] + pairs[before, y], end, before, k, opened[end, y], came[end, y])
    scores = np.full(n, -np.inf)
    ends = np.zeros((n, 3), np.int64)
    for y in range(Y + 1):
        for k in range(n):
            offer(best[T, y, k], T, y, k, scores, ends)
    found = 0
    while found < n and scores[found] > -np.inf:
        found += 1
    parts = np.empty(found * T, np.int64)
    offsets = np.zeros(found + 1, np.int64)
    used = 0
    for k in range(found):
        end, y, rank = T, ends[k, 1], ends[k, 2]
        while end > 0:
            start, at = back[end, y, rank, 0], back[end, y, rank, 2]
            before = came[start, y, at, 1]
            parts[used] = part_of(start, end - start, y, before, longest, Y)
            rank = came[start, y, at, 2]
            y = before
            end = start
            used += 1
        offsets[k + 1] = used
    return parts[:used], offsets, scores[:found]


@kernel
@inlined
def part_of(start: int, length: int, type: int, before: int, longest: int, types: int) -> int:
    """Return a part as one number."""
    return ((start * (longest + 1) + length) * (types + 1) + type) * (types + 1) + before


@kernel
def hash_segment(row: int, length: int, codes: Codes, whole: int, mask: int, hashes: Longs) -> int:
    """Write the hashes of the features of a segment that are not hidden; return how many there are."""
    words = codes.words
    last = row + length - 1
    text, normal, shapes, balance, closed = 0, 0, 0, 0, 0
    for t in range(row, row + length):
        text = turned(text, 7) ^ words[t, LOWER]
        normal = turned(normal, 7) ^ words[t, NORMAL]
        shapes = turned(shapes, 7) ^ words[t, SHAPE]
        balance += words[t, BRACKETS]
        if balance < 0:
            closed = 1
    many = NUMBER_CODES[min(length, 31)]
    before, after = words[row - 1, NORMAL], words[last + 1, NORMAL]
    hashes[0] = text
    hashes[1] = normal
    hashes[2] = shapes
    hashes[3] = many
    hashes[4] = turned(words[row, NORMAL], 1) ^ turned(words[last, NORMAL], 2) ^ many
    hashes[5] = turned(words[row, SHAPE], 1) ^ turned(words[last, SHAPE], 2) ^ many
    hashes[6] = turned(before, 1) ^ turned(after, 2)
    hashes[7] = turned(before, 1) ^ turned(after, 2) ^ many
    hashes[8] = turned(before, 1) ^ turned(words[row, SUFFIX], 2)
    hashes[9] = turned(words[last, SUFFIX], 1) ^ turned(after, 2)
    hashes[10] = words[last, NORMAL] ^ many
    hashes[11] = words[last, SUFFIX] ^ many
    hashes[12] = turned(words[row, SUFFIX], 1) ^ turned(words[last, SUFFIX], 2) ^ many
    hashes[13] = turned(words[row - 1, SHAPE], 1) ^ turned(words[last + 1, SHAPE], 2) ^ shapes
    hashes[14] = NUMBER_CODES[min(max(balance, -5), 5) + 5 + 11 * closed]
    hashes[15] = turned(words[last - 1, NORMAL], 1) ^ words[last, NORMAL] if length > 1 else 1
    kept = 0
    for t in range(TEMPLATES):
        if not whole >> t & 1:
            continue
        code = turned(hashes[t] ^ TEMPLATE_CODES[t], 13) ^ (hashes[t] >> 31)
        noise = code ^ turned(codes.noise[row], length) if len(codes.noise) else 0
        if len(codes.noise) == 0 or (noise >> 40) % STEPS >= codes.limits[code & mask]:
            hashes[kept] = code & mask
            kept += 1
    return kept


@kernel
def count_hashes(rows: Longs, ends: Longs, codes: Codes, layout: Layout) -> Longs:
    """Return how often each hash occurs among the segments of sentences that are in the rows from one to another."""
    counts = np.zeros(layout.mask + 1, np.int64)
    hashes = np.empty(TEMPLATES, np.int64)
    for s in range(len(rows)):
        for row in range(rows[s], ends[s]):
            for length in range(1, min(layout.longest, ends[s] - row) + 1):
                for t in range(hash_segment(row, length, codes, layout.whole, layout.mask, hashes)):
                    counts[hashes[t]] += 1
    return counts


@kernel
def score_segments(
    first: int,
    last: int,
    row: int,
    row_offsets: Longs,
    rows: Ints,
    codes: Codes,
    layout: Layout,
    v: Floats,
    scale: float,
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the scores of the tokens outside of spans, of all spans, and of pairs, for `best_segmentations`."""
    T, Y, longest = last - first, layout.types, layout.longest
    labels = 4 * Y + 1
    nodes = np.zeros((T, labels), np.float32)
    for t in range(T):
        for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
            at = rows[i] * labels
            for label in range(labels):
                nodes[t, label] += v[at + label]
    spans = np.full((T, longest, Y), -np.inf)
    hashes = np.empty(TEMPLATES, np.int64)
    sums = np.empty(Y, np.float32)
    inside = np.empty(Y)
    for start in range(T):
        inside[:] = 0.0
        for length in range(1, min(longest, T - start) + 1):
            sums[:] = 0.0
            if layout.whole:
                for h in range(hash_segment(row + start, length, codes, layout.whole, layout.mask, hashes)):
                    at = layout.hashes + hashes[h]
                    for y in range(Y):
                        sums[y] += v[at + y]
                for y in range(Y if layout.whole >> TEMPLATES else 0):
                    sums[y] += v[layout.seen + codes.seen[row + start, length - 1, y] * Y + y]
            for y in range(Y):
                end = start + length - 1
                tokens = inside[y] + nodes[end, label_of(y + 1, length - 1, length)]
                spans[start, length - 1, y] = scale * (tokens + layout.value * sums[y])
                inside[y] += nodes[end, label_of(y + 1, length - 1, length + 1)]
    pairs = np.empty((Y + 1, Y + 1))
    for y in range(Y + 1):
        for z in range(Y + 1):
            pairs[y, z] = scale * v[layout.pairs + y * (Y + 1) + z]
    return scale * nodes[:, 0].astype(np.float64), spans, pairs


@kernel
def segment_rows(
    parts: Longs, first: int, row: int, row_offsets: Longs, rows: Ints, codes: Codes, layout: Layout
) -> tuple[Longs, Longs, Floats]:
    """Return which weights the parts of a sample have, where those of each begin, and the values of the features."""
    Y, longest = layout.types, layout.longest
    labels = 4 * Y + 1
    offsets = np.zeros(len(parts) + 1, np.int64)
    hashes = np.empty(TEMPLATES, np.int64)
    for p in range(len(parts)):
        place = parts[p] // (Y + 1) // (Y + 1)
        start, length = first + place // (longest + 1), place % (longest + 1)
        offsets[p + 1] = offsets[p] + row_offsets[start + length] - row_offsets[start] + TEMPLATES + 2
    found = np.empty(offsets[-1], np.int64)
    values = np.ones(offsets[-1], np.float32)
    used = 0
    for p in range(len(parts)):
        before, y = parts[p] % (Y + 1), parts[p] // (Y + 1) % (Y + 1)
        place = parts[p] // (Y + 1) // (Y + 1)
        start, length = place // (longest + 1), place % (longest + 1)
        for t in range(length):
            for i in range(row_offsets[first + start + t], row_offsets[first + start + t + 1]):
                found[used] = rows[i] * labels + label_of(y, t, length)
                used += 1
        found[used] = layout.pairs + before * (Y + 1) + y
        used += 1
        if y > 0:
            for h in range(hash_segment(row + start, length, codes, layout.whole, layout.mask, hashes)):
                found[used] = layout.hashes + hashes[h] + y - 1
                values[used] = layout.value
                used += 1
        if y > 0 and layout.whole >> TEMPLATES:
            values[used] = layout.value
            found[used] = layout.seen + codes.seen[row + start, length - 1, y - 1] * Y + y - 1
            used += 1
        offsets[p + 1] = used
    return found[:used], offsets, values[:used]


def layout_of(features: int, types: int, longest: int, classes: int, bits: int, whole: int, value: float) -> Layout:
    """Return where the weights of a model are."""
    pairs = features * (4 * types + 1)
    seen = pairs + (types + 1) ** 2
    return Layout(types, longest, pairs, seen, seen + classes * types, (1 << bits) - 1, whole, value)
