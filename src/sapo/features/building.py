"""Build the encoder of a corpus, in memory or from shards, or by growing an existing encoder.

`build_encoder` counts the keys of all features in memory. Rows are in the order of frequency, and among equals in the
order in which features first occur.

`FeatureCounter` does the same for shards. It counts the keys of a shard in memory, and appends the counts to one of
many files, chosen by the hash of the key. So all counts of a key are in the same file, and each file is small enough to
be summed in memory.

`GrowingEncoder` has spare room everywhere: in string tables, values of views, keys and slots, and a spare bit for each
value in a key. So the cost of adding a sentence depends on the sentence, not on the size of the encoder. When room runs
out, the slots are rebuilt, and the keys too if they are short of bits: less often the larger they are.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.files import as_sapo_error
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import Session, TemplateEncoder
from sapo.features.hashing import add_keys, count_keys, hash_keys, new_slots
from sapo.features.knowledge import Knowledge
from sapo.features.layout import FeatureLayout, Values, damaged, many_keys, template_keys, view_values, views_of
from sapo.features.strings import StringTable, power_of_two
from sapo.features.tables import Features, OpenTables, all_features, make_tables, rekey
from sapo.features.template import TemplateSet
from sapo.features.words import ViewValues
from sapo.jit.arrays import Growable, Ints, Longs

PARTS = 128  # files: at 100 million tokens each has about 100 MB
ENTRY = np.dtype([("key", "<i8"), ("first", "<i8"), ("count", "<i4"), ("table", "<i2")])
# The bits of `first`, where a key first occurs: its template among those of its table, the shard, the place in it.
TEMPLATE, SHARD = 52, 28
ROOM = 1000  # strings, and features of a template, that a growing encoder has room for from the start


def build_encoder(
    blocks: Iterable[Block], templates: TemplateSet, labels: StringTable, *, min_count: int = 1
) -> tuple[TemplateEncoder, EncodedCorpus]:
    """Read the training blocks once: number their strings, collect the features, and encode the blocks.

    Features that occur less than `min_count` times are left out; new labels are added to `labels`.
    """
    columns = {name: StringTable() for name in templates.columns}
    ids, offsets, gold, vectors = _read(blocks, columns, templates.knowledge, labels)
    views = tuple(ViewValues.of_words(view, columns[view.column]) for view in views_of(templates))
    layout = FeatureLayout(templates, views)
    values = view_values(layout, ids, int(offsets[-1]), {})
    nodes, edges = (
        _most_frequent_first(
            {table: distinct_keys(_table_keys(layout, table, offsets, values), min_count) for table in tables}
        )
        for tables in (layout.tables_of_kind(edges=False), layout.tables_of_kind(edges=True))
    )
    encoder = TemplateEncoder(templates, columns, views, make_tables(layout, nodes, edges))
    return encoder, encoder.session().encode_ids(ids, offsets, gold, vectors)


def _read(
    blocks: Iterable[Block], columns: Mapping[str, StringTable], knowledge: Knowledge, labels: StringTable
) -> tuple[dict[str, Ints], Longs, Ints, Ints]:
    """Return the numbers of all strings, where sentences begin, the labels, and the numbers of vectors.

    New strings are added to the tables.
    """
    ids: dict[str, list[Ints]] = {name: [np.empty(0, np.int32)] for name in columns}
    golds, sizes = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    vectors = [np.empty(0, np.int32)]
    for block in blocks:
        for name, table in columns.items():
            ids[name].append(table.add_fields(*knowledge.fields_of(block, name)))
        if (found := knowledge.vector_numbers(block)) is not None:
            vectors.append(found)
        golds.append(labels.add_fields(*block.column(LABEL)))
        sizes.append(np.diff(block.offsets))
    joined = {name: np.concatenate(parts) for name, parts in ids.items()}
    return joined, np.cumsum(np.concatenate(sizes)), np.concatenate(golds), np.concatenate(vectors)


def _table_keys(layout: FeatureLayout, table: int, offsets: Longs, values: Values) -> Longs:
    """Return all keys that the templates of one table make, as often as they occur."""
    templates = np.flatnonzero(layout.template_table == table).tolist()
    return np.concatenate([_template_keys(layout, template, offsets, values) for template in templates])


def _template_keys(layout: FeatureLayout, template: int, offsets: Longs, values: Values) -> Longs:
    """Return all keys that a template makes, as often as they occur."""
    keys = np.empty(many_keys(layout.many_view[template], values) + int(offsets[-1]), np.int64)
    return keys[: template_keys(template, offsets, layout.arrays(), values, keys)]


def _most_frequent_first(found: Mapping[int, tuple[Longs, Ints]]) -> Features:
    """Return all features in the order of their rows, given keys and counts by table: frequent ones share the cache."""
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    keys, counts = (np.concatenate(parts) for parts in zip(*found.values(), strict=True))
    owner = np.repeat(np.array(list(found), np.int32), [len(some) for some, _ in found.values()])
    order = np.argsort(-counts, kind="stable")
    return keys[order], owner[order]


def distinct_keys(wanted: Longs, min_count: int) -> tuple[Longs, Ints]:
    """Return the keys that occur often enough, in the order in which they first occur, and how often they do."""
    keys = np.empty(len(wanted), np.int64)
    counts = np.empty(len(wanted), np.int32)
    slots = new_slots(power_of_two(2 * len(wanted)))
    distinct = count_keys(wanted, keys, counts, slots)
    often = counts[:distinct] >= min_count
    return keys[:distinct][often], counts[:distinct][often]


class FeatureCounter:
    """Count features shard by shard. The files are in a directory of their own, which `close` removes."""

    def __init__(self, layout: FeatureLayout, directory: Path) -> None:
        self.layout, self.directory = layout, directory
        self.shards = 0
        self._rank = _ranks(layout)
        shutil.rmtree(directory, ignore_errors=True)  # a killed process may have left it
        with as_sapo_error(directory):
            directory.mkdir(parents=True)

    def add(self, ids: Mapping[str, Ints], offsets: Longs) -> None:
        """Count the features of a shard; its columns are numbers of strings."""
        found = list(self._entries(ids, offsets))
        entries = np.concatenate(found) if found else np.empty(0, ENTRY)
        part = hash_keys(entries["key"]) % PARTS
        order = np.argsort(part.astype(np.int16), kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=PARTS))
        for number, some in enumerate(np.split(entries[order], ends[:-1])):
            path = self.directory / str(number)
            with as_sapo_error(path), path.open("ab") as stream:
                stream.write(some.tobytes())
        self.shards += 1

    def _entries(self, ids: Mapping[str, Ints], offsets: Longs) -> Iterator[NDArray[np.void]]:
        values = view_values(self.layout, ids, int(offsets[-1]), {})
        for template, table in enumerate(self.layout.template_table.tolist()):
            distinct, counts = distinct_keys(_template_keys(self.layout, template, offsets, values), 1)
            entries = np.empty(len(distinct), ENTRY)
            entries["key"], entries["count"], entries["table"] = distinct, counts, table
            entries["first"] = (self._rank[template] << TEMPLATE) + (self.shards << SHARD) + np.arange(len(distinct))
            yield entries

    def features(self, min_count: int) -> tuple[Features, Features]:
        """Return the features, and the edge features, that occur often enough, in the order of their rows.

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
    """Return one entry for each key of a table, with the sum of its counts and its first occurrence."""
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


def _ranks(layout: FeatureLayout) -> list[int]:
    """Return for each template its place among the templates of its table."""
    seen: dict[int, int] = {}
    ranks = []
    for table in layout.template_table.tolist():
        ranks.append(seen.get(table, 0))
        seen[table] = ranks[-1] + 1
    return ranks


class _GrowingView:
    """The values of one view, in arrays that grow."""

    def __init__(self, values: ViewValues, columns: dict[str, StringTable]) -> None:
        self.view = values.view
        self.stored = values.offsets is not None  # else the values are the words of the column
        self.table = values.table.copy(room=ROOM) if self.stored else columns[self.view.column]
        self._offsets = Growable(np.zeros(0, np.int64) if values.offsets is None else values.offsets)
        self._members = Growable(np.zeros(0, np.int32) if values.members is None else values.members)

    def values(self) -> ViewValues:
        """Return the values so far; the arrays are not copied."""
        if not self.stored:
            return ViewValues(self.view, self.table, None, None)
        return ViewValues(self.view, self.table, self._offsets.used, self._members.used)

    def unknown(self, words: Sequence[str]) -> int:
        """Return how many values the view would get with these new words."""
        if not self.stored:
            return len(words)
        found = set(self.view.apply_all(words)[1])
        return int((self.table.find(list(found)) < 0).sum()) if found else 0

    def add(self, words: Sequence[str]) -> None:
        """Add the values of new words."""
        if self.stored and words:
            sizes, values = self.view.apply_all(words)
            self._members.append(self.table.add(values))
            self._offsets.append(self._offsets.used[-1] + np.cumsum(sizes))


class GrowingEncoder(TemplateEncoder):
    """A copy of an encoder that learns new strings and features in place. Known ones keep their numbers."""

    def __init__(self, encoder: TemplateEncoder) -> None:
        columns = {name: table.copy(room=ROOM) for name, table in encoder.strings.items()}
        self._views = [_GrowingView(view, columns) for view in encoder.views]
        views = tuple(view.values() for view in self._views)
        super().__init__(encoder.templates, columns, views, encoder.tables)
        self.layout = encoder.layout  # as the keys are; the other encoder may have spare bits too
        self._check_keys()
        self._lay_out([len(view.table) for view in views])

    def grow(self, block: Block, gold: Ints) -> EncodedCorpus:
        """Add the strings and features of a block, and encode it. If there cannot be room, nothing changes."""
        new_words = {name: self._new_words(block, name) for name in self.strings}
        if any(new_words.values()):
            sizes = [len(view.table) + view.unknown(new_words[view.view.column]) for view in self._views]
            needed = self.layout.bits_for(sizes)
            if any(bits > room for bits, room in zip(needed, self.layout.view_bits, strict=True)):
                self._lay_out(sizes)
        made = self.templates.knowledge
        ids = {name: table.add_fields(*made.fields_of(block, name)) for name, table in self.strings.items()}
        for view in self._views:
            view.add(new_words[view.view.column])
        self.views = self.layout.views = tuple(view.values() for view in self._views)
        self._add_features(ids, block.offsets)
        return self.session().encode_ids(ids, block.offsets, gold, made.vector_numbers(block))

    def session(self) -> Session:
        return Session(self)  # a memory would have as unknown what the encoder may know by now

    def frozen(self) -> TemplateEncoder:
        """Return what is known now as an encoder without spare room, in its own arrays."""
        columns = {name: table.copy() for name, table in self.strings.items()}
        views = []
        for view in self.views:
            if view.offsets is None or view.members is None:
                views.append(ViewValues(view.view, columns[view.view.column], None, None))
            else:
                views.append(ViewValues(view.view, view.table.copy(), view.offsets.copy(), view.members.copy()))
        layout = FeatureLayout(self.templates, tuple(views))
        return TemplateEncoder(self.templates, columns, tuple(views), make_tables(layout, *self._features_in(layout)))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.frozen().arrays()

    def _check_keys(self) -> None:
        """Raise SapoError if a feature has a value that does not exist: a new string would get its weight."""
        for keys, groups in all_features(self.tables):
            for table in np.unique(groups).tolist():
                if not self.layout.knows(table, keys[groups == table]):
                    raise damaged()

    def _new_words(self, block: Block, name: str) -> list[str]:
        """Return the unknown words of a column, in the order in which they would be added."""
        data, starts, ends = self.templates.knowledge.fields_of(block, name)
        unknown = np.flatnonzero(self.strings[name].find_fields(data, starts, ends) < 0)
        if not len(unknown):
            return []
        new = StringTable()
        new.add_fields(data, starts[unknown], ends[unknown])
        return new.strings()

    def _lay_out(self, sizes: Sequence[int]) -> None:
        """Join all keys again, so that each view has room for this many values and more."""
        needed = self.layout.bits_for(sizes)
        try:
            layout = FeatureLayout(self.templates, self.views, [bits + 1 for bits in needed])
        except SapoError:  # no bit to spare
            layout = FeatureLayout(self.templates, self.views, needed)
        nodes, edges = self._features_in(layout)
        self._keys, self._edge_keys = Growable(nodes[0]), Growable(edges[0])
        self.layout = layout
        self._make_slots(nodes[1], edges[1], [0] * len(layout.tables))

    def _features_in(self, layout: FeatureLayout) -> tuple[Features, Features]:
        """Return all features and all edge features, with the keys of another layout."""
        nodes, edges = (
            (rekey(self.layout, layout, keys, groups), groups) for keys, groups in all_features(self.tables)
        )
        return nodes, edges

    def _make_slots(self, groups: Ints, edge_groups: Ints, wanted: Sequence[int]) -> None:
        """Make slots for all features, for `wanted` more in each table, and some spare ones."""
        count = len(self.layout.tables)
        self._used = np.bincount(groups, minlength=count) + np.bincount(edge_groups, minlength=count)
        room = [new + used // 8 + ROOM for new, used in zip(wanted, self._used.tolist(), strict=True)]
        nodes, edges = (self._keys.used, groups), (self._edge_keys.used, edge_groups)
        self.tables: OpenTables = make_tables(self.layout, nodes, edges, room)

    def _add_features(self, ids: dict[str, Ints], offsets: Longs) -> None:
        layout = self.layout
        values = view_values(layout, ids, int(offsets[-1]), {})
        wanted = [_table_keys(layout, table, offsets, values) for table in range(len(layout.tables))]
        most = [len(keys) for keys in wanted]
        direct = [layout.direct_size(table) is not None for table in range(len(most))]
        full = 2 * (self._used + most) > np.diff(self.tables.offsets)
        if (full & ~np.array(direct, bool)).any():
            self._make_slots(self.tables.groups(), self.tables.groups(edges=True), most)
        slots, slot_offsets = self.tables.slots, self.tables.offsets
        for table, keys in enumerate(wanted):
            rows = self._keys if table < layout.node_tables else self._edge_keys
            rows.reserve(len(keys))
            before = rows.count
            base, end = slot_offsets[table : table + 2].tolist()
            rows.count = add_keys(keys, rows.whole, before, direct[table], slots, base, end - base)
            self._used[table] += rows.count - before
        self.tables = OpenTables(layout, self._keys.used, self._edge_keys.used, slots, slot_offsets)
