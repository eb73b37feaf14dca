"""Blocks of text in, integers out, by templates and a hash: no dictionary of strings or features.

The number of a feature is a hash of its template and its values, of some bits. So training needs no count of features
before it begins, a model has a fixed size, and new words need no room. Features with the same hash share their weights,
which costs some accuracy (docs/how-to/large-data.md); and the name of a feature cannot be told from its number.

All is done with operations on arrays, so that it is the same with compiled kernels and without.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapo.corpus.blocks import Block
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import NEW_WORDS, fields_of
from sapo.encode.layout import tables_of, views_of
from sapo.encode.slots import hash_strings
from sapo.encode.strings import StringTable, fields
from sapo.encode.template import Atom, Template, TemplateSet, parse_templates
from sapo.errors import SapoError
from sapo.kernels.types import Ints, Longs

FEWEST_BITS, MOST_BITS = 8, 28
OUTSIDE = 1 << 32  # and more: positions outside of the sentence; hashes of strings are smaller
NONE = -1
MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # odd numbers: nothing is lost
HALF = np.uint64(29)

Hashes = NDArray[np.uint64]


class HashedEncoder:
    """Templates, and how many bits the number of a feature has."""

    kind = "hashed"
    linear = True

    def __init__(self, templates: TemplateSet, bits: int) -> None:
        self.templates, self.bits = templates, bits
        self.tables, self.table_of = tables_of(templates)
        self.node_templates = sum(not template.edge for template in templates.templates)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the templates read."""
        return self.templates.columns

    @property
    def features(self) -> int:
        return 1 << self.bits

    @property
    def edge_features(self) -> int:
        return 1 << self.bits if self.node_templates < len(self.templates.templates) else 0

    @property
    def transitions(self) -> bool:
        return self.templates.transitions

    def session(self) -> "HashedSession":
        """Return a session that encodes block after block."""
        return HashedSession(self)

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return all that is known of features: their numbers."""
        return [f"hashed feature {row}" for row in rows]

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return all that is known of edge features: their numbers."""
        return [f"hashed edge feature {row}" for row in rows]

    def groups(self) -> Ints:
        """Raise SapoError: a hash does not say which template a feature is from."""
        raise SapoError("the group lasso needs a dictionary of features; leave --hash-bits out")

    def edge_groups(self) -> Ints:
        """Raise SapoError, as `groups` does."""
        return self.groups()

    def growing(self) -> Any:
        """Raise SapoError: updates are made with dictionaries only."""
        raise SapoError("a model with hashed features cannot be updated; train it anew with all sentences")

    def description(self) -> dict[str, Any]:
        """Return what there is to show beside the features."""
        return {"template": self.templates.text, "hash_bits": self.bits}

    def header(self) -> dict[str, Any]:
        """Return what a model file keeps in its header."""
        return {
            "template": self.templates.text,
            "file_columns": list(self.templates.file_columns),
            "hash_bits": self.bits,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps: none."""
        return {}

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "HashedEncoder":
        """Return the encoder of a model file; raise ValueError or KeyError if its header makes no sense."""
        bits = header["hash_bits"]
        if not isinstance(bits, int) or isinstance(bits, bool) or not FEWEST_BITS <= bits <= MOST_BITS:
            raise ValueError("hash_bits")
        return cls(parse_templates(header["template"], header["file_columns"]), bits)


class HashedSession:
    """Encode block after block; the hashes of words are remembered. Threads must not share a session."""

    def __init__(self, encoder: HashedEncoder) -> None:
        self._encoder = encoder
        self._columns = {name: _Column(name, encoder.templates) for name in encoder.columns}

    def encode(self, block: Block, gold: Ints | None = None) -> EncodedCorpus:
        """Encode a block."""
        ids = {name: column.add(block) for name, column in self._columns.items()}
        values = _Values(self._columns, ids, block.offsets)
        row_offsets, rows = self._rows(slice(0, self._encoder.node_templates), values)
        edges: dict[str, Any] = {}
        if self._encoder.edge_features:
            found = self._rows(slice(self._encoder.node_templates, None), values)
            edges = {"edge_row_offsets": found[0], "edge_rows": found[1]}
        gold = np.empty(0, np.int32) if gold is None else gold
        return EncodedCorpus(block.offsets, row_offsets, rows, gold=gold, **edges)

    def _rows(self, some: slice, values: "_Values") -> tuple[Longs, Ints]:
        """Return the features that some of the templates make at each token, in the order of the templates."""
        encoder = self._encoder
        chosen = zip(encoder.templates.templates[some], encoder.table_of[some], strict=True)
        keys = [values.keys(template, table) for template, table in chosen]
        sizes = np.zeros(values.tokens, np.int64)
        for tokens, _ in keys:
            sizes += np.bincount(tokens, minlength=values.tokens)
        row_offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        rows = np.empty(int(row_offsets[-1]), np.int32)
        next_place = row_offsets[:-1].copy()
        for tokens, hashes in keys:
            counts = np.bincount(tokens, minlength=values.tokens)
            within = np.arange(len(tokens)) - (np.cumsum(counts) - counts)[tokens]
            rows[next_place[tokens] + within] = (hashes >> np.uint64(64 - encoder.bits)).astype(np.int32)
            next_place += counts
        return row_offsets, rows


class _Column:
    """The words of a column, and the hashes of the values of its views, for each word that came so far."""

    def __init__(self, name: str, templates: TemplateSet) -> None:
        self.name = name
        self.views = [view for view in views_of(templates) if view.column == name]
        self._forget()

    def _forget(self) -> None:
        self.words = StringTable()
        self.offsets = {view: np.zeros(1, np.int64) for view in self.views}
        self.hashes = {view: np.empty(0, np.int64) for view in self.views}

    def add(self, block: Block) -> Ints:
        """Return the numbers of the words of a block; hash what is new."""
        if len(self.words) > NEW_WORDS:
            self._forget()
        before = len(self.words)
        ids = self.words.add_fields(*fields_of(block, self.name))
        new = self.words.strings(before)
        if new:
            for view in self.views:
                sizes, values = view.apply_all(new)
                self.offsets[view] = np.append(self.offsets[view], self.offsets[view][-1] + np.cumsum(sizes))
                self.hashes[view] = np.append(self.hashes[view], _hashed(values))
        return ids


class _Values:
    """The values of atoms at the tokens of a block."""

    def __init__(self, columns: Mapping[str, _Column], ids: Mapping[str, Ints], offsets: Longs) -> None:
        self.columns, self.ids = columns, ids
        self.tokens = int(offsets[-1])
        sizes = np.diff(offsets)
        self.begin, self.end = np.repeat(offsets[:-1], sizes), np.repeat(offsets[1:], sizes)
        self.single: dict[Atom, Longs] = {}

    def keys(self, template: Template, table: int) -> tuple[Longs, Hashes]:
        """Return the tokens at which a template makes a feature, as often as it does, and the hashes of these."""
        tokens = np.arange(self.tokens)
        members: dict[Atom, Longs] = {}
        for atom in template.atoms:
            if atom.view.many:
                tokens, members[atom] = self._many(atom)
        hashes = np.full(len(tokens), np.uint64((table + 1) * int(MIX[0]) % (1 << 64)))
        known = np.ones(len(tokens), np.bool_)
        for atom in template.atoms:
            values = members[atom] if atom in members else self._single(atom)[tokens]
            known &= values != NONE
            hashes = _mixed(hashes, values)
        return tokens[known], hashes[known] * MIX[1]

    def _single(self, atom: Atom) -> Longs:
        """Return the value of an atom at each token; NONE where there is none."""
        if atom not in self.single:
            column = self.columns[atom.view.column]
            offsets, hashes = column.offsets[atom.view], column.hashes[atom.view]
            of_word = np.full(len(offsets) - 1, NONE, np.int64)
            there = np.diff(offsets) > 0
            of_word[there] = hashes[offsets[:-1][there]]
            self.single[atom] = self._shifted(of_word[self.ids[atom.view.column]], atom.offset)
        return self.single[atom]

    def _shifted(self, values: Longs, offset: int) -> Longs:
        place = np.arange(self.tokens) + offset
        before, after = self.begin - place, place - self.end + 1
        inside = (before <= 0) & (after <= 0)
        shifted: Longs = np.where(before > 0, OUTSIDE + 2 * before - 1, OUTSIDE + 2 * after)
        shifted[inside] = values[place[inside]]
        return shifted

    def _many(self, atom: Atom) -> tuple[Longs, Longs]:
        """Return the tokens as often as the atom has values there, and the values."""
        column = self.columns[atom.view.column]
        offsets, hashes = column.offsets[atom.view], column.hashes[atom.view]
        word = self._shifted(self.ids[atom.view.column].astype(np.int64), atom.offset)
        outside = word >= OUTSIDE
        starts, sizes = np.zeros(self.tokens, np.int64), np.ones(self.tokens, np.int64)
        starts[~outside] = offsets[word[~outside]]
        sizes[~outside] = np.diff(offsets)[word[~outside]]
        tokens = np.repeat(np.arange(self.tokens), sizes)
        within = np.arange(len(tokens)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        values = np.where(outside, word, NONE)[tokens]
        inside = ~outside[tokens]
        values[inside] = hashes[(starts[tokens] + within)[inside]]
        return tokens, values


def _hashed(strings: list[str]) -> Longs:
    blob, starts, ends = fields(strings)
    return hash_strings(blob, np.append(starts, ends[-1:]).astype(np.int64)) if strings else np.empty(0, np.int64)


def _mixed(hashes: Hashes, values: Longs) -> Hashes:
    """Return the hashes of keys with one more value."""
    mixed: Hashes = (hashes ^ values.astype(np.uint64)) * MIX[0]
    return mixed ^ (mixed >> HALF)


def check_bits(bits: Any) -> None:
    """Raise SapoError unless this is a number of bits that features can have."""
    if not isinstance(bits, int) or isinstance(bits, bool) or not FEWEST_BITS <= bits <= MOST_BITS:
        raise SapoError(f"hash_bits must be a whole number from {FEWEST_BITS} to {MOST_BITS}, not {bits}")
