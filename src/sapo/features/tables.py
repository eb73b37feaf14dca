"""Number features: open tables, which grow during training, and frozen ones, which take a few bytes per feature.

A feature is a key in the table of its template (see features/layout.py), and its row is the place of its weights. A
template with a single value has a direct table, in which the key is the place; others are hashed (features/hashing.py).

Open tables keep all keys, in the order of the rows, and slots that lead from a key to its row. Training makes them,
with the most frequent features first. Frozen tables give features new rows: table after table, and in each table in the
order in which features are stored. So a direct table needs only a bit for each value, and the row is the number of bits
before it; of a key with joined values only the part is stored that its bucket does not determine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapo import jit
from sapo.features.hashing import ODD, PRIME, hash_keys, insert_rows, new_slots, seed_from
from sapo.features.layout import FeatureLayout, FrozenBuckets, Tables, damaged
from sapo.features.strings import array_of, power_of_two, valid_offsets, within
from sapo.jit.arrays import Bytes, Ints, Longs, offsets_of

Features = tuple[Longs, Ints]  # keys and tables of features, in the order of their rows
INSERTION = 10  # pairs of labels that take as long as inserting a key (see `jit.prepare`)
BUCKET_LOAD = 4  # at most this many features per bucket on average: more would take longer
BUCKET_BYTES = 4
FULLEST = 200  # features that a bucket may have: by chance it never has more than about 30
INVERSE = pow(ODD, -1, 1 << 64)
MOST = 2**31 - 1  # rows are 32-bit numbers


@dataclass(frozen=True, slots=True)
class OpenTables:
    """The known features, in tables that can grow."""

    layout: FeatureLayout
    keys: Longs  # [features] the joined values of each feature
    edge_keys: Longs  # [edge features]
    slots: Ints  # all tables, one after the other, and a seed
    offsets: Longs  # [tables + 1] into slots

    @property
    def features(self) -> int:
        return len(self.keys)

    @property
    def edge_features(self) -> int:
        return len(self.edge_keys)

    def keys_of(self, rows: Longs, *, edges: bool) -> Longs:
        """Return the keys of some features."""
        return (self.edge_keys if edges else self.keys)[rows]

    def groups(self, *, edges: bool = False) -> Ints:
        """Return the table of each feature, or of each edge feature."""
        owner = np.zeros((self.edge_features if edges else self.features) + 1, np.int32)
        for table in self.layout.tables_of_kind(edges=edges):
            owner[self.slots[self.offsets[table] : self.offsets[table + 1]]] = table
        return owner[1:]

    def for_nodes(self) -> Tables:
        """Return the tables as kernels take them, to find features."""
        return Tables(self.keys, self.slots, self.offsets, nothing_frozen(len(self.offsets) - 1))

    def for_edges(self) -> Tables:
        """Return the same, to find edge features."""
        return self.for_nodes()._replace(keys=self.edge_keys)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a file keeps. The seed of the slots comes from the keys, so files are reproducible."""
        tables = make_tables(self.layout, *all_features(self), seed=seed_from(self.keys.data))
        arrays: dict[str, np.ndarray] = {
            "feature.keys": self.keys,
            "feature.slots": tables.slots[:-1],
            "feature.slot_offsets": tables.offsets,
        }
        if self.edge_features:
            arrays["edge_feature.keys"] = self.edge_keys
        return arrays

    @classmethod
    def from_arrays(cls, layout: FeatureLayout, arrays: Mapping[str, np.ndarray]) -> "OpenTables":
        """Return the tables of a file; raise ValueError or KeyError if its arrays do not fit together.

        The slots of a file only say which table each feature belongs to; the tables are filled again.
        """
        slots = array_of(arrays, "feature.slots", np.int32)
        offsets = array_of(arrays, "feature.slot_offsets", np.int64)
        if not valid_offsets(offsets, len(layout.tables), len(slots)):
            raise ValueError("feature tables")
        found = []
        for name, edges in (("feature.keys", False), ("edge_feature.keys", True)):
            keys = array_of(arrays, name, np.int64) if name in arrays or not edges else np.empty(0, np.int64)
            owner = np.full(len(keys), -1, np.int32)
            seen = 0
            for table in layout.tables_of_kind(edges=edges):
                part = slots[offsets[table] : offsets[table + 1]]
                rows = part[part != 0].astype(np.int64) - 1
                if not within(rows, len(keys)) or layout.direct_size(table) not in (None, len(part)):
                    raise ValueError("feature table")
                owner[rows] = table
                seen += len(rows)
            if seen != len(keys) or (owner < 0).any():  # each feature must be in one place
                raise ValueError("feature tables")
            # copies, because kernels have another compiled form for arrays that cannot be changed
            found.append((keys.copy(), owner))
        jit.prepare(pairs=INSERTION * sum(len(keys) for keys, _ in found))
        return make_tables(layout, found[0], found[1])


def make_tables(
    layout: FeatureLayout,
    nodes: Features,
    edges: Features,
    room: Sequence[int] | None = None,
    *,
    seed: int | None = None,
) -> OpenTables:
    """Return the tables of all features; `room` is for how many more features each hashed table has slots.

    Without a `seed` for the hashes, one is drawn. Raises SapoError if a key does not fit its table, or if two features
    have the same key: a model file may contain anything.
    """
    kinds = [nodes if table < layout.node_tables else edges for table in range(len(layout.tables))]
    rows_of = [np.flatnonzero(owner == table).astype(np.int32) for table, (_, owner) in enumerate(kinds)]
    direct = [layout.direct_size(table) for table in range(len(rows_of))]
    more = room or [0] * len(rows_of)
    sizes = [size or power_of_two(2 * (len(rows) + new)) for size, rows, new in zip(direct, rows_of, more, strict=True)]
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    slots = new_slots(int(offsets[-1]), seed)
    for table, rows in enumerate(rows_of):
        keys = kinds[table][0]
        base, end = offsets[table : table + 2].tolist()
        if not within(keys[rows], end - base if direct[table] is not None else 1 << layout.key_bits(table)):
            raise damaged()
        if direct[table] is not None:
            slots[base + keys[rows]] = rows + 1
        else:
            insert_rows(rows, keys, slots, base, end - base - 1)
        if np.count_nonzero(slots[base:end]) != len(rows):
            raise damaged()
    return OpenTables(layout, nodes[0], edges[0], slots, offsets)


def rekey(old: FeatureLayout, new: FeatureLayout, keys: Longs, owner: Ints) -> Longs:
    """Return the keys of the same values, joined with the bits of another layout."""
    result = np.zeros_like(keys)
    for table, template in enumerate(old.tables):
        mine = owner == table
        rest = keys[mine]
        joined = np.zeros_like(rest)
        shift = 0
        for atom in reversed(template.atoms):
            view = old.number[atom.view]
            joined |= (rest & ((1 << old.view_bits[view]) - 1)) << shift
            rest = rest >> old.view_bits[view]
            shift += new.view_bits[view]
        result[mine] = joined
    return result


def nothing_frozen(count: int) -> FrozenBuckets:
    """Return frozen tables without features; read-only, as all frozen tables are, so that kernels are compiled once."""
    buckets, rests = np.empty(0, np.int32), np.empty(0, np.uint8)
    buckets.flags.writeable = rests.flags.writeable = False
    none = np.zeros(count, np.int64)
    return FrozenBuckets(np.zeros(count, np.int32), buckets, np.zeros(count + 1, np.int64), rests, none, none)


@dataclass(frozen=True, slots=True)
class FrozenTables:
    """The known features of a model, in tables that cannot grow."""

    layout: FeatureLayout
    counts: Longs  # [tables] features of each table
    slots: Ints  # of direct tables, one after the other: row + 1, or 0
    offsets: Longs  # [tables + 1] into slots
    frozen: FrozenBuckets  # the other tables

    @property
    def features(self) -> int:
        return int(self.counts[: self.layout.node_tables].sum())

    @property
    def edge_features(self) -> int:
        return int(self.counts[self.layout.node_tables :].sum())

    @property
    def keys(self) -> Longs:
        """The joined values of each feature."""
        return self.keys_of(np.arange(self.features), edges=False)

    @property
    def edge_keys(self) -> Longs:
        """The joined values of each edge feature."""
        return self.keys_of(np.arange(self.edge_features), edges=True)

    def groups(self, *, edges: bool = False) -> Ints:
        """Return the table of each feature, or of each edge feature."""
        tables = self.layout.tables_of_kind(edges=edges)
        return np.repeat(np.array(tables, np.int32), self.counts[tables.start : tables.stop])

    def keys_of(self, rows: Longs, *, edges: bool) -> Longs:
        """Return the keys of some features."""
        keys = np.zeros(len(rows), np.int64)
        firsts = first_rows(self.layout, self.counts)
        for table in self.layout.tables_of_kind(edges=edges):
            mine = np.flatnonzero((rows >= firsts[table]) & (rows < firsts[table] + self.counts[table]))
            if len(mine):
                keys[mine] = self._keys_in(table, rows[mine], int(firsts[table]))
        return keys

    def _keys_in(self, table: int, rows: Longs, first: int) -> Longs:
        """Return the keys of some features of one table."""
        bits = int(self.frozen.rest_bits[table])
        if not bits:
            slots = self.slots[self.offsets[table] : self.offsets[table + 1]]
            return np.flatnonzero(slots)[rows - first]
        buckets = self.frozen.buckets[self.frozen.offsets[table] : self.frozen.offsets[table + 1]]
        bucket = np.searchsorted(buckets, rows, side="right") - 1
        begin, size = buckets[bucket].astype(np.int64), np.diff(buckets)[bucket].astype(np.int64)
        width = rest_width(bits)
        spread = np.zeros(len(rows), np.uint64)
        for byte in range(width):
            place = self.frozen.origins[table] + width * begin + byte * size + (rows - begin)
            spread = (spread << np.uint64(8)) | self.frozen.rests[place]
        rest = (spread * np.uint64(INVERSE) & np.uint64((1 << bits) - 1)).astype(np.int64)
        hashes = hash_keys(rest, int(self.frozen.seeds[table]))
        return ((bucket ^ (hashes & (len(buckets) - 2))) << bits) | rest

    def for_nodes(self) -> Tables:
        """Return the tables as kernels take them, to find features."""
        return Tables(np.empty(0, np.int64), self.slots, self.offsets, self.frozen)

    def for_edges(self) -> Tables:
        """Return the same, to find edge features."""
        return self.for_nodes()

    def opened(self) -> OpenTables:
        """Return the same features, with the same rows, in tables that can grow."""
        return make_tables(self.layout, *all_features(self))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps."""
        sizes = np.diff(self.frozen.offsets)
        seeds = self.frozen.seeds
        return {
            **({"feature.seeds": seeds} if seeds.any() else {}),
            "feature.counts": self.counts.astype(np.int32),
            "feature.bucket_bits": np.array([bucket_bits(size) for size in sizes.tolist()], np.uint8),
            "feature.direct": np.packbits(self.slots > 0),
            "feature.buckets": self.frozen.buckets,
            "feature.rests": self.frozen.rests,
        }

    @classmethod
    def from_arrays(cls, layout: FeatureLayout, arrays: Mapping[str, np.ndarray]) -> "FrozenTables":
        """Return the tables of a model file; raise ValueError or KeyError if its arrays do not fit together."""
        counts = array_of(arrays, "feature.counts", np.int32).astype(np.int64)
        bits = array_of(arrays, "feature.bucket_bits", np.uint8)
        packed = array_of(arrays, "feature.direct", np.uint8)
        buckets = array_of(arrays, "feature.buckets", np.int32)
        rests = array_of(arrays, "feature.rests", np.uint8)
        seeds = np.zeros(len(counts), np.int64)
        if "feature.seeds" in arrays:
            seeds = array_of(arrays, "feature.seeds", np.int64).copy()
        nodes = layout.node_tables
        if not (
            len(counts) == len(bits) == len(seeds) == len(layout.tables)
            and within(seeds, PRIME)
            and (counts >= 0).all()
            and max(counts[:nodes].sum(), counts[nodes:].sum()) <= MOST
        ):
            raise ValueError("feature.counts")
        direct = [layout.direct_size(table) for table in range(len(counts))]
        if any(
            bits[table] if size is not None else bits[table] >= min(layout.key_bits(table), 31)
            for table, size in enumerate(direct)
        ):
            raise ValueError("feature.bucket_bits")
        bucket_counts = [0 if size is not None else (1 << int(bits[t])) + 1 for t, size in enumerate(direct)]
        frozen = _place(layout, counts, bucket_counts, buckets, rests, seeds)
        firsts = first_rows(layout, counts).tolist()
        if len(buckets) != frozen.offsets[-1] or len(rests) != (_widths(frozen.rest_bits) * counts).sum():
            raise ValueError("feature tables")
        offsets = np.cumsum([0, *(size or 0 for size in direct)], dtype=np.int64)
        if len(packed) != (offsets[-1] + 7) // 8:
            raise ValueError("direct feature table")
        slots = np.unpackbits(packed, count=int(offsets[-1])).astype(np.int32)
        for table, (first, count) in enumerate(zip(firsts, counts.tolist(), strict=True)):
            if direct[table] is None:
                mine = buckets[frozen.offsets[table] : frozen.offsets[table + 1]]
                if not valid_offsets(mine, bucket_counts[table] - 1, first + count, first):
                    raise ValueError("feature table")
                if fullest(mine) > FULLEST:  # each look-up would take long
                    raise ValueError("bucket of features")
            else:
                known = slots[offsets[table] : offsets[table + 1]]
                rows = np.cumsum(known, dtype=np.int32)
                if rows[-1] != count:
                    raise ValueError("direct feature table")
                known *= rows + np.int32(first)
        return cls(layout, counts, slots, offsets, frozen)


def all_features(tables: OpenTables | FrozenTables) -> tuple[Features, Features]:
    """Return keys and tables of all features, and of all edge features."""
    return (tables.keys, tables.groups()), (tables.edge_keys, tables.groups(edges=True))


def freeze_tables(layout: FeatureLayout, nodes: Features, edges: Features) -> tuple[FrozenTables, Longs, Longs]:
    """Return frozen tables of features, and which of the features and edge features each row is."""
    kinds = [nodes if table < layout.node_tables else edges for table in range(len(layout.tables))]
    order = [np.flatnonzero(owner == table) for table, (_, owner) in enumerate(kinds)]
    counts = np.array([len(rows) for rows in order], np.int64)
    firsts = first_rows(layout, counts).tolist()
    direct = [layout.direct_size(table) for table in range(len(kinds))]
    offsets = np.cumsum([0, *(size or 0 for size in direct)], dtype=np.int64)
    slots = np.zeros(offsets[-1], np.int32)
    buckets, rests = [np.empty(0, np.int32)], [np.empty(0, np.uint8)]
    bucket_counts = [0] * len(kinds)
    seeds = np.zeros(len(kinds), np.int64)
    for table, rows in enumerate(order):
        keys = kinds[table][0][rows]
        if direct[table] is not None:
            places = np.argsort(keys)
            slots[offsets[table] + keys[places]] = np.arange(firsts[table] + 1, firsts[table] + 1 + len(rows))
        else:
            bits = layout.key_bits(table)
            chosen = best_bucket_bits(bits, len(keys))
            places, ends, stored = _in_buckets(keys, bits, chosen)
            while fullest(ends) > FULLEST:  # hostile keys, which cannot be bad for all seeds
                if len(np.unique(keys)) < len(keys):
                    raise damaged()
                seeds[table] = seed_from(np.append(keys, seeds[table]).data)
                places, ends, stored = _in_buckets(keys, bits, chosen, int(seeds[table]))
            buckets.append((firsts[table] + ends).astype(np.int32))
            rests.append(stored)
            bucket_counts[table] = len(ends)
        order[table] = rows[places]
    whole = _place(layout, counts, bucket_counts, np.concatenate(buckets), np.concatenate(rests), seeds)
    whole.buckets.flags.writeable = whole.rests.flags.writeable = False  # as those of a file
    none = [np.empty(0, np.int64)]
    node_order = np.concatenate(none + order[: layout.node_tables])
    edge_order = np.concatenate(none + order[layout.node_tables :])
    return FrozenTables(layout, counts, slots, offsets, whole), node_order, edge_order


def fullest(ends: Longs | Ints) -> int:
    """Return how many features the fullest bucket has; `ends` begins with the start of the first bucket."""
    return int(np.diff(ends).max(initial=0))


def _in_buckets(keys: Longs, bits: int, bucket_bits: int, seed: int = 0) -> tuple[Longs, Longs, Bytes]:
    """Return the order in which keys are stored, where each bucket ends (and 0), and the bytes of the rests."""
    rest_bits = bits - bucket_bits
    width = rest_width(rest_bits)
    rests = keys & ((1 << rest_bits) - 1)
    bucket = (keys >> rest_bits) ^ (hash_keys(rests, seed) & ((1 << bucket_bits) - 1))
    order = np.argsort(bucket, kind="stable")  # in a bucket, frequent features stay first
    sizes = np.bincount(bucket, minlength=1 << bucket_bits)
    ends = offsets_of(sizes)
    bucket, spread = bucket[order], rests[order].astype(np.uint64) * np.uint64(ODD)
    begin = ends[bucket]
    stored = np.empty(width * len(keys), np.uint8)
    for byte in range(width):
        places = width * begin + byte * sizes[bucket] + (np.arange(len(keys)) - begin)
        stored[places] = (spread >> np.uint64(8 * (width - byte) - 8)).astype(np.uint8)
    return order, ends, stored


def _place(
    layout: FeatureLayout, counts: Longs, bucket_counts: list[int], buckets: Ints, rests: Bytes, seeds: Longs
) -> FrozenBuckets:
    """Return the tables as kernels take them; a table without buckets is a direct one."""
    rest_bits = np.zeros(len(counts), np.int32)
    for table, size in enumerate(bucket_counts):
        if size:
            rest_bits[table] = layout.key_bits(table) - bucket_bits(size)
    widths = _widths(rest_bits)
    starts = np.cumsum(widths * counts) - widths * counts
    offsets = np.cumsum([0, *bucket_counts], dtype=np.int64)
    return FrozenBuckets(rest_bits, buckets, offsets, rests, starts - widths * first_rows(layout, counts), seeds)


def _widths(rest_bits: Ints) -> Longs:
    return np.array([rest_width(bits) for bits in rest_bits.tolist()], np.int64)


def first_rows(layout: FeatureLayout, counts: Longs) -> Longs:
    """Return the first row of each table; those of edge features begin at 0 again."""
    nodes = layout.node_tables
    return np.concatenate([np.cumsum(part) - part for part in (counts[:nodes], counts[nodes:])])


def best_bucket_bits(bits: int, features: int) -> int:
    """Return how many bits of a key should choose its bucket, so that the table is small.

    More bits make more buckets, but can save a byte of each rest.
    """
    fewest = max(0, (features // BUCKET_LOAD).bit_length())

    def size(chosen: int) -> int:
        return BUCKET_BYTES * (1 << chosen) + rest_width(bits - chosen) * features

    return min((min(chosen, bits - 1, 30) for chosen in range(fewest, fewest + 3)), key=size)


def bucket_bits(buckets: int) -> int:
    """Return how many bits choose one of the buckets, of which there are a power of two, and one more at the end."""
    return max(0, buckets - 2).bit_length()


def rest_width(bits: int) -> int:
    """Return how many bytes a rest of this many bits takes."""
    return (bits + 7) // 8
