"""An encoder as a model file keeps it: small, and quickly read."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sapo.encode.encoder import TemplateEncoder
from sapo.encode.frozen_tables import FrozenTables, freeze_tables
from sapo.encode.layout import Layout, views_of
from sapo.encode.strings import StringTable
from sapo.encode.template import parse_templates
from sapo.encode.view_values import ViewValues
from sapo.kernels.types import Bools, Longs


class Frozen(NamedTuple):
    """An encoder with frozen tables, and the rows that its features had before."""

    encoder: TemplateEncoder
    order: Longs  # [features]
    edge_order: Longs  # [edge features]


def freeze(encoder: TemplateEncoder, keep: Bools | None = None, edge_keep: Bools | None = None) -> Frozen:
    """Return an encoder of the same features, or of those to keep, with small tables. Features get new rows."""
    from sapo.encode.growing import GrowingEncoder  # which tagging does not need

    if isinstance(encoder, GrowingEncoder):
        encoder = encoder.frozen()
    kept = np.arange(encoder.features) if keep is None else np.flatnonzero(keep)
    edge_kept = np.arange(encoder.edge_features) if edge_keep is None else np.flatnonzero(edge_keep)
    nodes = encoder.keys[kept], encoder.groups()[kept]
    edges = encoder.edge_keys[edge_kept], encoder.edge_groups()[edge_kept]
    tables, order, edge_order = freeze_tables(encoder.layout, nodes, edges)
    frozen = TemplateEncoder(encoder.templates, encoder.columns, encoder.views, tables)
    return Frozen(frozen, kept[order], edge_kept[edge_order])


def frozen_arrays(encoder: TemplateEncoder) -> dict[str, np.ndarray]:
    """Return the arrays that a model file keeps of an encoder of `freeze`; others raise TypeError."""
    if not isinstance(encoder.tables, FrozenTables):
        raise TypeError("freeze the encoder first: its features get new rows")
    arrays = encoder.tables.arrays()
    for name, table in encoder.columns.items():
        arrays.update((f"column.{name}.{key}", array) for key, array in table.small_arrays().items())
    for number, view in enumerate(encoder.views):
        arrays.update((f"view.{number}.{key}", array) for key, array in view.small_arrays().items())
    return arrays


def from_frozen_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TemplateEncoder:
    """Return the encoder of a model file; raise ValueError or KeyError if its arrays do not fit together."""
    templates = parse_templates(header["template"], header["file_columns"])
    columns = {name: StringTable.from_small_arrays(arrays, f"column.{name}") for name in templates.columns}
    views = tuple(
        ViewValues.from_small_arrays(view, columns[view.column], arrays, f"view.{number}")
        for number, view in enumerate(views_of(templates))
    )
    tables = FrozenTables.from_arrays(Layout(templates, views), arrays)
    return TemplateEncoder(templates, columns, views, tables)
