"""Values of views (integer columns) and templates in, feature rows out.

A view is one function of one column, such as `suffix(word, 3)`. Its value at a token is an integer: 0 where there
is none, 2d - 1 at d positions before the sentence, 2d at d positions after it, larger for what was seen in
training. A template joins the values of its atoms (view, offset) into one key by shifting; the key is looked up
in the template's table. One atom of a template may be many-valued (substrings): its value is then the number of
a set, plus one, and every member makes a key.
"""

from sapo.kernels._jit import kernel
from sapo.kernels.tables import find_key
from sapo.kernels.types import Ints, Longs


@kernel
def join_atoms(
    first: int,  # the template's atoms: first up to last
    last: int,
    token: int,
    begin: int,  # the token's sentence: begin up to end
    end: int,
    atom_view: Ints,
    atom_offset: Ints,
    view_bits: Ints,  # how many bits a value of each view needs
    view_many: Ints,  # 1 where the values of a view are sets
    values: Ints,  # [views, tokens]
) -> tuple[int, int, int]:
    """Return key, set and shift: the key is -1 if an atom has no value, the set -1 if no atom is many-valued."""
    key = 0
    members = -1
    shift = 0
    for a in range(first, last):
        view = atom_view[a]
        bits = int(view_bits[view])
        at = token + atom_offset[a]
        if at < begin:
            value = int(2 * (begin - at) - 1)
        elif at >= end:
            value = int(2 * (at - end + 1))
        else:
            value = int(values[view, at])
            if value == 0:
                return -1, -1, 0
            if view_many[view] == 1:
                members = value - 1
                value = 0
        shift += bits
        if members >= 0 and value == 0:
            shift = 0  # from here on, count the bits that stand to the right of the member
        key = (key << bits) | value
    return key, members, shift


@kernel
def template_keys(
    first: int,
    last: int,
    sentence_offsets: Longs,  # [sentences + 1]
    atom_view: Ints,
    atom_offset: Ints,
    view_bits: Ints,
    view_many: Ints,
    values: Ints,  # [views, tokens]
    set_offsets: Longs,  # members of set s: from set_offsets[s] up to set_offsets[s + 1]
    set_members: Ints,
    keys: Longs,  # out, with room
) -> int:
    """All keys of one template over a corpus; return their number."""
    written = 0
    for sentence in range(len(sentence_offsets) - 1):
        begin = sentence_offsets[sentence]
        end = sentence_offsets[sentence + 1]
        for token in range(begin, end):
            key, members, shift = join_atoms(
                first, last, token, begin, end, atom_view, atom_offset, view_bits, view_many, values
            )
            if key < 0:
                continue
            if members < 0:
                keys[written] = key
                written += 1
            else:
                for m in range(set_offsets[members], set_offsets[members + 1]):
                    keys[written] = key | (int(set_members[m]) << shift)
                    written += 1
    return written


@kernel
def feature_rows(
    sentence_offsets: Longs,  # [sentences + 1]
    template_offsets: Ints,  # [templates + 1] into the atoms
    template_table: Ints,  # [templates] CRF++ templates of the same name share a table
    atom_view: Ints,
    atom_offset: Ints,
    view_bits: Ints,
    view_many: Ints,
    values: Ints,  # [views, tokens]
    set_offsets: Longs,
    set_members: Ints,
    keys: Longs,  # [features]
    slots: Ints,  # all tables, one after the other
    slot_offsets: Longs,  # [tables + 1]
    rows: Ints,  # out, with room
    row_offsets: Longs,  # [tokens + 1] out
) -> int:
    """The known features of every token; return their number."""
    written = 0
    row_offsets[0] = 0
    for sentence in range(len(sentence_offsets) - 1):
        begin = sentence_offsets[sentence]
        end = sentence_offsets[sentence + 1]
        for token in range(begin, end):
            for template in range(len(template_table)):
                key, members, shift = join_atoms(
                    template_offsets[template],
                    template_offsets[template + 1],
                    token,
                    begin,
                    end,
                    atom_view,
                    atom_offset,
                    view_bits,
                    view_many,
                    values,
                )
                if key < 0:
                    continue
                base = slot_offsets[template_table[template]]
                mask = slot_offsets[template_table[template] + 1] - base - 1
                if members < 0:
                    row = slots[find_key(key, keys, slots, base, mask)] - 1
                    if row >= 0:
                        rows[written] = row
                        written += 1
                else:
                    for m in range(set_offsets[members], set_offsets[members + 1]):
                        full = key | (int(set_members[m]) << shift)
                        row = slots[find_key(full, keys, slots, base, mask)] - 1
                        if row >= 0:
                            rows[written] = row
                            written += 1
            row_offsets[token + 1] = written
    return written
