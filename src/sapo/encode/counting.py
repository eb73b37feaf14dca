"""Count the features of a corpus that does not fit into memory: shards of string numbers in, features in order out.

The keys of a shard are counted in memory, and the counts are appended to one of many files, chosen by the hash of the
key. In the end each file is small enough to be counted in memory, and all counts of a key are in the same file. The
features, and the order of their rows, are exactly those of `build_encoder`: the most frequent first, and among equals
the one that comes first.
"""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sapo.corpus.replacing import told
from sapo.encode.building import distinct_keys
from sapo.encode.layout import Layout, many_keys, view_values
from sapo.encode.open_tables import Features
from sapo.encode.slots import hash_keys
from sapo.kernels import features
from sapo.kernels.types import Ints, Longs

PARTS = 128  # files: of 100 million tokens each has some 100 MB
ENTRY = np.dtype([("key", "<i8"), ("first", "<i8"), ("count", "<i4"), ("table", "<i2")])
# where a key comes first: its template among those of its table, then the shard, then the place in the shard
TEMPLATE, SHARD = 52, 28


class FeatureCounter:
    """Counts features shard by shard. Its files are in a directory of its own, which `close` removes."""

    def __init__(self, layout: Layout, directory: Path) -> None:
        self.layout, self.directory = layout, directory
        self.shards = 0
        self._rank = _ranks(layout)
        shutil.rmtree(directory, ignore_errors=True)  # of a process that was killed
        with told(directory):
            directory.mkdir(parents=True)

    def add(self, ids: Mapping[str, Ints], offsets: Longs) -> None:
        """Count the features of a shard, whose columns are numbers of strings."""
        found = list(self._entries(ids, offsets))
        entries = np.concatenate(found) if found else np.empty(0, ENTRY)
        part = hash_keys(entries["key"]) % PARTS
        order = np.argsort(part.astype(np.int16), kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=PARTS))
        for number, some in enumerate(np.split(entries[order], ends[:-1])):
            path = self.directory / str(number)
            with told(path), path.open("ab") as stream:
                stream.write(some.tobytes())
        self.shards += 1

    def _entries(self, ids: Mapping[str, Ints], offsets: Longs) -> Iterator[NDArray[np.void]]:
        values = view_values(self.layout, ids, int(offsets[-1]), {})
        for template, table in enumerate(self.layout.template_table.tolist()):
            most = many_keys(self.layout.many_view[template], values)
            keys = np.empty(most + int(offsets[-1]), np.int64)
            written = features.template_keys(template, offsets, self.layout.arrays(), values, keys)
            distinct, counts = distinct_keys(keys[:written], 1)
            entries = np.empty(len(distinct), ENTRY)
            entries["key"], entries["count"], entries["table"] = distinct, counts, table
            entries["first"] = (self._rank[template] << TEMPLATE) + (self.shards << SHARD) + np.arange(len(distinct))
            yield entries

    def features(self, min_count: int) -> tuple[Features, Features]:
        """Return keys and tables of all features that occur often enough, in the order of rows; then of edge features.

        Only these, and the counts of one file, are in memory.
        """
        kept = [np.empty(0, ENTRY)]
        for number in range(PARTS):
            path = self.directory / str(number)
            if path.exists():
                merged = _merged(np.fromfile(path, ENTRY))
                kept.append(merged[merged["count"] >= min_count])
        entries = np.concatenate(kept)
        del kept
        order = np.lexsort((entries["first"], entries["table"], -entries["count"]))
        keys, owner = entries["key"][order], entries["table"][order].astype(np.int32)
        edge = owner >= self.layout.node_tables
        return (keys[~edge], owner[~edge]), (keys[edge], owner[edge])

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _merged(entries: NDArray[np.void]) -> NDArray[np.void]:
    """Return one entry for each key of a table, with the sum of the counts, and where it comes first."""
    found = []
    by_table = np.argsort(entries["table"], kind="stable")
    ends = np.cumsum(np.bincount(entries["table"]))
    for places in np.split(by_table, ends[:-1]) if len(entries) else ():
        if not len(places):
            continue
        keys = entries["key"][places]
        order = np.argsort(keys)
        some = entries[places[order]]
        begins = np.flatnonzero(np.append(True, np.diff(some["key"]) != 0))
        merged = some[begins]
        merged["count"] = np.add.reduceat(some["count"], begins)
        merged["first"] = np.minimum.reduceat(some["first"], begins)
        found.append(merged)
    return np.concatenate(found) if found else entries


def _ranks(layout: Layout) -> list[int]:
    """Return for each template its place among the templates of its table."""
    seen: dict[int, int] = {}
    ranks = []
    for table in layout.template_table.tolist():
        ranks.append(seen.get(table, 0))
        seen[table] = ranks[-1] + 1
    return ranks
