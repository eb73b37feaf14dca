"""Read models of CRFsuite, and write them: attributes are ready-made features, and transitions are the edges.

A file has a header and five parts, all numbers little-endian:

    header      "lCRF", size, "FOMC", version 100, numbers of features, labels and attributes (0), five offsets
    features    "FEAT", size, number; for each: kind (0 state, 1 transition), source, label, weight (64 bits)
    labels      a constant quark database (CQDB): names by number, and a hash table of numbers by name
    attributes  the same
    references  "LFRF" and "AFRF": the features of each label and of each attribute

A reader needs the first four; nothing in a file is trusted. sapo keeps weights in 32 bits.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sapo.corpus.files import open_regular, write_file
from sapo.errors import ModelError, SapoError, check_limit
from sapo.features.encoded import Pairs
from sapo.features.ready import FeatureEncoder
from sapo.features.strings import StringTable
from sapo.jit.arrays import Longs
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows
from sapo.tagger.model import Model

MAGIC = b"lCRF"
WHAT = "a CRFsuite model"
HEADER = struct.Struct("<4sI4s9I")
CHUNK = struct.Struct("<4sII")
DATABASE = struct.Struct("<4s5I")
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1
BYTE_ORDER = 0x62445371
TABLES = 256  # of a database
LARGEST_WEIGHT = 1e30


def is_crfsuite(path: str | Path) -> bool:
    """Return whether a file begins as a model of CRFsuite does."""
    try:
        with open_regular(path) as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def read_crfsuite(path: str | Path) -> Model:
    """Return the model of a CRFsuite file. Raise SapoError if it is damaged."""
    try:
        with open_regular(path) as stream:
            data = stream.read()
        return _model(data, path)
    except SapoError:
        raise
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, IndexError, OverflowError, struct.error) as error:
        raise ModelError(f"{path}: not {WHAT}: it is damaged ({error})") from None


def _model(data: bytes, path: str | Path) -> Model:
    _, _, kind, version, _, label_count, _, features_at, labels_at, attributes_at, *_ = HEADER.unpack_from(data)
    if kind != b"FOMC" or version != 100:
        raise ModelError(
            f"{path}: a CRFsuite model of the kind {kind!r}, version {version}; sapo reads FOMC, version 100"
        )
    check_limit("labels", label_count, path, "labels")
    labels, attributes = _names(data, labels_at), _names(data, attributes_at)
    if not labels or len(set(labels)) < len(labels) or len(set(attributes)) < len(attributes):
        raise ValueError("names are missing or repeated")
    check_limit("labels", len(labels), path, "labels")
    mark, _, count = CHUNK.unpack_from(data, features_at)
    begin = features_at + CHUNK.size
    if mark != b"FEAT" or begin + count * FEATURE.itemsize > len(data):
        raise ValueError("features")
    features = np.frombuffer(data, FEATURE, count, begin)
    weights = features["weight"]
    if not (np.isfinite(weights) & (np.abs(weights) <= LARGEST_WEIGHT)).all():
        raise ValueError("weights that are not finite numbers")
    if not np.isin(features["kind"], (STATE, TRANSITION)).all() or (features["label"] >= len(labels)).any():
        raise ValueError("features of other kinds or labels")
    states, transitions = features[features["kind"] == STATE], features[features["kind"] == TRANSITION]
    if (states["source"] >= len(attributes)).any() or (transitions["source"] >= len(labels)).any():
        raise ValueError("features of other attributes")
    edges = np.zeros((len(labels), len(labels)), np.float32)
    edges[transitions["source"], transitions["label"]] = transitions["weight"]
    pairs: Longs = states["source"].astype(np.int64) * len(labels) + states["label"]
    order = np.argsort(pairs, kind="stable")
    if (np.diff(pairs[order]) == 0).any():
        raise ValueError("a feature twice")
    rows = FeatureRows.of_entries(
        np.bincount(states["source"], minlength=len(attributes)).astype(np.int32),
        states["label"][order].astype(np.uint16),
        states["weight"][order].astype(np.float32),
        len(labels),
    )
    parameters = Parameters(rows, edges, Pairs.none(), np.empty((0, 1), np.float32), no_bans(len(labels)))
    return Model(tuple(labels), FeatureEncoder(StringTable(attributes)), parameters)


def _names(data: bytes, at: int) -> list[str]:
    """Return the names of a database, by number."""
    magic, _, _, order, count, offset = DATABASE.unpack_from(data, at)
    if magic != b"CQDB" or order != BYTE_ORDER:
        raise ValueError("names")
    names = []
    for number, place in enumerate(struct.unpack_from(f"<{count}I", data, at + offset) if count else ()):
        if not place:  # a writer may leave room at the end
            break
        found, length = struct.unpack_from("<II", data, at + place)
        text = data[at + place + 8 : at + place + 8 + length]
        if found != number or len(text) != length or text[-1:] != b"\0":
            raise ValueError(f"the name of number {number}")
        names.append(text[:-1].decode())
    return names


def write_crfsuite(model: Model, path: str | Path) -> None:
    """Write a model as CRFsuite does. Raise SapoError if it has what CRFsuite has not."""
    data = crfsuite_bytes(model)
    with write_file(path) as stream:
        stream.write(data)


def crfsuite_bytes(model: Model) -> bytes:
    """Return the bytes of a CRFsuite file. Raise SapoError if the model has what CRFsuite has not."""
    for wrong, why in (
        (not isinstance(model.encoder, FeatureEncoder), "it makes its features from a template; train with ready ones"),
        (len(model.parameters.pairs.codes) > 0, "it has edge features"),
        (bool(model.shown), "it learned another scheme than it shows; train with scheme='keep'"),
        (bool(model.parameters.bans.any()), "it forbids taggings; train with constraints=False"),
        (bool(model.bias), "it has a bias on labels"),
        (bool(model.parameters.lists.most), "it looks at some labels of a token only; train with exact=True"),
        (any("\0" in name for name in model.labels), "a label has the character 0"),
    ):
        if wrong:
            raise ModelError(f"the model cannot be written as {WHAT}: {why}")
    scale = 1.0 / model.temperature  # CRFsuite has no temperature; the scores of all taggings are divided by it
    counts, labels, values = model.parameters.rows.entries()
    used = np.flatnonzero(counts)
    names = model.encoder.feature_names(used.tolist())
    if any("\0" in name for name in names):
        raise ModelError(f"the model cannot be written as {WHAT}: a feature has the character 0")
    states = np.zeros(len(labels), FEATURE)
    states["source"] = np.repeat(np.arange(len(used)), counts[used])
    states["label"], states["weight"] = labels, values.astype(np.float64) * scale
    edges = model.parameters.edges
    before, after = np.nonzero(edges)
    transitions = np.zeros(len(before), FEATURE)
    transitions["kind"], transitions["source"], transitions["label"] = TRANSITION, before, after
    transitions["weight"] = edges[before, after].astype(np.float64) * scale
    features = np.concatenate([states, transitions])
    parts = [
        CHUNK.pack(b"FEAT", CHUNK.size + features.nbytes, len(features)) + features.tobytes(),
        _database(list(model.labels)),
        _database(names),
    ]
    offsets = list(HEADER.size + np.cumsum([0, *map(len, parts)]))
    # CRFsuite has two more labels here, for the borders of a sequence; they have no features
    for mark, kind, size in ((b"LFRF", TRANSITION, len(model.labels) + 2), (b"AFRF", STATE, len(names))):
        of_kind = np.flatnonzero(features["kind"] == kind)
        parts.append(_references(mark, offsets[-1], features["source"][of_kind], of_kind, size))
        offsets.append(offsets[-1] + len(parts[-1]))
    head = HEADER.pack(
        MAGIC, offsets[-1], b"FOMC", 100, 0, len(model.labels), len(names), *(int(at) for at in offsets[:5])
    )
    return head + b"".join(parts)


def _references(mark: bytes, at: int, sources: Longs, features: Longs, size: int) -> bytes:
    """Return which features each source has, as a part of a file that begins at `at`."""
    order = np.argsort(sources, kind="stable")
    counts = np.bincount(sources, minlength=size)
    ends = np.cumsum(counts)
    lists = [
        struct.pack("<I", count) + features[order[end - count : end]].astype("<u4").tobytes()
        for count, end in zip(counts.tolist(), ends.tolist(), strict=True)
    ]
    begin = at + CHUNK.size + 4 * size
    places = begin + np.cumsum([0, *map(len, lists)])[:-1]
    body = places.astype("<u4").tobytes() + b"".join(lists)
    return CHUNK.pack(mark, CHUNK.size + len(body), size) + body


def _database(names: Sequence[str]) -> bytes:
    """Return names as a constant quark database: records, hash tables with twice as many places, and record places."""
    base = DATABASE.size + 8 * TABLES
    records, places, at = [], [], base
    tables: list[list[tuple[int, int]]] = [[] for _ in range(TABLES)]
    for number, name in enumerate(names):
        key = name.encode() + b"\0"
        record = struct.pack("<II", number, len(key)) + key
        code = quark_hash(key)
        tables[code % TABLES].append((code, at))
        places.append(at)
        records.append(record)
        at += len(record)
    heads, bodies = [], []
    for table in tables:
        size = 2 * len(table)
        slots = [(0, 0)] * size
        for code, place in table:
            slot = (code >> 8) % size
            while slots[slot][1]:
                slot = (slot + 1) % size
            slots[slot] = code, place
        heads.append(struct.pack("<II", at if table else 0, size))
        bodies.append(b"".join(struct.pack("<II", *slot) for slot in slots))
        at += len(bodies[-1])
    backward = struct.pack(f"<{len(places)}I", *places)
    head = DATABASE.pack(b"CQDB", at + len(backward), 0, BYTE_ORDER, len(names), at if names else 0)
    return b"".join([head, *heads, *records, *bodies, backward])


def quark_hash(key: bytes) -> int:
    """Return the hash of a key by lookup3 of Bob Jenkins (hashlittle), which CQDB uses.

    >>> hex(quark_hash(b"Four score and seven years ago"))
    '0x17770551'
    """
    a: int = (0xDEADBEEF + len(key)) & 0xFFFFFFFF
    b, c = a, a
    at = 0
    while len(key) - at > 12:
        x, y, z = (int(word) for word in struct.unpack_from("<III", key, at))
        a, b, c = _mix((a + x) & 0xFFFFFFFF, (b + y) & 0xFFFFFFFF, (c + z) & 0xFFFFFFFF)
        at += 12
    if at == len(key):
        return c
    x, y, z = (int(word) for word in struct.unpack("<III", key[at:].ljust(12, b"\0")))
    a, b, c = (a + x) & 0xFFFFFFFF, (b + y) & 0xFFFFFFFF, (c + z) & 0xFFFFFFFF
    for bits in (14, 11, 25, 16, 4, 14, 24):  # of c by b, a by c, b by a, and so on
        a, b, c = b, ((c ^ b) - _rotated(b, bits)) & 0xFFFFFFFF, a
    return b


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = ((a - c) & 0xFFFFFFFF) ^ _rotated(c, first)
        c = (c + b) & 0xFFFFFFFF
        b = ((b - a) & 0xFFFFFFFF) ^ _rotated(a, second)
        a = (a + c) & 0xFFFFFFFF
        c = ((c - b) & 0xFFFFFFFF) ^ _rotated(b, third)
        b = (b + a) & 0xFFFFFFFF
    return a, b, c
