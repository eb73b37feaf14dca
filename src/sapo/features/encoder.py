"""Turn blocks of text into integers, by templates and by the strings and features that training has seen.

An encoder turns sentences into an `EncodedCorpus`: the rows of the features of each token, and their values. With the
weights of the model (`Parameters`) they give the scores of a sentence. The features of a network are the scores of the
labels, and its weights the identity.

If the words have vectors, the first features are the numbers of these; the features of templates follow. All values but
those of vectors are 1.

An encoder does not change. Its `Session` remembers the new words of a stream of blocks, so that their features are
computed only once. Where sentences come one at a time, a `Memory` that all sessions of the encoder share has the values
of all words that it has seen.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from sapo.corpus.blocks import Block
from sapo.features.encoded import EncodedCorpus
from sapo.features.knowledge import NOTHING, VECTORS, Knowledge
from sapo.features.layout import (
    FeatureLayout,
    Tables,
    Values,
    distinct_numbers,
    feature_rows,
    most_rows,
    view_values,
    views_of,
)
from sapo.features.strings import StringTable, array_of, fields
from sapo.features.tables import FrozenTables, OpenTables, all_features, freeze_tables
from sapo.features.template import TemplateSet, parse_templates
from sapo.features.words import NewWords, ViewValues
from sapo.jit.arrays import Bools, Bytes, Growable, Ints, Longs

NEW_WORDS = 100_000  # that a session remembers
FEW = 200  # tokens of a block whose words a memory keeps
SHORT = 64  # bytes of such words: long ones of a service's requests would fill the memory
EACH = slice(None)
NO_SENTENCES = np.zeros(1, np.int64)


class Encoder(Protocol):
    """What a model needs of its encoder."""

    kind: str  # its name in model files
    linear: bool  # whether scores are sums of weights of features, which can be inspected and updated

    @property
    def columns(self) -> Iterable[str]:
        """The columns that it reads; none if the features are ready-made."""

    @property
    def features(self) -> int:
        """The number of features with weights."""

    @property
    def edge_features(self) -> int:
        """The number of edge features with weights."""

    @property
    def transitions(self) -> bool:
        """Whether pairs of labels have weights of their own."""

    def session(self) -> Any:
        """Return a session, whose `encode` takes block after block, or batches of sentences with ready-made features.

        Threads must not share a session.
        """

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return features as people read them."""

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return edge features as people read them."""

    def growing(self) -> Any:
        """Return a copy that learns new strings and features in place."""

    def description(self) -> dict[str, Any]:
        """Return what `sapo inspect` shows: the template's text, or the shape of a network."""

    def header(self) -> dict[str, Any]:
        """Return everything but the arrays, for a model file."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of a model file."""


class TemplateEncoder:
    """Templates with what training has seen: the strings of columns, the values of views, and the features."""

    kind = "templates"
    linear = True

    def __init__(
        self,
        templates: TemplateSet,
        columns: Mapping[str, StringTable],
        views: tuple[ViewValues, ...],
        tables: OpenTables | FrozenTables,
    ) -> None:
        self.templates = templates
        self.strings = dict(columns)  # of all columns, those of knowledge too
        self.views = views
        self.tables = tables
        self.layout = FeatureLayout(templates, views)
        self.columns = templates.read_columns
        self._memories: list[Memory] = []

    @property
    def features(self) -> int:
        return self.vector_size + self.tables.features

    @property
    def vector_size(self) -> int:
        """How many features come from the vectors of words: the first ones."""
        vectors = self.templates.knowledge.vectors
        return 0 if vectors is None else vectors.size

    @property
    def edge_features(self) -> int:
        return self.tables.edge_features

    @property
    def transitions(self) -> bool:
        return self.templates.transitions

    def session(self) -> "Session":
        return Session(self, self._memories)

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return features as people read them: `word[-1] & word[0] = the & cat`, or `vector[0] 17`."""
        wanted, size = list(rows), self.vector_size
        others = iter(self._names([row - size for row in wanted if row >= size], edges=False))
        return [f"vector[0] {row}" if row < size else next(others) for row in wanted]

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        return self._names(rows, edges=True)

    def _names(self, rows: Iterable[int], *, edges: bool) -> list[str]:
        wanted = np.fromiter(rows, np.int64)
        tables, keys = self.tables.groups(edges=edges)[wanted], self.tables.keys_of(wanted, edges=edges)
        return [self.layout.feature_name(*one) for one in zip(tables.tolist(), keys.tolist(), strict=True)]

    def growing(self) -> Any:
        from sapo.features.building import GrowingEncoder  # which tagging does not need

        return GrowingEncoder(self)

    def description(self) -> dict[str, Any]:
        knowledge = self.templates.knowledge
        known = {name: len(source) for name, source in knowledge.columns.items()}
        if knowledge.vectors is not None:
            known[VECTORS] = len(knowledge.vectors)
        return {"template": self.templates.text, "knowledge": known}

    def header(self) -> dict[str, Any]:
        return header_of(self.templates)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays with open tables, as shards and networks keep them; models keep `frozen_arrays`."""
        tables = self.tables if isinstance(self.tables, OpenTables) else self.tables.opened()
        arrays = {**tables.arrays(), **self.templates.knowledge.arrays()}
        for name, table in self.strings.items():
            arrays.update((f"column.{name}.{key}", array) for key, array in table.arrays().items())
        for number, view in enumerate(self.views):
            if view.offsets is not None and view.members is not None:
                arrays[f"view.{number}.value_offsets"] = view.offsets
                arrays[f"view.{number}.values"] = view.members
                arrays.update((f"view.{number}.{key}", array) for key, array in view.table.arrays().items())
        return arrays

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "TemplateEncoder":
        """Return the encoder of `arrays`; raise ValueError or KeyError if these do not fit together."""
        templates = templates_of(header, arrays)
        columns = {name: StringTable.from_arrays(arrays, f"column.{name}") for name in templates.columns}
        views = []
        for number, view in enumerate(views_of(templates)):
            words = columns[view.column]
            if not view.functions:
                views.append(ViewValues(view, words, None, None))
                continue
            table = StringTable.from_arrays(arrays, f"view.{number}")
            offsets = array_of(arrays, f"view.{number}.value_offsets", np.int64)
            members = array_of(arrays, f"view.{number}.values", np.int32)
            views.append(ViewValues.checked(view, words, table, offsets, members))
        tables = OpenTables.from_arrays(FeatureLayout(templates, tuple(views)), arrays)
        return cls(templates, columns, tuple(views), tables)


class Memory:
    """The values of all views for the words of short blocks: another sentence of these needs no function of words."""

    def __init__(self, encoder: TemplateEncoder) -> None:
        self._encoder = encoder
        self._seen = {name: StringTable() for name in encoder.strings}
        self._ids = {name: Growable(np.empty(0, np.int32)) for name in encoder.strings}  # as `number_fields` gives them
        self._views = {
            name: np.array([i for i, one in enumerate(encoder.views) if one.view.column == name], np.int64)
            for name in encoder.strings
        }
        self._values = {name: Growable(np.empty((0, len(own)), np.int32)) for name, own in self._views.items()}
        self._set_offsets, self._set_members = Growable(np.zeros(1, np.int64)), Growable(np.empty(0, np.int32))

    def __len__(self) -> int:
        return max(map(len, self._seen.values()), default=0)

    def look_up(self, block: Block) -> tuple[dict[str, Ints], Values]:
        """Return the numbers of the words in each column, and the values of all views, for each token."""
        values, ids = np.empty((len(self._encoder.views), int(block.offsets[-1])), np.int32), {}
        for name, seen in self._seen.items():
            own = self._encoder.templates.knowledge.fields_of(block, name)
            numbers = seen.find_fields(*own)
            if numbers.min(initial=0) < 0:
                before = len(seen)
                numbers = seen.add_fields(*own, numbers)
                self._learn(name, seen.strings(before))
            values[self._views[name]] = self._values[name].used[numbers].T
            ids[name] = self._ids[name].used[numbers]
        return ids, Values(values, self._set_offsets.used, self._set_members.used)

    def _learn(self, name: str, words: list[str]) -> None:
        new = NewWords()
        ids = number_fields(self._encoder.strings[name], new, *fields(words))
        found = view_values(self._encoder.layout, {name: ids}, len(words), {name: new})
        values = found.values[self._views[name]]
        values[values < 0] -= self._set_offsets.count - 1  # the sets before these
        self._ids[name].append(ids)
        self._values[name].append(values.T)
        self._set_offsets.append(self._set_members.count + found.set_offsets[1:])
        self._set_members.append(found.set_members)


def number_fields(known: StringTable, new: NewWords, data: Bytes, starts: Ints, ends: Ints) -> Ints:
    """Return the number of each word; those of words that training has not seen go on after the known ones."""
    numbers = known.find_fields(data, starts, ends)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        numbers[unknown] = len(known) + new.add_fields(data, starts[unknown], ends[unknown])
    return numbers


class Session:
    """Encode block after block, and remember new words.

    For a short block, a session takes a memory from `memories` and puts it back: two threads never use the same one.
    """

    def __init__(self, encoder: TemplateEncoder, memories: list[Memory] | None = None) -> None:
        self._encoder, self._memories = encoder, memories
        self._new: dict[str, NewWords] = defaultdict(NewWords)

    def encode(self, block: Block, gold: Ints | None = None) -> EncodedCorpus:
        """Encode a block; features that training has not seen are left out."""
        encoder, knowledge = self._encoder, self._encoder.templates.knowledge
        few = block.offsets[-1] <= FEW and (block.ends - block.starts).max(initial=0) <= SHORT
        if self._memories is not None and few:
            try:
                memory = self._memories.pop()
            except IndexError:
                memory = Memory(encoder)
            seen, values = memory.look_up(block)
            if len(memory) <= NEW_WORDS:
                self._memories.append(memory)
            return self._encode(seen, values, block.offsets, gold, knowledge.vector_numbers(block))
        ids: dict[str, Ints] = {}
        for name, known in encoder.strings.items():
            source = knowledge.columns.get(name)
            which: Longs | slice = EACH
            if source is not None and source.of_words:
                words, which = self._distinct_words(block, ids)
                own = source.fields(*words, NO_SENTENCES)
            else:
                own = knowledge.fields_of(block, name)
            if any(view.view.functions for view in encoder.views if view.view.column == name):
                if len(self._new[name]) > NEW_WORDS:
                    self._new[name] = NewWords()
                numbers = number_fields(known, self._new[name], *own)
            else:
                numbers = known.find_fields(*own)
            ids[name] = numbers[which]
        vectors = None
        if knowledge.vectors is not None:
            words, which = self._distinct_words(block, ids)
            vectors = knowledge.vectors.find(*words)[which]
        encoded = self.encode_ids(ids, block.offsets, gold, vectors)
        for new in self._new.values():
            new.kept = True
        return encoded

    def _distinct_words(self, block: Block, ids: Mapping[str, Ints]) -> tuple[tuple[Bytes, Ints, Ints], Longs | slice]:
        """Return the words of a block, each of them once if there are many, and which of them each token has."""
        knowledge = self._encoder.templates.knowledge
        data, starts, ends = knowledge.fields_of(block, knowledge.words)
        numbers = ids.get(knowledge.words)  # -1 for all unknown words if no template looks into words
        if numbers is None or len(numbers) < FEW or numbers.min() < 0:
            return (data, starts, ends), EACH
        words, which = distinct_numbers(numbers)
        places = np.empty(len(words), np.int64)
        places[which] = np.arange(len(which))
        return (data, starts[places], ends[places]), which

    def encode_ids(
        self, ids: Mapping[str, Ints], offsets: Longs, gold: Ints | None = None, vectors: Ints | None = None
    ) -> EncodedCorpus:
        """Encode columns that are numbers of strings already; `vectors` has the number of each token's vector."""
        values = view_values(self._encoder.layout, ids, int(offsets[-1]), self._new)
        return self._encode(ids, values, offsets, gold, vectors)

    def _encode(
        self, ids: Mapping[str, Ints], values: Values, offsets: Longs, gold: Ints | None, vectors: Ints | None
    ) -> EncodedCorpus:
        layout, tables = self._encoder.layout, self._encoder.tables
        count = layout.node_templates
        row_offsets, rows = self._rows(slice(0, count), tables.for_nodes(), offsets, values)
        edge_row_offsets, edge_rows = np.zeros(1, np.int64), np.empty(0, np.int32)
        if count < len(layout.templates):
            edge_row_offsets, edge_rows = self._rows(slice(count, None), tables.for_edges(), offsets, values)
        of_rows = np.empty(0, np.float32)
        known = self._encoder.templates.knowledge.vectors
        if known is not None and vectors is not None:
            row_offsets, rows, of_rows = known.add_rows(vectors, row_offsets, rows)
        return EncodedCorpus(
            offsets,
            row_offsets,
            rows,
            of_rows,
            gold=np.empty(0, np.int32) if gold is None else gold,
            edge_row_offsets=edge_row_offsets,
            edge_rows=edge_rows,
            words=ids.get("word", next(iter(ids.values()), np.empty(0, np.int32))),
        )

    def _rows(self, templates: slice, tables: Tables, offsets: Longs, values: Values) -> tuple[Longs, Ints]:
        """Return the features that some of the templates make at each token."""
        layout = self._encoder.layout
        most = most_rows(layout, templates, values)
        rows = np.empty(most, np.int32)
        row_offsets = np.empty(int(offsets[-1]) + 1, np.int64)
        written = feature_rows(offsets, layout.arrays(templates), values, tables, rows, row_offsets)
        if written < most // 2:
            rows = rows[:written].copy()
        return row_offsets, rows[:written]


def header_of(templates: TemplateSet) -> dict[str, Any]:
    """Return templates as the header of a file keeps them."""
    header: dict[str, Any] = {"template": templates.text, "file_columns": list(templates.file_columns)}
    return {**header, "knowledge": templates.knowledge.header()} if templates.knowledge else header


def templates_of(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TemplateSet:
    """Return the templates of a file; raise ValueError or KeyError if header and arrays do not fit together."""
    knowledge = Knowledge.from_arrays(header["knowledge"], arrays) if "knowledge" in header else NOTHING
    return parse_templates(header["template"], header["file_columns"], knowledge=knowledge)


class Frozen(NamedTuple):
    """An encoder with frozen tables, and the rows that its features had before."""

    encoder: TemplateEncoder
    order: Longs  # [features]
    edge_order: Longs  # [edge features]


def freeze(encoder: TemplateEncoder, keep: Bools | None = None, edge_keep: Bools | None = None) -> Frozen:
    """Return an encoder of the same features, or of those to keep, with small tables. Features get new rows."""
    from sapo.features.building import GrowingEncoder

    if isinstance(encoder, GrowingEncoder):
        encoder = encoder.frozen()
    size = encoder.vector_size  # features of vectors stay where they are, with a weight or without
    kept = np.arange(encoder.tables.features) if keep is None else np.flatnonzero(keep[size:])
    edge_kept = np.arange(encoder.edge_features) if edge_keep is None else np.flatnonzero(edge_keep)
    (keys, groups), (edge_keys, edge_groups) = all_features(encoder.tables)
    tables, order, edge_order = freeze_tables(
        encoder.layout, (keys[kept], groups[kept]), (edge_keys[edge_kept], edge_groups[edge_kept])
    )
    frozen = TemplateEncoder(encoder.templates, encoder.strings, encoder.views, tables)
    return Frozen(frozen, np.append(np.arange(size), size + kept[order]), edge_kept[edge_order])


def frozen_arrays(encoder: TemplateEncoder) -> dict[str, np.ndarray]:
    """Return the arrays that a model file keeps of a frozen encoder. Raise TypeError if it is not frozen."""
    if not isinstance(encoder.tables, FrozenTables):
        raise TypeError("freeze the encoder first: its features get new rows")
    arrays = {**encoder.tables.arrays(), **encoder.templates.knowledge.arrays()}
    for name, table in encoder.strings.items():
        arrays.update((f"column.{name}.{key}", array) for key, array in table.small_arrays().items())
    for number, view in enumerate(encoder.views):
        arrays.update((f"view.{number}.{key}", array) for key, array in view.small_arrays().items())
    return arrays


def from_frozen_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TemplateEncoder:
    """Return the encoder of `frozen_arrays`; raise ValueError or KeyError if these do not fit together."""
    templates = templates_of(header, arrays)
    columns = {name: StringTable.from_small_arrays(arrays, f"column.{name}") for name in templates.columns}
    views = tuple(
        ViewValues.from_small_arrays(view, columns[view.column], arrays, f"view.{number}")
        for number, view in enumerate(views_of(templates))
    )
    tables = FrozenTables.from_arrays(FeatureLayout(templates, views), arrays)
    return TemplateEncoder(templates, columns, views, tables)
