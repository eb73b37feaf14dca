"""Store a model as one file without code, and check it before anything uses it.

A checksum protects from accidents, not from people: anybody can compute one. So nothing in a file is trusted. The
classes that know the layout of their arrays check sizes and indices when they are made (`from_arrays`); this module
calls for everything else. What would take too long here, such as the keys of millions of features, is checked where
it is used: see `make_tables` of features/tables.py. All functions raise ValueError, KeyError or TypeError.

Of each row, a feature's or a label's (what may follow it), the file keeps how many weights are not zero, their labels
and the weights: small integers, and 32 or 16 bits a weight. Features without a weight are left out.

It keeps what is not zero (see weight_arrays.py), and features that have a weight (see features/encoder.py).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import foreign_model, open_regular
from sapo.errors import ModelError, check_limit
from sapo.features.encoded import Pairs
from sapo.features.encoder import Encoder, TemplateEncoder, freeze, from_frozen_arrays, frozen_arrays
from sapo.features.ready import FeatureEncoder
from sapo.features.strings import StringTable, array_of, bounded, narrow, valid_offsets, widen
from sapo.jit.arrays import Bools, Floats, Ints, Longs, Shorts
from sapo.search.lattice import ALL_LABELS, Parameters, no_bans
from sapo.search.weights import FeatureRows, Lists, filled_matrix, fits_matrix
from sapo.tagger.arrayfile import load_arrays, pack_arrays, save_arrays, unpack_arrays
from sapo.tagger.model import Model
from sapo.tags.constraints import Constraints, impossible_length, parse_rules
from sapo.tags.schemes import TABLE, as_prefixed
from sapo.text.tokens import Rules

LARGEST_NUMBER = 1e300  # in a header: it can be shown and calculated with
TEMPERATURES = 1e-9, 1e9
LARGEST_BIAS = 1e9
LARGEST_WEIGHT = 1e30  # sums of them stay finite
LARGEST_SCALED_WEIGHT = 1e36  # of ready-made features, whose values may be as small


def check_header(header: dict[str, Any]) -> None:
    """Check labels, reader, record and the numbers of a header."""
    labels = header["labels"]
    if not isinstance(labels, list) or not labels or not _distinct_strings(labels):
        raise ValueError("labels")
    shown = header.get("shown", [])
    if not _strings(shown) or len(shown) not in (0, len(labels)):
        raise ValueError("shown")
    _check_bias(header.get("bias", {}), shown or labels)
    temperature = header.get("temperature", 1.0)
    if not (is_number(temperature) and TEMPERATURES[0] <= temperature <= TEMPERATURES[1]):
        raise ValueError("temperature")
    _check_reader(header["reader"])
    _check_record(header["record"])
    if not isinstance(header["encoder"], dict):
        raise ValueError("encoder")


def check_constraints(constraints: Constraints, labels: Sequence[str], shown: Sequence[str]) -> None:
    """Check that constraints name labels of the model, and that their rules can be read."""
    known = set(labels)
    for before, after in constraints.exceptions:
        if (before is None and after is None) or not {before, after} <= known | {None}:
            raise ValueError("exceptions")
    if constraints.scheme is not None:
        scheme = TABLE[constraints.scheme]
        if not all(scheme.fits(label) for label in as_prefixed(labels)):
            raise ValueError(f"labels that do not fit {constraints.scheme}")
    for _ in parse_rules(constraints.rules, list(dict.fromkeys(shown or labels))):
        pass


def check_weights(parameters: Parameters, kind: str) -> None:
    """Check that all weights are finite and not absurdly large, and that the bans leave a tagging."""
    rows = parameters.rows.arrays
    largest = LARGEST_SCALED_WEIGHT if kind == "features" else LARGEST_WEIGHT
    if not (bounded(rows.dense, largest) and bounded(rows.values, largest)):
        raise ValueError("weights that are not finite numbers")
    for name, block in (("edge weights", parameters.edges), ("pair weights", parameters.pair_weights)):
        if not bounded(block, LARGEST_WEIGHT):
            raise ValueError(f"{name} that are not finite numbers")
    bans = parameters.bans
    if not bans.any():
        return
    if not ((bans == 0) | (bans == -np.inf)).all():
        raise ValueError("bans")
    if impossible_length(bans):
        raise ValueError("it allows no tagging")


def _check_bias(bias: Any, labels: Sequence[str]) -> None:
    known = set(labels)
    if not isinstance(bias, dict) or not all(
        name in known and is_number(value) and abs(value) <= LARGEST_BIAS for name, value in bias.items()
    ):
        raise ValueError("bias")


def _check_reader(reader: Any) -> None:
    if not isinstance(reader, dict):
        raise ValueError("reader")
    columns = reader.get("columns")
    if columns is not None and not (isinstance(columns, list) and _distinct_strings(columns)):
        raise ValueError("reader")
    if not all(reader.get(key) is None or isinstance(reader[key], str) for key in ("format", "label")):
        raise ValueError("reader")


def _check_record(record: Any) -> None:
    """A model made by hand has none; that of a training run is shown by `sapo inspect`, and training goes on by it."""
    if not isinstance(record, dict):
        raise ValueError("record")
    if not record:
        return
    _check_settings(record["settings"])
    for key in ("sentences", "tokens", "passes", "kept_pass"):
        if not is_count(record[key]):
            raise ValueError(f"record: {key}")
    if not is_count(record.get("features", 0)):
        raise ValueError("record: features")
    for key in ("learner", "stopped", "score_name", "template"):
        if not isinstance(record[key], str):
            raise ValueError(f"record: {key}")
    if not isinstance(record.get("missing", ""), str):
        raise ValueError("record: missing")
    for entry in _listed(record, "history"):
        if not (is_count(entry["epoch"]) and all(is_number(entry[key]) for key in ("objective", "w_complexity"))):
            raise ValueError("record: history")
        if not (all(is_number(entry.get(key, 0.0)) for key in ("looked", "lost")) and is_count(entry.get("n", 1))):
            raise ValueError("record: history")
        if not (entry["dev"] is None or is_number(entry["dev"])):
            raise ValueError("record: history")
    for entry in _listed(record, "continued"):
        _check_settings(entry["settings"])
        if not all(is_count(entry[key]) for key in ("updates", "sentences", "passes")):
            raise ValueError("record: continued")
        if not isinstance(entry["stopped"], str):
            raise ValueError("record: continued")


def _check_settings(settings: Any) -> None:
    """Settings are plain values. Whether they are good ones is checked by whoever trains with them."""
    plain = isinstance(settings, dict) and all(
        value is None or isinstance(value, str | bool) or is_number(value) for value in settings.values()
    )
    if not plain:
        raise ValueError("record: settings")


def _listed(record: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = record.get(key, []) if key == "continued" else record[key]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"record: {key}")
    return entries


def is_count(value: Any) -> bool:
    """Return whether a value of JSON is a whole number from 0 on, of a size that can be calculated with."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a number that can be calculated with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST_NUMBER < value < LARGEST_NUMBER


def _strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _distinct_strings(values: list[Any]) -> bool:
    return _strings(values) and len(set(values)) == len(values)


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
    counts, found, values = _entries("weight", arrays, encoder.features, labels)
    if fits_matrix(encoder.features, labels):
        rows = FeatureRows.of_matrix(filled_matrix(counts, found, values, labels))
    else:
        rows = FeatureRows.of_entries(counts, found.astype(np.uint16), np.array(values, np.float32), labels)
    edges = filled_matrix(*_entries("edge", arrays, labels, labels), labels)
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
    return Parameters(rows, edges, pairs, pair_weights, bans, _lists(arrays, labels))


def _sparse(name: str, rows: FeatureRows, *, half: bool) -> dict[str, np.ndarray]:
    counts, labels, values = rows.entries()
    if half and np.abs(values).max(initial=0.0) > LARGEST_HALF:
        raise ModelError(f"a weight is larger than {LARGEST_HALF:,.0f} and does not fit into 16 bits; save all 32")
    return {
        f"{name}.counts": narrow(counts),
        f"{name}.labels": narrow(labels.astype(np.int32)),
        f"{name}.values": values.astype(np.float16) if half else values,
    }


def _entries(name: str, arrays: Arrays, features: int, labels: int) -> tuple[Ints, Ints, Floats]:
    """Return how many weights each row has, their labels and values, checked."""
    counts, found, values = widen(arrays, f"{name}.counts"), widen(arrays, f"{name}.labels"), arrays[f"{name}.values"]
    if values.dtype not in (np.float16, np.float32) or values.ndim != 1:
        raise ValueError(f"{name}.values")
    if len(counts) != features or int(counts.sum(dtype=np.int64)) != len(found) or len(found) != len(values):
        raise ValueError(f"{name}.counts")
    if int(counts.max(initial=0)) > labels or int(found.max(initial=0)) >= max(labels, 1):
        raise ValueError(f"{name}.labels")
    return counts, found, values


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


FORMAT = 2
WHAT = "a sapo model"
FIRST = "first."  # what the arrays of the first pass begin with
NEURAL = "neural"  # the kind of a network, which is loaded only where there is one


def save_model(model: Model, path: str | Path, *, half: bool = False) -> None:
    """Save a model. The old file at `path` stays until the new one is whole.

    `half` keeps the weights of features as 16-bit numbers: a smaller file, and scores that differ in the fourth digit.
    """
    save_arrays(path, *_parts(model, half))


def model_bytes(model: Model, *, half: bool = False) -> bytes:
    """Return the bytes that `save_model` writes."""
    return pack_arrays(*_parts(model, half))


def model_from_bytes(data: bytes, *, name: str | Path = "bytes") -> Model:
    """Return the model of `model_bytes`, checked like that of a file. Messages begin with the name."""
    return _model(name, *unpack_arrays(data, name, WHAT))


def _parts(model: Model, half: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if model.parameters.rows.features != model.encoder.features:
        raise ModelError("the features of this model have changed since it was read; get the model again, then save it")
    encoder, parameters = small_model(model.encoder, model.parameters)
    header: dict[str, Any] = {
        "format": FORMAT,
        "kind": encoder.kind,
        "labels": list(model.labels),
        "encoder": encoder.header(),
        "reader": model.reader,
        "record": model.record,
    }
    if model.temperature != 1.0:
        header["temperature"] = model.temperature
    if model.constraints != Constraints():
        header["constraints"] = model.constraints.as_json()
    if model.shown:
        header["shown"] = list(model.shown)
    if model.bias:
        header["bias"] = dict(model.bias)
    if model.text_rules != Rules():
        header["text"] = model.text_rules.as_json()
    arrays = {**weight_arrays(parameters, half=half), **encoder_arrays(encoder)}
    if model.first is not None:
        header["first"], more = _parts(model.first, half)
        arrays.update((FIRST + name, array) for name, array in more.items())
    return header, arrays


def load_model(path: str | Path) -> Model:
    """Load a model, of CRFsuite, CRF++ or Wapiti too. Check everything that a kernel will use as an index first."""
    tool = _tool_of(path)
    if tool is not None:
        from sapo.tagger.foreign import read_foreign

        return read_foreign(path, tool)
    return _model(path, *load_arrays(path, WHAT))


def _tool_of(path: str | Path) -> str | None:
    """Return the tool that wrote a model, None for sapo and for files that cannot be read."""
    try:
        with open_regular(path) as stream:
            return foreign_model(stream.read(16))
    except (OSError, ValueError):
        return None  # `load_arrays` says why


def _model(path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    version = header.get("format")
    if not isinstance(version, int):
        raise ModelError(f"{path}: not {WHAT}: it has no format number")
    if version != FORMAT:
        way = "install a newer sapo" if version > FORMAT else "train the model again"
        raise ModelError(f"{path}: has format {version}, this sapo reads format {FORMAT}; {way}")
    if header.get("kind") == NEURAL:
        from sapo.neural.options import need_torch

        need_torch()
    _check_limits(path, header)
    try:
        check_header(header)
        labels, shown = tuple(header["labels"]), tuple(header.get("shown", []))
        encoder = _encoder(header["kind"], header["encoder"], arrays)
        parameters = weights_of(arrays, encoder, len(labels))
        check_weights(parameters, encoder.kind)
        constraints = Constraints.from_json(header["constraints"]) if "constraints" in header else Constraints()
        check_constraints(constraints, labels, shown)
        bias = {name: float(value) for name, value in header.get("bias", {}).items()}
        reader, record = dict(header["reader"]), dict(header["record"])
        temperature = float(header.get("temperature", 1.0))
        rules = Rules.from_json(header["text"]) if "text" in header else Rules()
        first = _first_pass(path, header, arrays, encoder)
        return Model(labels, encoder, parameters, reader, record, temperature, constraints, shown, bias, rules, first)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ModelError(f"{path}: not {WHAT}: its parts do not fit together ({error})") from None


def _first_pass(
    path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray], encoder: Encoder
) -> Model | None:
    """Return the model of the first pass, if there is one; it needs no other columns, and has no first pass itself."""
    repeated = isinstance(encoder, TemplateEncoder) and encoder.templates.knowledge.repeated is not None
    if repeated != ("first" in header):
        raise ValueError("first pass")
    if not repeated:
        return None
    own = header["first"]
    if not isinstance(own, dict) or own.get("kind") != TemplateEncoder.kind or "first" in own:
        raise ValueError("first pass")
    parts = {name.removeprefix(FIRST): array for name, array in arrays.items() if name.startswith(FIRST)}
    first = _model(path, own, parts)
    if not set(first.encoder.columns) <= set(encoder.columns):
        raise ValueError("columns of the first pass")
    return first


def _check_limits(path: str | Path, header: dict[str, Any]) -> None:
    """Raise SapoError if a model has more labels than the limit, or a longer one: pairs of labels take memory."""
    for name in ("labels", "shown"):
        labels = header.get(name)
        if isinstance(labels, list):
            check_limit("labels", len(labels), path, "labels")
            longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
            check_limit("token", longest, path, "characters of a label")


def _encoder(kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Encoder:
    if kind == TemplateEncoder.kind:
        return from_frozen_arrays(header, arrays)
    if kind == FeatureEncoder.kind:
        return FeatureEncoder(StringTable.from_small_arrays(arrays, "names"))
    if kind == NEURAL:
        from sapo.neural.encoder import NeuralEncoder

        return NeuralEncoder.from_arrays(header, arrays)
    raise ValueError(f"kind {kind!r:.40}")
