"""Lay out templates and vocabularies as arrays, and compute the feature rows of sentences from them.

A view is one function of one column, such as `suffix(word, 3)`. Its value at a token is an integer: 0 if there is
none, 2d - 1 at d positions before the sentence, 2d at d positions after it, larger for values that training has seen,
and below 0 for many-valued views: then -1 - value is the number of a set. An atom is a view at an offset. A template
joins the values of its atoms into one key by shifting. The key is looked up in the template's table, which is direct
(the key is the place) for a single atom and hashed (open or frozen) for several. One atom of a template may be
many-valued (substrings): then every member of the set makes a key.

The loops go sentence by sentence, template by template, so that everything they touch stays in the fastest cache.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sapo.errors import DataError, ModelError, SapoError
from sapo.features.hashing import find_frozen, find_row
from sapo.features.template import Template, TemplateSet
from sapo.features.words import ColumnView, NewWords, ViewValues
from sapo.jit import kernel
from sapo.jit.arrays import Bytes, Ints, Longs, pieces_of

KEY_BITS = 63
FEW_TOKENS = 10  # words of a column for each token, above which sorting finds the distinct ones faster
ALL = slice(0, None)


class Templates(NamedTuple):
    """Some of the templates, and all atoms."""

    offsets: Ints  # [templates + 1] into atoms
    tables: Ints  # [templates] CRF++ templates of the same name share a table
    shifts: Ints  # [templates] -1, or the bits to the right of the many-valued atom
    atoms: Ints  # of all templates, one after the other
    atom_view: Ints  # [atoms]
    atom_offset: Ints  # [atoms]
    atom_bits: Ints  # [atoms] the number of bits of a value


class Values(NamedTuple):
    """The values of all views in a corpus."""

    values: Ints  # [views, tokens]
    set_offsets: Longs  # set s has the members set_members[set_offsets[s]:set_offsets[s + 1]]
    set_members: Ints


class FrozenBuckets(NamedTuple):
    """Frozen tables: see features/hashing.py."""

    rest_bits: Ints  # [tables] 0 for tables that are not frozen
    buckets: Ints  # first row of each bucket, all tables one after the other; a last bucket ends the one before it
    offsets: Longs  # [tables + 1] into buckets
    rests: Bytes
    origins: Longs  # [tables] into rests
    seeds: Longs  # [tables] 0 if the quick hash is used


class Tables(NamedTuple):
    """The known features."""

    keys: Longs  # [features] of open tables
    slots: Ints  # direct and open tables, one after the other
    offsets: Longs  # [tables + 1] into slots
    frozen: FrozenBuckets


@kernel
def shift_values(
    begin: int,  # the sentence: tokens begin up to end
    end: int,
    first: int,  # the atoms: first up to last
    last: int,
    atom_view: Ints,  # [atoms]
    atom_offset: Ints,  # [atoms]
    values: Ints,  # [views, tokens]
    shifted: Ints,  # [atoms, longest] out
) -> None:
    """Write the value of each atom at each token of a sentence."""
    for a in range(first, last):
        view = atom_view[a]
        offset = atom_offset[a]
        for at in range(begin, end):
            place = at + offset
            if place < begin:
                value = 2 * (begin - place) - 1
            elif place >= end:
                value = 2 * (place - end + 1)
            else:
                value = int(values[view, place])
            shifted[a, at - begin] = value


@kernel
def join_values(
    first: int,  # the template's atoms: template_atoms[first:last]
    last: int,
    template_atoms: Ints,
    atom_bits: Ints,  # [atoms] the number of bits of a value
    shifted: Ints,
    T: int,
    keys: Longs,  # [T] out: -1 if an atom has no value
    members: Ints,  # [T] out: the set of the many-valued atom, -1 if there is none
) -> None:
    """Write the key of one template at each token of a sentence."""
    for t in range(T):
        keys[t] = 0
        members[t] = -1
    for i in range(first, last):
        a = template_atoms[i]
        bits = int(atom_bits[a])
        for t in range(T):
            value = int(shifted[a, t])
            if keys[t] < 0 or value == 0:
                keys[t] = -1
            elif value < 0:
                members[t] = -1 - value
                keys[t] = keys[t] << bits
            else:
                keys[t] = (keys[t] << bits) | value


@kernel
def template_keys(k: int, sentence_offsets: Longs, templates: Templates, views: Values, out: Longs) -> int:
    """Write all keys of the template k over a corpus to `out`, which has room; return their number."""
    atoms, atom_view, atom_offset, atom_bits = (
        templates.atoms,
        templates.atom_view,
        templates.atom_offset,
        templates.atom_bits,
    )
    values, set_offsets, set_members = views
    first = templates.offsets[k]
    last = templates.offsets[k + 1]
    shift = int(templates.shifts[k])
    longest = longest_sentence(sentence_offsets)
    shifted = np.empty((len(atom_view), longest), np.int32)
    keys = np.empty(longest, np.int64)
    members = np.empty(longest, np.int32)
    written = 0
    for sentence in range(len(sentence_offsets) - 1):
        begin = sentence_offsets[sentence]
        end = sentence_offsets[sentence + 1]
        for i in range(first, last):
            a = atoms[i]
            shift_values(begin, end, a, a + 1, atom_view, atom_offset, values, shifted)
        join_values(first, last, atoms, atom_bits, shifted, end - begin, keys, members)
        for t in range(end - begin):
            if keys[t] < 0:
                continue
            if members[t] < 0:
                out[written] = keys[t]
                written += 1
            else:
                for m in range(set_offsets[members[t]], set_offsets[members[t] + 1]):
                    out[written] = keys[t] | (int(set_members[m]) << shift)
                    written += 1
    return written


@kernel
def feature_rows(
    sentence_offsets: Longs,  # [sentences + 1]
    templates: Templates,
    views: Values,
    tables: Tables,
    rows: Ints,  # out, with room
    row_offsets: Longs,  # [tokens + 1] out
) -> int:
    """Write the known features of every token; return their number."""
    template_offsets, template_table, template_shift = templates.offsets, templates.tables, templates.shifts
    atoms, atom_view, atom_bits = templates.atoms, templates.atom_view, templates.atom_bits
    values, set_offsets, set_members = views
    # unpack bundles once: each use of one in a loop would count the references to its arrays
    feature_keys, slots, slot_offsets, frozen = tables
    rest_bits, buckets, bucket_offsets, rests, origins, seeds = frozen
    longest = longest_sentence(sentence_offsets)
    count = len(template_table)
    shifted = np.empty((len(atom_view), longest), np.int32)
    keys = np.empty((count, longest), np.int64)
    members = np.empty((count, longest), np.int32)
    written = 0
    row_offsets[0] = 0
    for sentence in range(len(sentence_offsets) - 1):
        begin = sentence_offsets[sentence]
        end = sentence_offsets[sentence + 1]
        T = end - begin
        shift_values(begin, end, 0, len(atom_view), atom_view, templates.atom_offset, values, shifted)
        for k in range(count):
            first = template_offsets[k]
            last = template_offsets[k + 1]
            join_values(first, last, atoms, atom_bits, shifted, T, keys[k], members[k])
            if template_shift[k] >= 0:
                continue
            # one key per token: replace it by its row
            table = template_table[k]
            base = slot_offsets[table]
            bits = int(rest_bits[table])
            if last - first <= 1:
                for t in range(T):
                    if keys[k, t] >= 0:
                        keys[k, t] = slots[base + keys[k, t]] - 1
            elif bits == 0:
                size = slot_offsets[table + 1] - base
                for t in range(T):
                    if keys[k, t] >= 0:
                        keys[k, t] = find_row(keys[k, t], False, feature_keys, slots, base, size)
            else:
                base = bucket_offsets[table]
                mask = bucket_offsets[table + 1] - base - 2
                origin = origins[table]
                seed = seeds[table]
                for t in range(T):
                    if keys[k, t] >= 0:
                        keys[k, t] = find_frozen(keys[k, t], bits, seed, buckets, base, mask, rests, origin)
        for t in range(T):
            for k in range(count):
                if keys[k, t] < 0:
                    continue
                if template_shift[k] < 0:
                    rows[written] = keys[k, t]
                    written += 1
                    continue
                table = template_table[k]
                direct = template_offsets[k + 1] - template_offsets[k] <= 1
                bits = int(rest_bits[table])
                if bits > 0:
                    base = bucket_offsets[table]
                    size = bucket_offsets[table + 1] - base - 1
                else:
                    base = slot_offsets[table]
                    size = slot_offsets[table + 1] - base
                some = members[k, t]
                member = set_offsets[some] if some >= 0 else -1
                last_member = set_offsets[some + 1] if some >= 0 else 0
                while member < last_member:  # once without a member, if the atom is outside the sentence
                    key = keys[k, t]
                    if member >= 0:
                        key |= int(set_members[member]) << template_shift[k]
                    if bits > 0:
                        row = find_frozen(key, bits, seeds[table], buckets, base, size - 1, rests, origins[table])
                    else:
                        row = find_row(key, direct, feature_keys, slots, base, size)
                    if row >= 0:
                        rows[written] = row
                        written += 1
                    member += 1
            row_offsets[begin + t + 1] = written
    return written


@kernel
def longest_sentence(sentence_offsets: Longs) -> int:
    """Return the number of tokens of the longest sentence."""
    longest = 0
    for sentence in range(len(sentence_offsets) - 1):
        longest = max(longest, sentence_offsets[sentence + 1] - sentence_offsets[sentence])
    return longest


class FeatureLayout:
    """The templates as arrays for the kernels.

    `view_bits` is how many bits the values of each view get. Without it they get what they need now, and a direct table
    has as many slots as there are values; with it, there is room for all values of this many bits.
    """

    def __init__(
        self, templates: TemplateSet, views: tuple[ViewValues, ...], view_bits: Sequence[int] | None = None
    ) -> None:
        self.number = number = {view.view: i for i, view in enumerate(views)}
        atoms = list(dict.fromkeys(atom for template in templates.templates for atom in template.atoms))
        reach = max((abs(atom.offset) for atom in atoms), default=0)
        self.reserved = 1 + 2 * reach  # 0 is no value, then come the positions outside the sentence
        self.templates = templates.templates
        self.node_templates = sum(not template.edge for template in templates.templates)
        self.tables, table_of = tables_of(templates)
        self.node_tables = sum(not template.edge for template in self.tables)
        self.views = views
        self.atom_view = np.array([number[atom.view] for atom in atoms], np.int32)
        self.atom_offset = np.array([atom.offset for atom in atoms], np.int32)
        self.roomy = view_bits is not None
        self.view_bits = list(self.bits_for(len(view.table) for view in views) if view_bits is None else view_bits)
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
                raise DataError(
                    f"template '{template}' joins too many different values ({bits} bits of {KEY_BITS}); "
                    "leave one of its parts out"
                )

    def arrays(self, templates: slice = ALL) -> Templates:
        """Return some of the templates as kernels take them."""
        return Templates(
            self.template_offsets[templates.start : None if templates.stop is None else templates.stop + 1],
            self.template_table[templates],
            self.template_shift[templates],
            self.template_atoms,
            self.atom_view,
            self.atom_offset,
            self.atom_bits,
        )

    def tables_of_kind(self, *, edges: bool) -> range:
        """Return the numbers of the tables of features, or of edge features, which come after them."""
        return range(self.node_tables, len(self.tables)) if edges else range(self.node_tables)

    def bits_for(self, sizes: Iterable[int]) -> list[int]:
        """Return how many bits the values of each view take, given how many values each has."""
        return [(self.reserved + size).bit_length() for size in sizes]

    def key_bits(self, table: int) -> int:
        """Return how many bits the keys of a table have."""
        return sum(self.view_bits[self.number[atom.view]] for atom in self.tables[table].atoms)

    def direct_size(self, table: int) -> int | None:
        """Return the size of the table of a template with at most one atom; None for hashed tables."""
        atoms = self.tables[table].atoms
        if len(atoms) > 1:
            return None
        if not atoms:
            return 1
        view = self.number[atoms[0].view]
        return 1 << self.view_bits[view] if self.roomy else self.reserved + len(self.views[view].table)

    def knows(self, table: int, keys: Longs) -> bool:
        """Return whether all keys of a table are joined from values that the views have."""
        rest = keys
        for atom in reversed(self.tables[table].atoms):
            view = self.number[atom.view]
            bits = self.view_bits[view]
            values = rest & ((1 << bits) - 1)
            if not (len(values) == 0 or 0 < values.min() <= values.max() < self.reserved + len(self.views[view].table)):
                return False
            rest = rest >> bits
        return not rest.any()

    def feature_name(self, table: int, key: int) -> str:
        """Return a feature as people read it; raise SapoError if its key cannot be right."""
        template = self.tables[table]
        values = []
        for atom in reversed(template.atoms):
            index = self.number[atom.view]
            bits = self.view_bits[index]
            values.append(self._value_name(index, key & ((1 << bits) - 1)))
            key >>= bits
        if key:
            raise damaged()
        return f"{template} = {' & '.join(reversed(values))}" if values else str(template)

    def _value_name(self, view: int, value: int) -> str:
        if not 0 < value < self.reserved + len(self.views[view].table):
            raise damaged()
        if value >= self.reserved:
            return self.views[view].table[value - self.reserved]
        distance = (value + 1) // 2
        return f"<{distance} before the start>" if value % 2 else f"<{distance} past the end>"


def damaged() -> SapoError:
    """Return the error for a model whose arrays do not fit together."""
    return ModelError("the model names a value that its vocabulary does not have: it was changed or damaged")


def view_values(
    layout: FeatureLayout, ids: Mapping[str, Ints], tokens: int, new_words: Mapping[str, NewWords]
) -> Values:
    """Return the value of each view at each token, and the sets of values of many-valued views.

    Without numbers of a column, `ids` leaves the values of its views 0.
    """
    values = np.zeros((len(layout.views), tokens), np.int32)
    all_offsets, all_members = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    sets = members_before = 0
    distinct: dict[str, tuple[Ints, Longs]] = {}  # the words that occur here, and which of them each token is
    for number, view in enumerate(layout.views):
        if view.view.column not in ids:
            continue
        column = ids[view.view.column]
        if view.offsets is None or view.members is None:
            # a word that is new (beyond the table) or unknown (-1) has no value
            seen = (column >= 0) & (column < len(view.table))
            values[number] = np.where(seen, column + layout.reserved, 0)
            continue
        if view.view.column not in distinct:
            distinct[view.view.column] = _distinct(column)
        words, place = distinct[view.view.column]
        offsets, members = _select(number, view, words, new_words.get(view.view.column))
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
    return Values(values, np.concatenate(all_offsets), np.concatenate(all_members))


def _distinct(column: Ints) -> tuple[Ints, Longs]:
    """Return the words that occur in a column, and which of them each token is; all numbers are at least 0.

    >>> words, place = _distinct(np.array([7, 3, 7], np.int32))
    >>> words.tolist(), place.tolist()
    ([3, 7], [1, 0, 1])
    """
    most = int(column.max(initial=-1)) + 1
    if most > FEW_TOKENS * len(column):  # a sentence: sorting its words takes less time than marking them among all
        return np.unique(column, return_inverse=True)
    there = np.zeros(most, np.bool_)
    there[column] = True
    return np.flatnonzero(there).astype(np.int32), (np.cumsum(there) - 1)[column]


def _select(number: int, view: ViewValues, words: Ints, new_words: NewWords | None) -> tuple[Longs, Ints]:
    """Return offsets and members of the given words; numbers beyond those of known words are in `new_words`."""
    assert view.offsets is not None
    assert view.members is not None
    count = len(view.offsets) - 1
    known, new = words[words < count], words[words >= count]
    offsets, places = pieces_of(view.offsets, known)
    members = view.members[places]
    if len(new) and new_words is not None:
        new_offsets, new_members = new_words.select(number, view, new - np.int32(count))
        offsets = np.concatenate([offsets, offsets[-1] + new_offsets[1:]])
        members = np.concatenate([members, new_members])
    return offsets, members


def most_rows(layout: FeatureLayout, templates: slice, values: Values) -> int:
    """Return an upper bound on the number of features of a block."""
    views = layout.many_view[templates]
    tokens = values.values.shape[1]
    return len(views) * int(tokens) + sum(many_keys(view, values) for view in views if view is not None)


def many_keys(view: int | None, values: Values) -> int:
    """Return how many keys the many-valued atom of a template makes, over all tokens."""
    if view is None:
        return 0
    sets = -1 - values.values[view]
    return int((values.set_offsets[sets + 1] - values.set_offsets[sets]).sum())


def views_of(templates: TemplateSet) -> tuple[ColumnView, ...]:
    """Return the distinct views of all templates, in their order."""
    return tuple(dict.fromkeys(atom.view for template in templates.templates for atom in template.atoms))


def tables_of(templates: TemplateSet) -> tuple[list[Template], list[int]]:
    """Return a template for each table, and for each template its table.

    A template has a table of its own, unless its bag has others with the same views, which share one.
    """
    found: dict[object, int] = {}
    first: list[Template] = []
    numbers = []
    for template in templates.templates:
        views = tuple(atom.view for atom in template.atoms)
        key = template if template.bag is None else (template.bag, template.edge, views)
        if key not in found:
            found[key] = len(found)
            first.append(template)
        numbers.append(found[key])
    return first, numbers
