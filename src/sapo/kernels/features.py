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
from sapo.kernels.tables import find_frozen, find_row
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
    seeds: Longs  # [tables] of hashes; 0: none


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
    # bundles are opened once: each use of one in a loop would count the references to its arrays
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
            # one key a token: put the row in its place
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
                while member < last_member:  # once without a member, if it is outside of the sentence
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
    longest = 0
    for sentence in range(len(sentence_offsets) - 1):
        longest = max(longest, sentence_offsets[sentence + 1] - sentence_offsets[sentence])
    return longest
