"""Training blocks in, an encoder and the encoded corpus out."""

from collections.abc import Iterable, Mapping

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder, fields_of
from sapo.encode.layout import Layout, many_keys, view_values, views_of
from sapo.encode.open_tables import make_tables
from sapo.encode.slots import new_slots
from sapo.encode.strings import StringTable, power_of_two
from sapo.encode.template import TemplateSet
from sapo.encode.view_values import ViewValues
from sapo.kernels import features, tables
from sapo.kernels.types import Ints, Longs


def build_encoder(
    blocks: Iterable[Block], templates: TemplateSet, labels: StringTable, *, min_count: int = 1
) -> tuple[TemplateEncoder, EncodedCorpus]:
    """Read the training blocks once: number their strings, collect the features, and encode the blocks.

    Features that occur less than `min_count` times are left out; new labels are added to `labels`.
    """
    columns = {name: StringTable() for name in templates.columns}
    ids, offsets, gold = _read(blocks, columns, labels)
    views = tuple(ViewValues.of_words(view, columns[view.column]) for view in views_of(templates))
    layout = Layout(templates, views)
    found = _count_features(layout, ids, offsets, min_count)
    known = _most_frequent_first(found[: layout.node_tables], 0)
    edges = _most_frequent_first(found[layout.node_tables :], layout.node_tables)
    encoder = TemplateEncoder(templates, columns, views, make_tables(layout, known, edges))
    return encoder, encoder.session().encode_ids(ids, offsets, gold)


def _read(
    blocks: Iterable[Block], columns: Mapping[str, StringTable], labels: StringTable
) -> tuple[dict[str, Ints], Longs, Ints]:
    """Return the numbers of all strings, where sentences begin, and the labels; add new strings to the tables."""
    ids: dict[str, list[Ints]] = {name: [np.empty(0, np.int32)] for name in columns}
    golds, sizes = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for block in blocks:
        for name, table in columns.items():
            ids[name].append(table.add_fields(*fields_of(block, name)))
        golds.append(labels.add_fields(*block.column(LABEL)))
        sizes.append(np.diff(block.offsets))
    joined = {name: np.concatenate(parts) for name, parts in ids.items()}
    return joined, np.cumsum(np.concatenate(sizes)), np.concatenate(golds)


def _count_features(
    layout: Layout, ids: Mapping[str, Ints], offsets: Longs, min_count: int
) -> list[tuple[Longs, Ints]]:
    """Return for each table the keys that occur often enough, and how often they do."""
    values = view_values(layout, ids, int(offsets[-1]), {})
    return [distinct_keys(table_keys(layout, table, offsets, values), min_count) for table in range(len(layout.tables))]


def table_keys(layout: Layout, table: int, offsets: Longs, values: features.Values) -> Longs:
    """Return all keys that the templates of one table make, as often as they occur."""
    wanted = []
    for template in np.flatnonzero(layout.template_table == table).tolist():
        most = many_keys(layout.many_view[template], values)
        keys = np.empty(most + int(offsets[-1]), np.int64)
        written = features.template_keys(template, offsets, layout.arrays(), values, keys)
        wanted.append(keys[:written])
    return np.concatenate(wanted)


def _most_frequent_first(found: list[tuple[Longs, Ints]], first_table: int) -> tuple[Longs, Ints]:
    """Return keys and tables of all features in the order of their rows: frequent ones together, for the cache."""
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    order = np.argsort(-np.concatenate([counts for _, counts in found]), kind="stable")
    tables_found = np.arange(first_table, first_table + len(found), dtype=np.int32)
    owner = np.repeat(tables_found, [len(keys) for keys, _ in found])
    return np.concatenate([keys for keys, _ in found])[order], owner[order]


def distinct_keys(wanted: Longs, min_count: int) -> tuple[Longs, Ints]:
    """Return the keys that occur often enough, in the order in which they first come, and how often they do."""
    keys = np.empty(len(wanted), np.int64)
    counts = np.empty(len(wanted), np.int32)
    slots = new_slots(power_of_two(2 * len(wanted)))
    distinct = tables.count_keys(wanted, keys, counts, slots)
    often = counts[:distinct] >= min_count
    return keys[:distinct][often], counts[:distinct][often]
