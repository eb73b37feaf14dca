"""Tables of features that can grow: direct for a single value, with open addressing for joined ones.

Training makes them, with the most frequent features first. See kernels/tables.py.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sapo.encode.layout import Layout, damaged
from sapo.encode.slots import hash_keys, new_slots, seed_from
from sapo.encode.strings import array_of, power_of_two, valid_offsets, within
from sapo.kernels import tables
from sapo.kernels.features import Frozen, Tables
from sapo.kernels.types import Ints, Longs

AT_ONCE = 1 << 20  # slots that are looked at
Features = tuple[Longs, Ints]  # keys and tables of features, in the order of their rows


@dataclass(frozen=True, slots=True)
class OpenTables:
    """The known features, and where to find them."""

    node_tables: int  # the other tables are those of edge features
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

    def groups(self) -> Ints:
        """Return the table of each feature."""
        return self._owners(self.features, range(self.node_tables))

    def edge_groups(self) -> Ints:
        """Return the table of each edge feature."""
        return self._owners(self.edge_features, range(self.node_tables, len(self.offsets) - 1))

    def _owners(self, features: int, numbers: range) -> Ints:
        owner = np.zeros(features + 1, np.int32)
        for table in numbers:
            owner[self.slots[self.offsets[table] : self.offsets[table + 1]]] = table
        return owner[1:]

    def for_nodes(self) -> Tables:
        """Return the tables as kernels take them, to find features."""
        return Tables(self.keys, self.slots, self.offsets, nothing_frozen(len(self.offsets) - 1))

    def for_edges(self) -> Tables:
        """Return the same, to find edge features."""
        return self.for_nodes()._replace(keys=self.edge_keys)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps."""
        arrays: dict[str, np.ndarray] = {
            "feature.keys": self.keys,
            "feature.slots": self._public_slots(),
            "feature.slot_offsets": self.offsets,
        }
        if self.edge_features:
            arrays["edge_feature.keys"] = self.edge_keys
        return arrays

    def _public_slots(self) -> Ints:
        """Return slots that do not depend on a seed that was drawn: a file is the same each time."""
        crowded = self._crowded()
        return (self._filled_anew(crowded, seed_from(self.keys.data)) if crowded else self.slots)[:-1]

    def _crowded(self) -> list[int]:
        """Return the tables in which the seed was used."""
        found = []
        for table, (a, b) in enumerate(itertools.pairwise(self.offsets.tolist())):
            keys = self.keys if table < self.node_tables else self.edge_keys
            for start in range(a, b, AT_ONCE):  # there may be millions
                part = self.slots[start : min(b, start + AT_ONCE)]
                places = np.flatnonzero(part)
                mine = keys[part[places] - 1]
                places += start - a
                # in a direct table each key is its place
                if ((places != mine) & ((places - hash_keys(mine)) & (b - a - 1) >= tables.PROBES)).any():
                    found.append(table)
                    break
        return found

    def _filled_anew(self, crowded: Sequence[int], seed: int | None) -> Ints:
        """Return slots for another seed, drawn if there is none, in which these tables are filled anew."""
        slots = new_slots(len(self.slots) - 1, seed)
        slots[:-1] = self.slots[:-1]
        for table in crowded:
            a, b = self.offsets[table : table + 2].tolist()
            rows = np.sort(slots[a:b][slots[a:b] > 0]) - np.int32(1)
            slots[a:b] = 0
            keys = self.keys if table < self.node_tables else self.edge_keys
            tables.insert_rows(rows, keys, slots, a, b - a - 1)
        return slots

    @classmethod
    def from_arrays(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "OpenTables":
        """Return the tables of a model file; raise ValueError or KeyError if its arrays do not fit together."""
        keys = array_of(arrays, "feature.keys", np.int64)
        slots = array_of(arrays, "feature.slots", np.int32)
        offsets = array_of(arrays, "feature.slot_offsets", np.int64)
        if not (valid_offsets(offsets, len(layout.tables), len(slots)) and (keys >= 0).all()):
            raise ValueError("feature tables")
        edge_keys = np.empty(0, np.int64)
        if "edge_feature.keys" in arrays:
            edge_keys = array_of(arrays, "edge_feature.keys", np.int64)
        if (edge_keys < 0).any():
            raise ValueError("edge features")
        rows = [np.empty(0, np.int64), np.empty(0, np.int64)]  # of features, of edge features
        for number, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
            edges = number >= layout.node_tables
            places = np.flatnonzero(slots[a:b])
            mine = slots[a:b][places].astype(np.int64) - 1
            own = edge_keys if edges else keys
            if not within(mine, len(own)) or not _fits(layout, number, b - a, places, own[mine]):
                raise ValueError("feature table")
            rows[edges] = np.concatenate([rows[edges], mine])
        for found, own in zip(rows, (keys, edge_keys), strict=True):
            if len(found) != len(own) or len(np.unique(found)) != len(own):  # each in one place
                raise ValueError("feature tables")
        # copies: kernels have another compiled form for arrays that cannot be changed
        slots = np.append(slots, new_slots(0))
        found_tables = cls(layout.node_tables, keys.copy(), edge_keys.copy(), slots, offsets.copy())
        crowded = found_tables._crowded()
        return replace(found_tables, slots=found_tables._filled_anew(crowded, None)) if crowded else found_tables


def _fits(layout: Layout, table: int, size: int, places: Longs, keys: Longs) -> bool:
    """Return whether a table has the right size, and its keys are in the right places and name known values."""
    direct = layout.direct_size(table)
    if direct is not None:
        return size == direct and bool((keys == places).all())
    half_full = size == power_of_two(size) and 2 * len(places) <= size
    return half_full and layout.knows(table, keys)


def make_tables(layout: Layout, nodes: Features, edges: Features, room: Sequence[int] | None = None) -> OpenTables:
    """Return the tables of all features; `room` is for how many more features each hashed table has slots.

    Raises SapoError if a key is not of its table, or two features have the same: a model file may say anything.
    """
    kinds = [nodes if table < layout.node_tables else edges for table in range(len(layout.tables))]
    rows_of = [np.flatnonzero(owner == table).astype(np.int32) for table, (_, owner) in enumerate(kinds)]
    direct = [layout.direct_size(table) for table in range(len(rows_of))]
    more = room or [0] * len(rows_of)
    sizes = [size or power_of_two(2 * (len(rows) + new)) for size, rows, new in zip(direct, rows_of, more, strict=True)]
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    slots = new_slots(int(offsets[-1]))
    for table, rows in enumerate(rows_of):
        keys = kinds[table][0]
        base, end = offsets[table : table + 2].tolist()
        if not within(keys[rows], end - base if direct[table] is not None else 1 << layout.key_bits(table)):
            raise damaged()
        if direct[table] is not None:
            slots[base + keys[rows]] = rows + 1
        else:
            tables.insert_rows(rows, keys, slots, base, end - base - 1)
        if np.count_nonzero(slots[base:end]) != len(rows):
            raise damaged()
    return OpenTables(layout.node_tables, nodes[0], edges[0], slots, offsets)


def rekey(old: Layout, new: Layout, keys: Longs, owner: Ints) -> Longs:
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


def nothing_frozen(count: int) -> Frozen:
    """Return what kernels take in place of frozen tables; read-only, as frozen tables are, for one compiled form."""
    buckets, rests = np.empty(0, np.int32), np.empty(0, np.uint8)
    buckets.flags.writeable = rests.flags.writeable = False
    none = np.zeros(count, np.int64)
    return Frozen(np.zeros(count, np.int32), buckets, np.zeros(count + 1, np.int64), rests, none, none)
