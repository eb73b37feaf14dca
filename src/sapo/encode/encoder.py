"""Blocks of text and templates in, integers out.

Training gives the encoder its vocabularies and features; after that it is frozen. A `Session` encodes with it and
remembers words that are new, so that a stream of blocks pays once for each of them.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.strings import StringTable, array_of, power_of_two, valid_offsets, valid_slots
from sapo.encode.template import Template, TemplateSet, View, parse_templates
from sapo.encode.views import ViewValues
from sapo.errors import SapoError
from sapo.kernels import features, tables
from sapo.kernels.types import Bytes, Ints, Longs

KEY_BITS = 63
NEW_WORDS = 100_000  # that a session remembers


class TemplateEncoder:
    """Templates with all that training has shown: strings of columns, values of views, features."""

    kind = "templates"

    def __init__(
        self,
        templates: TemplateSet,
        columns: Mapping[str, StringTable],
        views: tuple[ViewValues, ...],
        keys: Longs,
        slots: Ints,
        slot_offsets: Longs,
    ) -> None:
        self.templates = templates
        self.columns = dict(columns)
        self.views = views
        self.keys = keys  # [features] the joined values of each feature
        self.slots = slots
        self.slot_offsets = slot_offsets
        self.layout = _Layout(templates, views)

    @property
    def features(self) -> int:
        return len(self.keys)

    @property
    def transitions(self) -> bool:
        return self.templates.transitions

    def session(self) -> "Session":
        return Session(self)

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        """Features as people read them: `word[-1] & word[0] = the & cat`."""
        owner = self.groups()
        return [self.layout.feature_name(int(owner[row]), int(self.keys[row])) for row in rows]

    def groups(self) -> Ints:
        """Which template (or bag of templates) each feature comes from."""
        owner = np.zeros(self.features + 1, np.int32)
        for table in range(len(self.slot_offsets) - 1):
            owner[self.slots[self.slot_offsets[table] : self.slot_offsets[table + 1]]] = table
        return owner[1:]

    def header(self) -> dict[str, Any]:
        """What is not an array, for a model file."""
        return {
            "template": self.templates.text,
            "file_columns": list(self.templates.file_columns),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {
            "feature.keys": self.keys,
            "feature.slots": self.slots,
            "feature.slot_offsets": self.slot_offsets,
        }
        for name, table in self.columns.items():
            arrays.update((f"column.{name}.{key}", array) for key, array in table.arrays().items())
        for number, view in enumerate(self.views):
            if view.offsets is not None and view.members is not None:
                arrays[f"view.{number}.value_offsets"] = view.offsets
                arrays[f"view.{number}.values"] = view.members
                arrays.update((f"view.{number}.{key}", array) for key, array in view.table.arrays().items())
        return arrays

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "TemplateEncoder":
        """The encoder of a model file. Raise ValueError or KeyError where the arrays do not fit together."""
        templates = parse_templates(header["template"], header["file_columns"])
        columns = {name: StringTable.from_arrays(arrays, f"column.{name}") for name in templates.columns}
        views = []
        for number, view in enumerate(_views(templates)):
            words = columns[view.column]
            if not view.functions:
                views.append(ViewValues(view, words, None, None))
                continue
            table = StringTable.from_arrays(arrays, f"view.{number}")
            offsets = array_of(arrays, f"view.{number}.value_offsets", np.int64)
            members = array_of(arrays, f"view.{number}.values", np.int32)
            most = len(members) if view.many else 1
            if not (
                valid_offsets(offsets, len(words), len(members))
                and _within(members, len(table))
                and (np.diff(offsets) <= most).all()
            ):
                raise ValueError("view")
            views.append(ViewValues(view, table, offsets, members))
        keys = array_of(arrays, "feature.keys", np.int64)
        slots = array_of(arrays, "feature.slots", np.int32)
        slot_offsets = array_of(arrays, "feature.slot_offsets", np.int64)
        if not (valid_offsets(slot_offsets, len(_tables(templates)[0]), len(slots)) and (keys >= 0).all()):
            raise ValueError("feature tables")
        encoder = cls(templates, columns, tuple(views), keys, slots, slot_offsets)
        for number, (a, b) in enumerate(itertools.pairwise(slot_offsets.tolist())):
            size = encoder.layout.direct_size(number)
            if size is not None and not (b - a == size and _within(slots[a:b], len(keys) + 1)):
                raise ValueError("direct feature table")
            if size is None and not valid_slots(slots[a:b], len(keys)):
                raise ValueError("feature table")
        return encoder


class _Layout:
    """The templates as arrays for the kernels."""

    def __init__(self, templates: TemplateSet, views: tuple[ViewValues, ...]) -> None:
        self.number = number = {view.view: i for i, view in enumerate(views)}
        atoms = list(dict.fromkeys(atom for template in templates.templates for atom in template.atoms))
        reach = max((abs(atom.offset) for atom in atoms), default=0)
        self.reserved = 1 + 2 * reach  # 0 is no value, then the positions outside of the sentence
        self.templates = templates.templates
        self.tables, table_of = _tables(templates)
        self.views = views
        self.atom_view = np.array([number[atom.view] for atom in atoms], np.int32)
        self.atom_offset = np.array([atom.offset for atom in atoms], np.int32)
        self.view_bits = [(self.reserved + len(view.table)).bit_length() for view in views]
        self.atom_bits = np.array([self.view_bits[number[atom.view]] for atom in atoms], np.int32)
        place = {atom: i for i, atom in enumerate(atoms)}
        sizes = [len(template.atoms) for template in templates.templates]
        self.template_atoms = np.array([place[atom] for t in templates.templates for atom in t.atoms], np.int32)
        self.template_offsets = np.cumsum([0, *sizes]).astype(np.int32)
        self.template_table = np.array(table_of, np.int32)
        self.template_shift = np.full(len(sizes), -1, np.int32)
        self.many_view: list[int | None] = []
        for k, template in enumerate(templates.templates):
            many = [i for i, atom in enumerate(template.atoms) if atom.view.many]
            self.many_view.append(number[template.atoms[many[0]].view] if many else None)
            if many:
                right = template.atoms[many[0] + 1 :]
                self.template_shift[k] = sum(self.view_bits[number[atom.view]] for atom in right)
            bits = sum(self.view_bits[number[atom.view]] for atom in template.atoms)
            if bits > KEY_BITS:
                raise SapoError(
                    f"template '{template}' joins too many different values ({bits} bits of {KEY_BITS}); "
                    "leave one of its parts out"
                )

    def direct_size(self, table: int) -> int | None:
        """How large the table of a template with at most one atom is; None for hashed tables."""
        atoms = self.tables[table].atoms
        if len(atoms) > 1:
            return None
        return self.reserved + len(self.views[self.number[atoms[0].view]].table) if atoms else 1

    def feature_name(self, table: int, key: int) -> str:
        template = self.tables[table]
        values = []
        for atom in reversed(template.atoms):
            index = self.number[atom.view]
            bits = self.view_bits[index]
            values.append(self._value_name(index, key & ((1 << bits) - 1)))
            key >>= bits
        if key:
            raise _damaged()
        return f"{template} = {' & '.join(reversed(values))}" if values else str(template)

    def _value_name(self, view: int, value: int) -> str:
        if not 0 < value < self.reserved + len(self.views[view].table):
            raise _damaged()
        if value >= self.reserved:
            return self.views[view].table[value - self.reserved]
        distance = (value + 1) // 2
        return f"<{distance} before the start>" if value % 2 else f"<{distance} past the end>"


def _damaged() -> SapoError:
    return SapoError("the model names a value that its vocabulary does not have: it was changed or damaged")


class Session:
    """Encodes block after block; not to be shared between threads."""

    def __init__(self, encoder: TemplateEncoder) -> None:
        self._encoder = encoder
        self._new = {name: StringTable() for name in encoder.columns}

    def encode(self, block: Block, gold: Ints | None = None) -> EncodedCorpus:
        encoder = self._encoder
        ids = {}
        for name, known in encoder.columns.items():
            fields = _fields(block, name)
            numbers = known.find_fields(*fields)
            if any(view.view.functions for view in encoder.views if view.view.column == name):
                new = self._new[name]
                if len(new) > NEW_WORDS:
                    new = self._new[name] = StringTable()
                unknown = np.flatnonzero(numbers < 0)
                if len(unknown):
                    data, starts, ends = fields
                    numbers[unknown] = len(known) + new.add_fields(data, starts[unknown], ends[unknown])
            ids[name] = numbers
        return self.encode_ids(ids, block.offsets, gold)

    def encode_ids(self, ids: Mapping[str, Ints], offsets: Longs, gold: Ints | None = None) -> EncodedCorpus:
        encoder, layout = self._encoder, self._encoder.layout
        values, set_offsets, set_members = self._values(ids, int(offsets[-1]))
        most = _most_rows(layout, values, set_offsets)
        rows = np.empty(most, np.int32)
        row_offsets = np.empty(int(offsets[-1]) + 1, np.int64)
        written = features.feature_rows(
            offsets,
            layout.template_offsets,
            layout.template_table,
            layout.template_shift,
            layout.template_atoms,
            layout.atom_view,
            layout.atom_offset,
            layout.atom_bits,
            values,
            set_offsets,
            set_members,
            encoder.keys,
            encoder.slots,
            encoder.slot_offsets,
            rows,
            row_offsets,
        )
        if written < most // 2:
            rows = rows[:written].copy()
        return EncodedCorpus(
            offsets,
            row_offsets,
            rows[:written],
            gold=np.empty(0, np.int32) if gold is None else gold,
        )

    def _values(self, ids: Mapping[str, Ints], tokens: int) -> tuple[Ints, Longs, Ints]:
        new_words = {name: table.strings() for name, table in self._new.items()}
        return view_values(self._encoder.layout, ids, tokens, new_words)


def view_values(
    layout: _Layout, ids: Mapping[str, Ints], tokens: int, new_words: Mapping[str, list[str]]
) -> tuple[Ints, Longs, Ints]:
    """The value of each view at each token, and the sets of the many-valued ones."""
    values = np.zeros((len(layout.views), tokens), np.int32)
    all_offsets, all_members = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    sets = members_before = 0
    distinct: dict[str, tuple[Ints, Longs]] = {}  # the words that occur here, and which of them each token is
    for number, view in enumerate(layout.views):
        column = ids[view.view.column]
        if view.offsets is None or view.members is None:
            # a word that is new (past the table) or unknown (-1) has no value
            seen = (column >= 0) & (column < len(view.table))
            values[number] = np.where(seen, column + layout.reserved, 0)
            continue
        if view.view.column not in distinct:
            distinct[view.view.column] = np.unique(column, return_inverse=True)
        words, place = distinct[view.view.column]
        offsets, members = _select(view, words, new_words.get(view.view.column, []))
        if view.view.many:
            values[number] = -1 - (sets + place)
            all_offsets.append(members_before + offsets[1:])
            all_members.append(members + np.int32(layout.reserved))
            sets += len(words)
            members_before += len(members)
        else:
            value = np.zeros(len(words), np.int32)
            full = np.diff(offsets) > 0
            value[full] = members[offsets[:-1][full]] + layout.reserved
            values[number] = value[place]
    return values, np.concatenate(all_offsets), np.concatenate(all_members)


def _select(view: ViewValues, words: Ints, new_words: list[str]) -> tuple[Longs, Ints]:
    """Offsets and members of the given words; those past the known ones are in `new_words`."""
    assert view.offsets is not None
    assert view.members is not None
    count = len(view.offsets) - 1
    known, new = words[words < count], words[words >= count]
    sizes = view.offsets[known + 1] - view.offsets[known]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    places = np.arange(offsets[-1]) + np.repeat(view.offsets[known] - offsets[:-1], sizes)
    members = view.members[places]
    if len(new):
        new_offsets, new_members = view.of_new_words([new_words[i - count] for i in new.tolist()])
        offsets = np.concatenate([offsets, offsets[-1] + new_offsets[1:]])
        members = np.concatenate([members, new_members])
    return offsets, members


def _most_rows(layout: _Layout, values: Ints, set_offsets: Longs) -> int:
    """An upper bound of the features of a block."""
    tokens = values.shape[1]
    return sum(tokens + _many_keys(view, values, set_offsets) for view in layout.many_view)


def _many_keys(view: int | None, values: Ints, set_offsets: Longs) -> int:
    """How many keys the many-valued atom of a template makes, over all tokens."""
    return 0 if view is None else int(np.diff(set_offsets)[-1 - values[view]].sum())


def build_encoder(
    blocks: Iterable[Block], templates: TemplateSet, labels: StringTable, *, min_count: int = 1
) -> tuple[TemplateEncoder, EncodedCorpus]:
    """Read the training blocks once: number their strings, collect the features, and encode them."""
    columns = {name: StringTable() for name in templates.columns}
    ids: dict[str, list[Ints]] = {name: [] for name in columns}
    golds, sizes = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for block in blocks:
        for name, table in columns.items():
            ids[name].append(table.add_fields(*_fields(block, name)))
        golds.append(labels.add_fields(*block.column(LABEL)))
        sizes.append(np.diff(block.offsets))
    offsets = np.cumsum(np.concatenate(sizes))
    joined = {name: np.concatenate([np.empty(0, np.int32), *parts]) for name, parts in ids.items()}
    del ids
    views = tuple(ViewValues.of_words(view, columns[view.column]) for view in _views(templates))
    layout = _Layout(templates, views)
    keys, slots, slot_offsets = _collect(layout, joined, offsets, min_count)
    encoder = TemplateEncoder(templates, columns, views, keys, slots, slot_offsets)
    return encoder, encoder.session().encode_ids(joined, offsets, np.concatenate(golds))


def _collect(layout: _Layout, ids: Mapping[str, Ints], offsets: Longs, min_count: int) -> tuple[Longs, Ints, Longs]:
    """All features that occur often enough. The most frequent come first: their weights then lie together."""
    values, set_offsets, set_members = view_values(layout, ids, int(offsets[-1]), {})
    found: list[tuple[Longs, Ints]] = []
    for table in range(len(layout.tables)):
        wanted = []
        for template in np.flatnonzero(layout.template_table == table).tolist():
            first, last = layout.template_offsets[template : template + 2].tolist()
            most = _many_keys(layout.many_view[template], values, set_offsets)
            keys = np.empty(most + int(offsets[-1]), np.int64)
            written = features.template_keys(
                first,
                last,
                max(0, int(layout.template_shift[template])),
                offsets,
                layout.template_atoms,
                layout.atom_view,
                layout.atom_offset,
                layout.atom_bits,
                values,
                set_offsets,
                set_members,
                keys,
            )
            wanted.append(keys[:written])
        found.append(_distinct(np.concatenate(wanted), min_count))
    counts = np.concatenate([counts for _, counts in found])
    order = np.argsort(-counts, kind="stable")
    all_keys = np.concatenate([keys for keys, _ in found])[order]
    row_of = np.empty(len(order), np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    direct = [layout.direct_size(table) for table in range(len(found))]
    sizes = [size or power_of_two(2 * len(keys)) for size, (keys, _) in zip(direct, found, strict=True)]
    slot_offsets = np.cumsum([0, *sizes], dtype=np.int64)
    slots = np.zeros(slot_offsets[-1], np.int32)
    first = 0
    for table, (keys, _) in enumerate(found):
        base, end = slot_offsets[table : table + 2].tolist()
        rows = row_of[first : first + len(keys)]
        if direct[table] is not None:
            slots[base + keys] = rows + 1
        else:
            tables.insert_rows(rows, all_keys, slots, base, end - base - 1)
        first += len(keys)
    return all_keys, slots, slot_offsets


def _distinct(wanted: Longs, min_count: int) -> tuple[Longs, Ints]:
    keys = np.empty(len(wanted), np.int64)
    counts = np.empty(len(wanted), np.int32)
    slots = np.zeros(power_of_two(2 * len(wanted)), np.int32)
    distinct = tables.count_keys(wanted, keys, counts, slots)
    often = counts[:distinct] >= min_count
    return keys[:distinct][often], counts[:distinct][often]


def _fields(block: Block, name: str) -> tuple[Bytes, Ints, Ints]:
    if name not in block.columns:
        have = ", ".join(column for column in block.columns if column != LABEL)
        raise SapoError(f"{block.name}: has no column '{name}', which the features need; it has {have}")
    return block.column(name)


def _views(templates: TemplateSet) -> tuple[View, ...]:
    return tuple(dict.fromkeys(atom.view for template in templates.templates for atom in template.atoms))


def _tables(templates: TemplateSet) -> tuple[list[Template], list[int]]:
    """One table for each template, or for all of one bag that read the same views; and which template has which."""
    found: dict[object, int] = {}
    first: list[Template] = []
    numbers = []
    for template in templates.templates:
        key = template if template.bag is None else (template.bag, tuple(atom.view for atom in template.atoms))
        if key not in found:
            found[key] = len(found)
            first.append(template)
        numbers.append(found[key])
    return first, numbers


def _within(numbers: Ints, count: int) -> bool:
    return len(numbers) == 0 or bool(numbers.min() >= 0 and numbers.max() < count)
