"""Weights in, the arrays of a model file out, and back.

Of each row, a feature's or a label's (what may follow it), the file keeps how many weights are not zero, their labels
and the weights: small integers, and 32 or 16 bits a weight. Features without a weight are left out.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapo.encode.encoder import TemplateEncoder
from sapo.encode.frozen import freeze, frozen_arrays
from sapo.encode.interface import Encoder
from sapo.encode.narrow import narrow, widen
from sapo.encode.pairs import Pairs
from sapo.encode.ready import FeatureEncoder
from sapo.encode.strings import StringTable, array_of, valid_offsets
from sapo.errors import SapoError
from sapo.kernels.types import Bools, Floats, Ints, Lists, Longs, Shorts
from sapo.search.lattice import ALL_LABELS, Parameters, no_bans
from sapo.search.rows import FeatureRows, filled_matrix, fits_matrix

Arrays = Mapping[str, np.ndarray]
LARGEST_HALF = 65504.0


def small_model(encoder: Encoder, parameters: Parameters, edge_keep: Bools | None = None) -> tuple[Encoder, Parameters]:
    """Return the encoder and the weights as a file keeps them: only features that have a weight, in small tables.

    `edge_keep` marks the edge features to keep; by default all of them.
    """
    if not encoder.linear:
        return encoder, parameters
    counts, labels, values = parameters.rows.entries()
    if isinstance(encoder, FeatureEncoder):
        order = np.flatnonzero(counts)
        names = encoder.feature_names(order.tolist())
        return FeatureEncoder(StringTable(names)), _reordered(parameters, (counts, labels, values), order)
    assert isinstance(encoder, TemplateEncoder)
    frozen = freeze(encoder, counts > 0, edge_keep)
    smaller = _reordered(parameters, (counts, labels, values), frozen.order)
    return frozen.encoder, _with_edge_order(smaller, frozen.edge_order)


def _reordered(parameters: Parameters, entries: tuple[Ints, Shorts, Floats], order: Longs) -> Parameters:
    counts, labels, values = entries
    starts = np.cumsum(counts, dtype=np.int64) - counts
    new = counts[order]
    places = np.repeat(starts[order] - (np.cumsum(new) - new), new) + np.arange(int(new.sum()))
    rows = FeatureRows.of_entries(new, labels[places], values[places], parameters.labels)
    return _replace(parameters, rows=rows)


def _with_edge_order(parameters: Parameters, order: Longs) -> Parameters:
    pairs = parameters.pairs
    sizes = np.diff(pairs.offsets)[order]
    places = np.repeat(pairs.offsets[:-1][order] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    offsets = np.append(0, np.cumsum(sizes))
    return _replace(parameters, pairs=Pairs(offsets, pairs.codes[places]), pair_weights=parameters.pair_weights[places])


def _replace(parameters: Parameters, **changes: Any) -> Parameters:
    kept = {name: getattr(parameters, name) for name in ("rows", "edges", "pairs", "pair_weights", "bans", "lists")}
    return Parameters(**{**kept, **changes})


def encoder_arrays(encoder: Encoder) -> dict[str, np.ndarray]:
    """Return the arrays of an encoder of `small_model`."""
    if isinstance(encoder, TemplateEncoder):
        return frozen_arrays(encoder)
    return dict(encoder.arrays())


def weight_arrays(parameters: Parameters, *, half: bool = False) -> dict[str, np.ndarray]:
    """Return the arrays of the weights; what is not there is left out, as edge features and bans of a plain model."""
    arrays = {
        **_sparse("weight", parameters.rows, half=half),
        **_sparse("edge", FeatureRows.of_matrix(parameters.edges), half=False),
    }
    if len(parameters.pairs.offsets) > 1:
        arrays["pair.counts"] = narrow(np.diff(parameters.pairs.offsets))
        arrays["pair.codes"] = parameters.pairs.codes
        arrays["pair.weights"] = parameters.pair_weights
    if parameters.bans.any():
        arrays["bans"] = np.packbits(parameters.bans < 0)
    lists = parameters.lists
    if lists.most:
        arrays["list.most"] = np.array([lists.most], np.int64)
        arrays["list.order"] = narrow(lists.order)
        arrays["list.counts"] = narrow(np.diff(lists.offsets))
        arrays["list.labels"] = narrow(lists.labels.astype(np.int32))
    return arrays


def weights_of(arrays: Arrays, encoder: Encoder, labels: int) -> Parameters:
    """Return the weights of a file; raise ValueError or KeyError where its arrays do not fit together."""
    rows = _dense("weight", arrays, encoder.features, labels)
    edges = _dense("edge", arrays, labels, labels).matrix()
    pairs, pair_weights = Pairs.none(), np.empty((0, 1), np.float32)
    if encoder.edge_features:
        counts = widen(arrays, "pair.counts")
        offsets = np.append(0, np.cumsum(counts, dtype=np.int64))
        pairs, pair_weights = _pairs(arrays, offsets, encoder.edge_features, labels)
    bans = no_bans(labels)
    if "bans" in arrays:
        packed = array_of(arrays, "bans", np.uint8)
        if len(packed) != -(-bans.size // 8):
            raise ValueError("bans")
        bans[np.unpackbits(packed, count=bans.size).reshape(bans.shape) > 0] = -np.inf
    return Parameters(rows, np.ascontiguousarray(edges), pairs, pair_weights, bans, _lists(arrays, labels))


def _sparse(name: str, rows: FeatureRows, *, half: bool) -> dict[str, np.ndarray]:
    counts, labels, values = rows.entries()
    if half and np.abs(values).max(initial=0.0) > LARGEST_HALF:
        raise SapoError(f"a weight is larger than {LARGEST_HALF:,.0f} and does not fit into 16 bits; save all 32")
    return {
        f"{name}.counts": narrow(counts),
        f"{name}.labels": narrow(labels.astype(np.int32)),
        f"{name}.values": values.astype(np.float16) if half else values,
    }


def _dense(name: str, arrays: Arrays, features: int, labels: int) -> FeatureRows:
    counts, found, values = widen(arrays, f"{name}.counts"), widen(arrays, f"{name}.labels"), arrays[f"{name}.values"]
    if values.dtype not in (np.float16, np.float32) or values.ndim != 1:
        raise ValueError(f"{name}.values")
    if len(counts) != features or int(counts.sum(dtype=np.int64)) != len(found) or len(found) != len(values):
        raise ValueError(f"{name}.counts")
    if int(counts.max(initial=0)) > labels or int(found.max(initial=0)) >= max(labels, 1):
        raise ValueError(f"{name}.labels")
    if fits_matrix(features, labels):
        return FeatureRows.of_matrix(filled_matrix(counts, found, values, labels))
    return FeatureRows.of_entries(counts, found.astype(np.uint16), np.array(values, np.float32), labels)


def _pairs(arrays: Arrays, offsets: Longs, edge_features: int, labels: int) -> tuple[Pairs, Floats]:
    codes = array_of(arrays, "pair.codes", np.int32)
    if not valid_offsets(offsets, edge_features, len(codes)):
        raise ValueError("pair.offsets")
    if len(codes) and not 0 <= codes.min() <= codes.max() < labels * labels:
        raise ValueError("pair.codes")
    return Pairs(offsets.copy(), codes.copy()), _floats(arrays, "pair.weights", len(codes), 1)


def _lists(arrays: Arrays, labels: int) -> Lists:
    if "list.most" not in arrays:
        return ALL_LABELS
    most = array_of(arrays, "list.most", np.int64)
    order, counts, found = (widen(arrays, f"list.{name}") for name in ("order", "counts", "labels"))
    if len(most) != 1 or not 1 <= int(most[0]) <= labels:
        raise ValueError("list.most")
    if len(order) != labels or (np.sort(order) != np.arange(labels)).any():
        raise ValueError("list.order")
    offsets = np.append(0, np.cumsum(counts, dtype=np.int64))
    if offsets[-1] != len(found) or int(found.max(initial=0)) >= labels:
        raise ValueError("list.labels")
    return Lists(int(most[0]), order.astype(np.int32), offsets, found.astype(np.uint16))


def _floats(arrays: Arrays, name: str, *shape: int) -> Floats:
    if arrays[name].dtype != np.float32 or arrays[name].shape != shape:
        raise ValueError(name)
    return arrays[name].copy()
