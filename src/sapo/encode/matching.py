"""Match the features of two encoders by what they are, since their numbers differ.

The name of a feature is a template and a value for each of its atoms. It would be slow to spell out all names; instead
each view's values are matched once, and the keys of the features are rewritten with the other encoder's numbers.
"""

from collections.abc import Sequence

import numpy as np

from sapo.encode.encoder import TemplateEncoder
from sapo.encode.interface import Encoder
from sapo.encode.layout import Layout, damaged
from sapo.encode.ready import FeatureEncoder
from sapo.kernels.types import Ints, Longs


def matching_features(old: Encoder, new: Encoder) -> Ints:
    """Return for each feature of the old encoder its number in the new one, -1 if it has none.

    >>> from sapo.encode.strings import StringTable
    >>> matching_features(FeatureEncoder(StringTable(["a", "b"])), FeatureEncoder(StringTable(["b", "c"]))).tolist()
    [-1, 0]
    """
    if isinstance(old, FeatureEncoder) and isinstance(new, FeatureEncoder):
        return new.names.find(old.names.strings())
    if isinstance(old, TemplateEncoder) and isinstance(new, TemplateEncoder):
        return _matched(old.layout, old.groups(), old.keys, new.layout, new.groups(), new.keys)
    return np.full(old.features, -1, np.int32)


def matching_edge_features(old: Encoder, new: Encoder) -> Ints:
    """Return for each edge feature of the old encoder its number in the new one, -1 if it has none."""
    if isinstance(old, TemplateEncoder) and isinstance(new, TemplateEncoder):
        return _matched(old.layout, old.edge_groups(), old.edge_keys, new.layout, new.edge_groups(), new.edge_keys)
    return np.full(old.edge_features, -1, np.int32)


def _matched(old: Layout, old_groups: Ints, old_keys: Longs, new: Layout, new_groups: Ints, new_keys: Longs) -> Ints:
    found = np.full(len(old_keys), -1, np.int32)
    numbers = {name: table for table, name in enumerate(_table_names(new))}
    values = _matching_values(old, new)
    for table, name in enumerate(_table_names(old)):
        if name not in numbers:
            continue
        mine, theirs = np.flatnonzero(old_groups == table), np.flatnonzero(new_groups == numbers[name])
        if not (len(mine) and len(theirs)):
            continue
        keys = _rewritten(old, table, old_keys[mine], new, values)
        theirs = theirs[np.argsort(new_keys[theirs])]
        place = np.searchsorted(new_keys[theirs], keys)
        place[place == len(theirs)] = 0
        same = new_keys[theirs[place]] == keys
        found[mine[same]] = theirs[place[same]]
    return found


def _table_names(layout: Layout) -> list[tuple[object, int]]:
    """Return a name for each table. Bags of CRF++ that look alike are distinguished by their order."""
    names = [(template.atoms, template.edge) for template in layout.tables]
    return [(name, names[:place].count(name)) for place, name in enumerate(names)]


def _matching_values(old: Layout, new: Layout) -> Sequence[Longs | None]:
    """Return for each view of old its values as numbers of the new layout, -1 if unknown; None for unknown views."""
    found: list[Longs | None] = []
    for values in old.views:
        if values.view not in new.number:
            found.append(None)
            continue
        outside = np.arange(old.reserved)  # the positions outside of the sentence have fixed numbers
        inside = new.views[new.number[values.view]].table.find(values.table.strings()).astype(np.int64)
        both = [np.where(outside < new.reserved, outside, -1), np.where(inside < 0, -1, inside + new.reserved)]
        found.append(np.concatenate(both))
    return found


def _rewritten(old: Layout, table: int, keys: Longs, new: Layout, values: Sequence[Longs | None]) -> Longs:
    """Return the keys of one table with the numbers of the new layout; -1 (no feature) if a value is unknown."""
    result = np.zeros(len(keys), np.int64)
    known = np.ones(len(keys), bool)
    shift = 0
    for atom in reversed(old.tables[table].atoms):
        view = old.number[atom.view]
        matched = values[view]
        assert matched is not None  # the new layout has this template
        mine = keys & ((1 << old.view_bits[view]) - 1)
        keys = keys >> old.view_bits[view]
        if len(mine) and mine.max() >= len(matched):
            raise damaged()
        theirs = matched[mine]
        known &= theirs >= 0
        result |= np.maximum(theirs, 0) << shift
        shift += new.view_bits[new.number[atom.view]]
    return np.where(known, result, -1)
