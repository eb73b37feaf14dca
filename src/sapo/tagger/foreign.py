"""Read and write models of CRFsuite.

A file of CRFsuite has a header, weights, and two tables of strings: labels and attributes. Each weight belongs to an
attribute and a label, or to a pair of labels, so the model becomes one of ready-made features. A table of strings
has records (number, length, string), hash tables that lead from a string to its record, and the offsets of all records.

Nothing in a file is trusted: every offset and count is checked before it is used.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import missing_file, open_regular, write_file
from sapo.errors import ModelError, SapoError, check_limit
from sapo.features.encoded import Pairs
from sapo.features.ready import FeatureEncoder
from sapo.features.strings import StringTable
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows
from sapo.tagger.model import Model

MAGIC, KIND, VERSION = b"lCRF", b"FOMC", 100
HEADER = struct.Struct("<4sI4s9I")
CHUNK = struct.Struct("<4sII")  # name, bytes, entries
TABLE = struct.Struct("<4s5I")  # name, bytes, flags, order of bytes, strings, offset of their offsets
RECORD = struct.Struct("<II")  # number, bytes of the string with its final 0
ORDER_OF_BYTES = 0x62445371
HASH_TABLES = 256
WEIGHTS = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
OF_ATTRIBUTE, OF_PAIR = 0, 1
LARGEST_FILE = (1 << 32) - 1  # offsets have 32 bits


def read_foreign(path: str | Path, tool: str) -> Model:
    """Read a model of another tool, which `foreign_model` names. Raise SapoError if it is missing or damaged."""
    try:
        with open_regular(path) as stream:
            data = stream.read()
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    if tool == "CRFsuite":
        return crfsuite_from_bytes(data, path)
    from sapo.tagger.crfpp import model_from

    return model_from(data, tool, path)


def crfsuite_from_bytes(data: bytes, path: str | Path = "bytes") -> Model:
    """Return the model in the bytes of a file of CRFsuite. Messages begin with `path`."""
    from sapo.tagger.file import check_weights

    try:
        magic, _, kind, version, _, labels_count, _, weights_at, labels_at, attributes_at, _, _ = _unpack(
            HEADER, data, 0
        )
        if (magic, kind, version) != (MAGIC, KIND, VERSION):
            raise ValueError(f"version {version} of kind {kind!r}")
        labels, attributes = _strings(data, labels_at, "labels", path), _strings(data, attributes_at, None, path)
        if not labels or len(labels) != labels_count:
            raise ValueError("labels")
        parameters = _parameters(_weights(data, weights_at), len(attributes), len(labels))
        check_weights(parameters, FeatureEncoder.kind)
        encoder = FeatureEncoder(StringTable(attributes))
    except SapoError:
        raise
    except (ValueError, OverflowError) as error:
        raise ModelError(f"{path}: not a CRFsuite model: its parts do not fit together ({error})") from None
    return Model(tuple(labels), encoder, parameters, reader={"format": "crfsuite"})


def _unpack(form: struct.Struct, data: bytes, at: int) -> tuple[Any, ...]:
    if at + form.size > len(data):
        raise ValueError("its end is missing")
    return form.unpack_from(data, at)


def _array(data: bytes, at: int, count: int, kind: np.dtype) -> np.ndarray:
    if at + count * kind.itemsize > len(data):
        raise ValueError("its end is missing")
    return np.frombuffer(data, kind, count, at)


def _strings(data: bytes, at: int, limit: str | None, path: str | Path) -> list[str]:
    """Return the strings of a table, in the order of their numbers."""
    magic, _, _, order, count, offsets_at = _unpack(TABLE, data, at)
    if magic != b"CQDB" or order != ORDER_OF_BYTES:
        raise ValueError("table of strings")
    if offsets_at == 0:  # an empty table
        return []
    # The header counts the room that the writer had, which may be more than the strings.
    count = min(count, (len(data) - at - offsets_at) // 4)
    hash_tables = _array(data, at + TABLE.size, 2 * HASH_TABLES, np.dtype("<u4"))
    count = min(count, int(hash_tables[1::2].sum(dtype=np.int64)) // 2)
    if limit is not None:
        check_limit(limit, count, path, limit)
    names, total = [], 0
    for number, offset in enumerate(_array(data, at + offsets_at, count, np.dtype("<u4")).tolist()):
        found, length = _unpack(RECORD, data, at + offset)
        start = at + offset + RECORD.size
        total += length
        if found != number or not 1 <= length <= len(data) - start or total > len(data):  # records do not overlap
            raise ValueError(f"string {number}")
        if limit is not None:
            check_limit("token", length, path, "characters of a label")
        names.append(data[start : start + length - 1].decode("utf-8"))
    if len(set(names)) != len(names):
        raise ValueError("equal strings")
    return names


def _weights(data: bytes, at: int) -> np.ndarray:
    magic, _, count = _unpack(CHUNK, data, at)
    if magic != b"FEAT":
        raise ValueError("weights")
    return _array(data, at + CHUNK.size, count, WEIGHTS)


def _parameters(weights: np.ndarray, attributes: int, labels: int) -> Parameters:
    of_attribute, of_pair = weights[weights["kind"] == OF_ATTRIBUTE], weights[weights["kind"] == OF_PAIR]
    if len(of_attribute) + len(of_pair) != len(weights):
        raise ValueError("kinds of weights")
    for some, sources in ((of_attribute, attributes), (of_pair, labels)):
        if len(some) and (int(some["source"].max()) >= sources or int(some["label"].max()) >= labels):
            raise ValueError("indices of weights")
        codes = some["source"].astype(np.int64) * labels + some["label"]
        if len(np.unique(codes)) < len(codes):
            raise ValueError("two weights of the same feature")
    # numbers too large for single precision become infinite, which `check_weights` rejects
    with np.errstate(over="ignore"):
        values = of_attribute["weight"].astype(np.float32)
        edges = np.zeros((labels, labels), np.float32)
        edges[of_pair["source"], of_pair["label"]] = of_pair["weight"].astype(np.float32)
    order = np.argsort(of_attribute["source"], kind="stable")
    counts = np.bincount(of_attribute["source"], minlength=attributes).astype(np.int32)
    rows = FeatureRows.of_entries(counts, of_attribute["label"][order].astype(np.uint16), values[order], labels)
    return Parameters(rows, edges, Pairs.none(), np.empty((0, 1), np.float32), no_bans(labels))


def save_crfsuite(model: Model, path: str | Path) -> None:
    """Write a model as a file of CRFsuite. Raise SapoError if such a file cannot hold what the model has."""
    data = crfsuite_bytes(model)
    with write_file(path) as stream:
        stream.write(data)


def crfsuite_bytes(model: Model) -> bytes:
    """Return the bytes of a model as CRFsuite stores it."""
    encoder, parameters = model.encoder, model.parameters
    if not isinstance(encoder, FeatureEncoder):
        made = "a network" if not encoder.linear else "templates"
        raise ModelError(
            f"CRFsuite stores models of ready-made features, and this one uses {made}; train one on a file of CRFsuite "
            "or on dictionaries of features"
        )
    for lost, there in (
        ("constraints on tags (train with `constraints=False`)", bool(parameters.bans.any())),
        ("labels that are shown as others (train without `scheme`)", bool(model.shown)),
        ("a bias of labels (tag without it)", bool(model.bias)),
        ("short lists of labels", bool(parameters.lists.most)),
    ):
        if there:
            raise ModelError(f"CRFsuite cannot store {lost}, which this model has")
    counts, labels, values = parameters.rows.entries()
    kept = np.flatnonzero(counts)
    names = encoder.feature_names(kept.tolist())
    before, after = np.nonzero(parameters.edges)
    weights = np.zeros(len(values) + len(before), WEIGHTS)
    of_attribute, of_pair = weights[: len(values)], weights[len(values) :]
    of_attribute["source"] = np.repeat(np.arange(len(kept)), counts[kept])
    of_attribute["label"], of_attribute["weight"] = labels, values
    of_pair["kind"], of_pair["source"], of_pair["label"] = OF_PAIR, before, after
    of_pair["weight"] = parameters.edges[before, after]
    weights["weight"] /= model.temperature
    parts = [CHUNK.pack(b"FEAT", CHUNK.size + weights.nbytes, len(weights)) + weights.tobytes()]
    parts += [_table(model.labels), _table(names)]
    starts = [HEADER.size]
    for part in parts:
        starts.append(starts[-1] + len(part))
    of_labels = np.bincount(of_pair["source"], minlength=len(model.labels) + 2)  # CRFsuite has two more: start, end
    parts.append(_references(b"LFRF", starts[-1], of_labels, len(values)))
    starts.append(starts[-1] + len(parts[-1]))
    parts.append(_references(b"AFRF", starts[-1], counts[kept], 0))
    size = starts[-1] + len(parts[-1])
    if size > LARGEST_FILE:
        raise ModelError(f"the model takes {size:,} bytes, and CRFsuite reads at most {LARGEST_FILE:,}; prune it first")
    counted = (len(weights), len(model.labels), len(names))
    return b"".join([HEADER.pack(MAGIC, size, KIND, VERSION, *counted, *starts), *parts])


def _references(name: bytes, at: int, counts: np.ndarray, first: int) -> bytes:
    """Return a chunk that lists the weights of each label or attribute: `counts` has how many, one after the other."""
    starts = first + np.cumsum(counts) - counts
    head = CHUNK.size + 4 * len(counts)
    offsets = at + head + 4 * (np.arange(len(counts)) + np.cumsum(counts) - counts)
    lists = [
        np.append(count, np.arange(start, start + count)).astype("<u4").tobytes()
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
    ]
    body = b"".join(lists)
    return b"".join([CHUNK.pack(name, head + len(body), len(counts)), offsets.astype("<u4").tobytes(), body])


def _table(strings: Sequence[str]) -> bytes:
    """Return a table of strings."""
    at = TABLE.size + 8 * HASH_TABLES
    records, offsets = list[bytes](), list[int]()
    tables: list[list[tuple[int, int]]] = [[] for _ in range(HASH_TABLES)]
    for number, string in enumerate(strings):
        if "\0" in string:
            raise ModelError(f"CRFsuite cannot store names with the character 0, as in {string!r:.60}")
        key = string.encode("utf-8", "surrogatepass") + b"\0"
        hashed = _hash(key)
        tables[hashed % HASH_TABLES].append((hashed, at))
        offsets.append(at)
        records.append(RECORD.pack(number, len(key)) + key)
        at += len(records[-1])
    references, buckets = list[bytes](), list[bytes]()
    for table in tables:
        size = 2 * len(table)
        slots = [(0, 0)] * size
        for hashed, offset in table:
            slot = (hashed >> 8) % size
            while slots[slot][1]:
                slot = (slot + 1) % size
            slots[slot] = hashed, offset
        references.append(RECORD.pack(at if table else 0, size))
        buckets += [RECORD.pack(*slot) for slot in slots]
        at += 8 * size
    end = at + 4 * len(offsets)
    head = TABLE.pack(b"CQDB", end, 0, ORDER_OF_BYTES, len(offsets), at if offsets else 0)
    return b"".join([head, *references, *records, *buckets, np.array(offsets, "<u4").tobytes()])


def _hash(key: bytes) -> int:
    """Return the hash of a string as CRFsuite computes it: lookup3 of Bob Jenkins, public domain."""
    mask = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(key)) & mask

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    words: tuple[int, ...] = struct.unpack(f"<{-(-len(key) // 12) * 3}I", key + bytes(-len(key) % 12))
    for at in range(0, len(words) - 3, 3):
        a, b, c = (a + words[at]) & mask, (b + words[at + 1]) & mask, (c + words[at + 2]) & mask
        for bits in (4, 6, 8, 16, 19, 4):
            a = (a - c & mask) ^ turned(c, bits)
            c = c + b & mask
            a, b, c = b, c, a
    a, b, c = (a + words[-3]) & mask, (b + words[-2]) & mask, (c + words[-1]) & mask
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - turned(b, bits) & mask
        a, b, c = b, c, a
    return b
