"""Values of views (integer columns) and templates in, feature rows out.

A view is one function of one column, such as `suffix(word, 3)`. Its value at a token is an integer: 0 where there
is none, 2d - 1 at d positions before the sentence, 2d at d positions after it, larger for what was seen in
training, and below 0 where it is many-valued: then -1 - value is the number of a set. An atom is a view at an
offset. A template joins the values of its atoms into one key by shifting; the key is looked up in the template's
table, which is direct (the key is the place) for a single atom and hashed (open or frozen) for several. One atom of a
template may be many-valued (substrings): every member of the set then makes a key.

The loops go sentence by sentence, template by template, so that all they touch stays in the fastest cache.
"""

from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.tables import find_frozen, find_key
from sapo.kernels.types import Bytes, Ints, Longs


class Templates(NamedTuple):
    """Some of the templates, and all atoms."""

    offsets: Ints  # [templates + 1] into atoms
    tables: Ints  # [templates] CRF++ templates of the same name share a table
    shifts: Ints  # [templates] -1, or the bits to the right of the many-valued atom
    atoms: Ints  # of all templates, one after the other
    atom_view: Ints  # [atoms]
    atom_offset: Ints  # [atoms]
    atom_bits: Ints  # [atoms] how many bits a value needs


class Values(NamedTuple):
    """What the views make of a corpus."""

    values: Ints  # [views, tokens]
    set_offsets: Longs  # members of set s: from set_offsets[s] up to set_offsets[s + 1]
    set_members: Ints


class Frozen(NamedTuple):
    """Frozen tables: see kernels/tables.py."""

    rest_bits: Ints  # [tables] 0 for tables that are not frozen
    buckets: Ints  # all tables, one after the other: each has a last one that only ends the one before
    offsets: Longs  # [tables + 1] into buckets
    rests: Bytes
    origins: Longs  # [tables] into rests


class Tables(NamedTuple):
    """The known features."""

    keys: Longs  # [features] of open tables
    slots: Ints  # direct and open tables, one after the other
    offsets: Longs  # [tables + 1] into slots
    frozen: Frozen


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
    """The value of each atom at each token of a sentence."""
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
    atom_bits: Ints,  # [atoms] how many bits a value needs
    shifted: Ints,
    T: int,
    keys: Longs,  # [T] out: -1 where an atom has no value
    members: Ints,  # [T] out: the set of the many-valued atom, -1 where there is none
) -> None:
    """The key of one template at each token of a sentence."""
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
def find_row(key: int, table: int, direct: bool, tables: Tables) -> int:
    """The feature row of a key, or -1. In a direct table the key is the place."""
    base = tables.offsets[table]
    if direct:
        return int(tables.slots[base + key]) - 1
    frozen = tables.frozen
    if frozen.rest_bits[table] == 0:
        mask = tables.offsets[table + 1] - base - 1
        return int(tables.slots[find_key(key, tables.keys, tables.slots, base, mask)]) - 1
    base = frozen.offsets[table]
    mask = frozen.offsets[table + 1] - base - 2
    return find_frozen(key, frozen.rest_bits[table], frozen.buckets, base, mask, frozen.rests, frozen.origins[table])


@kernel
def rows_of_keys(keys: Longs, T: int, table: int, direct: bool, tables: Tables) -> None:
    """Put the row of each key, or -1, in its place."""
    slots, frozen = tables.slots, tables.frozen
    base = tables.offsets[table]
    if direct:
        for t in range(T):
            if keys[t] >= 0:
                keys[t] = slots[base + keys[t]] - 1
    elif frozen.rest_bits[table] == 0:
        mask = tables.offsets[table + 1] - base - 1
        for t in range(T):
            if keys[t] >= 0:
                keys[t] = slots[find_key(keys[t], tables.keys, slots, base, mask)] - 1
    else:
        bits = int(frozen.rest_bits[table])
        base = frozen.offsets[table]
        mask = frozen.offsets[table + 1] - base - 2
        origin = frozen.origins[table]
        for t in range(T):
            if keys[t] >= 0:
                keys[t] = find_frozen(keys[t], bits, frozen.buckets, base, mask, frozen.rests, origin)


@kernel
def feature_rows(
    sentence_offsets: Longs,  # [sentences + 1]
    templates: Templates,
    views: Values,
    tables: Tables,
    rows: Ints,  # out, with room
    row_offsets: Longs,  # [tokens + 1] out
) -> int:
    """The known features of every token; return their number."""
    template_offsets, template_table, template_shift = templates.offsets, templates.tables, templates.shifts
    atoms, atom_view, atom_bits = templates.atoms, templates.atom_view, templates.atom_bits
    values, set_offsets, set_members = views
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
            if template_shift[k] < 0:  # one key a token
                rows_of_keys(keys[k], T, template_table[k], last - first <= 1, tables)
        for t in range(T):
            for k in range(count):
                if keys[k, t] < 0:
                    continue
                if template_shift[k] < 0:
                    rows[written] = keys[k, t]
                    written += 1
                    continue
                direct = template_offsets[k + 1] - template_offsets[k] <= 1
                if members[k, t] < 0:  # outside of the sentence
                    row = find_row(keys[k, t], template_table[k], direct, tables)
                    if row >= 0:
                        rows[written] = row
                        written += 1
                else:
                    for m in range(set_offsets[members[k, t]], set_offsets[members[k, t] + 1]):
                        key = keys[k, t] | (int(set_members[m]) << template_shift[k])
                        row = find_row(key, template_table[k], direct, tables)
                        if row >= 0:
                            rows[written] = row
                            written += 1
            row_offsets[begin + t + 1] = written
    return written


@kernel
def longest_sentence(sentence_offsets: Longs) -> int:
    longest = 0
    for sentence in range(len(sentence_offsets) - 1):
        longest = max(longest, sentence_offsets[sentence + 1] - sentence_offsets[sentence])
    return longest
