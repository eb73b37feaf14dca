"""An encoder that learns the strings and features of new blocks in place.

It has spare room in everything: string tables, values of views, keys and slots, and a spare bit for each value in a
key. The cost of adding a sentence therefore depends on the sentence, not on the size of the encoder. When room runs
out, the slots are made anew, and the keys too if they are short of bits: seldom, and less often the larger they are.
"""

from collections.abc import Sequence

import numpy as np

from sapo.corpus.blocks import Block
from sapo.encode.building import table_keys
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder, fields_of
from sapo.encode.growable import Growable
from sapo.encode.layout import Layout, damaged, view_values
from sapo.encode.open_tables import Features, OpenTables, make_tables, rekey
from sapo.encode.strings import StringTable
from sapo.encode.view_values import ViewValues
from sapo.errors import SapoError
from sapo.kernels import tables
from sapo.kernels.types import Ints, Longs

ROOM = 1000  # strings, and features of a template, that there is room for from the start


class _View:
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
        columns = {name: table.copy(room=ROOM) for name, table in encoder.columns.items()}
        self._views = [_View(view, columns) for view in encoder.views]
        views = tuple(view.values() for view in self._views)
        super().__init__(encoder.templates, columns, views, encoder.tables)
        self.layout = encoder.layout  # as the keys are; the other encoder may have spare bits too
        self._check_keys()
        self._lay_out([len(view.table) for view in views])

    def grow(self, block: Block, gold: Ints) -> EncodedCorpus:
        """Add the strings and features of a block, and encode it. If there cannot be room, nothing changes."""
        new_words = {name: self._new_words(block, name) for name in self.columns}
        if any(new_words.values()):
            sizes = [len(view.table) + view.unknown(new_words[view.view.column]) for view in self._views]
            needed = self.layout.bits_for(sizes)
            if any(bits > room for bits, room in zip(needed, self.layout.view_bits, strict=True)):
                self._lay_out(sizes)
        ids = {name: table.add_fields(*fields_of(block, name)) for name, table in self.columns.items()}
        for view in self._views:
            view.add(new_words[view.view.column])
        self.views = self.layout.views = tuple(view.values() for view in self._views)
        self._add_features(ids, block.offsets)
        return self.session().encode_ids(ids, block.offsets, gold)

    def frozen(self) -> TemplateEncoder:
        """Return what is known now as an encoder without spare room, in its own arrays."""
        columns = {name: table.copy() for name, table in self.columns.items()}
        views = []
        for view in self.views:
            if view.offsets is None or view.members is None:
                views.append(ViewValues(view.view, columns[view.view.column], None, None))
            else:
                views.append(ViewValues(view.view, view.table.copy(), view.offsets.copy(), view.members.copy()))
        layout = Layout(self.templates, tuple(views))
        return TemplateEncoder(self.templates, columns, tuple(views), make_tables(layout, *self._features_in(layout)))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.frozen().arrays()

    def _check_keys(self) -> None:
        """Raise SapoError if a feature names a value that there is not: a new string would get its weight."""
        for keys, groups in ((self.keys, self.groups()), (self.edge_keys, self.edge_groups())):
            for table in np.unique(groups).tolist():
                if not self.layout.knows(table, keys[groups == table]):
                    raise damaged()

    def _new_words(self, block: Block, name: str) -> list[str]:
        """Return the unknown words of a column, in the order in which they would be added."""
        data, starts, ends = fields_of(block, name)
        unknown = np.flatnonzero(self.columns[name].find_fields(data, starts, ends) < 0)
        if not len(unknown):
            return []
        new = StringTable()
        new.add_fields(data, starts[unknown], ends[unknown])
        return new.strings()

    def _lay_out(self, sizes: Sequence[int]) -> None:
        """Join all keys anew, so that each view has room for this many values and more."""
        needed = self.layout.bits_for(sizes)
        try:
            layout = Layout(self.templates, self.views, [bits + 1 for bits in needed])
        except SapoError:  # no bit to spare
            layout = Layout(self.templates, self.views, needed)
        nodes, edges = self._features_in(layout)
        self._keys, self._edge_keys = Growable(nodes[0]), Growable(edges[0])
        self.layout = layout
        self._make_slots(nodes[1], edges[1], [0] * len(layout.tables))

    def _features_in(self, layout: Layout) -> tuple[Features, Features]:
        """Return keys under another layout, and tables, of all features and of all edge features."""
        nodes, edges = self.groups(), self.edge_groups()
        return (
            (rekey(self.layout, layout, self.keys, nodes), nodes),
            (rekey(self.layout, layout, self.edge_keys, edges), edges),
        )

    def _make_slots(self, groups: Ints, edge_groups: Ints, wanted: Sequence[int]) -> None:
        """Make slots for all features, for those that are wanted, and for some more."""
        count = len(self.layout.tables)
        self._used = np.bincount(groups, minlength=count) + np.bincount(edge_groups, minlength=count)
        room = [new + used // 8 + ROOM for new, used in zip(wanted, self._used.tolist(), strict=True)]
        nodes, edges = (self._keys.used, groups), (self._edge_keys.used, edge_groups)
        self.tables: OpenTables = make_tables(self.layout, nodes, edges, room)

    def _add_features(self, ids: dict[str, Ints], offsets: Longs) -> None:
        layout = self.layout
        values = view_values(layout, ids, int(offsets[-1]), {})
        wanted = [table_keys(layout, table, offsets, values) for table in range(len(layout.tables))]
        most = [len(keys) for keys in wanted]
        direct = [layout.direct_size(table) is not None for table in range(len(most))]
        full = 2 * (self._used + most) > np.diff(self.tables.offsets)
        if (full & ~np.array(direct, bool)).any():
            self._make_slots(self.groups(), self.edge_groups(), most)
        slots, slot_offsets = self.tables.slots, self.tables.offsets
        for table, keys in enumerate(wanted):
            rows = self._keys if table < layout.node_tables else self._edge_keys
            rows.reserve(len(keys))
            before = rows.count
            base, end = slot_offsets[table : table + 2].tolist()
            rows.count = tables.add_keys(keys, rows.whole, before, direct[table], slots, base, end - base)
            self._used[table] += rows.count - before
        self.tables = OpenTables(layout.node_tables, self._keys.used, self._edge_keys.used, slots, slot_offsets)
