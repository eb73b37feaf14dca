"""Targets for archives of every method, and for model files with few bytes and large claims.

An input is JSON that says how a file differs from a sound one, so that changes reach what a reader looks at: a field of
a header, and not any byte.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.doors import file
from fuzz.mutations import packed
from fuzz.target import JSON, Target, small
from sapo.corpus.files import read_chunks
from sapo.features.strings import narrow
from sapo.tagger.arrayfile import DTYPES, unpack_arrays
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.tagger import Tagger

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
RECORDS = {"local": b"PK\x03\x04", "central": b"PK\x01\x02", "end": b"PK\x05\x06"}
LARGEST = 1 << 22  # numbers of an array
LONGEST = 1 << 18  # bytes of a member
MANY = 70_000  # labels
MEMBERS = 30
SIZES = {1: "<B", 2: "<H", 4: "<I"}


def _zip(data: bytes) -> None:
    """Read a zip archive with other fields in its records."""
    made = _made(data, _zipped)
    if made is not None:
        for _ in read_chunks(file("a.zip", made)):
            pass


def _gzip(data: bytes) -> None:
    """Read gzip members with other headers and ends."""
    made = _made(data, _gzipped)
    if made is not None:
        for _ in read_chunks(file("a.gz", made)):
            pass


def _claims(data: bytes) -> None:
    """Load a model that claims much, and tag with it."""
    made = _made(data, _claiming)
    if made is not None:
        Tagger(model_from_bytes(made)).tag(["cat", "and"])


def _made(data: bytes, make: Callable[[Any], bytes]) -> bytes | None:
    """Return the file that JSON describes, or None if it describes none."""
    try:
        return make(json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
    except (RecursionError, OverflowError, struct.error, MemoryError):
        return None


def _zipped(value: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", METHODS[int(value["method"]) % len(METHODS)]) as archive:
        for name in value["names"][:MEMBERS]:
            archive.writestr(name or "x", _text(value))
        archive.comment = value["comment"].encode()
    return _patched(stream.getvalue(), value)


def _gzipped(value: Any) -> bytes:
    member = zlib.compress(_text(value), int(value["level"]) % 10, 31)
    header = b"\x1f\x8b" + bytes(int(one) % 256 for one in value["header"])
    members = (header + member[10:]) * (int(value["members"]) % MEMBERS)
    return _patched(members, value)


def _text(value: Any) -> bytes:
    text = value["text"].encode()
    enough = LONGEST // max(len(text), 1) + 1  # a long text many times would itself take more memory than is allowed
    return (text * min(int(value["times"]) % LONGEST, enough))[:LONGEST]


def _patched(made: bytes, value: Any) -> bytes:
    """Put numbers at places of records, or of the file: [record, place, bytes, number]."""
    changed = bytearray(made)
    for record, place, size, number in value["fields"]:
        begin = made.rfind(RECORDS[record]) if record in RECORDS else 0
        form = SIZES[size]
        at = begin + int(place) if record != "tail" else len(made) - int(place)
        if 0 <= at <= len(made) - size:
            struct.pack_into(form, changed, at, int(number) % (1 << 8 * size))
    return bytes(changed[: len(changed) - int(value["cut"]) % 100])


def _claiming(value: Any) -> bytes:
    """Return a model with other labels and arrays: [type, shape, what they are filled with]."""
    header, arrays = unpack_arrays(model_bytes(small().model), "seed", "a model")
    header, arrays = {**header, **value["header"]}, dict(arrays)
    if value["labels"] is not None:
        count = int(value["labels"]) % MANY
        header["labels"] = [f"{value['name']}{number}" for number in range(count)]
        header.pop("constraints", None)
        arrays["edge.counts"] = narrow(np.zeros(max(count, 1), np.int32))
        arrays["edge.labels"] = narrow(np.zeros(0, np.int32))
        arrays["edge.values"] = np.zeros(0, np.float32)
    for name, (kind, shape, fill) in value["arrays"].items():
        sizes = [int(size) for size in shape]
        if len(sizes) > 4 or np.prod(sizes, dtype=float) > LARGEST:
            raise ValueError
        arrays[name] = np.full(sizes, fill, DTYPES[kind])
    made = packed(header, arrays)
    return made.replace(value["old"].encode() or b"\0" * 99, value["new"].encode())


def _seeds(*values: dict[str, Any]) -> Callable[[], list[bytes]]:
    return lambda: [json.dumps(value).encode() for value in values]


ZIP = {"names": ["a.txt"], "text": "a X\n\n", "times": 9, "comment": "", "cut": 0}
FIELDS: list[list[Any]] = [
    ["central", 10, 2, 12],  # the method
    ["central", 20, 4, 1 << 31],  # compressed bytes
    ["central", 24, 4, 1 << 31],  # bytes
    ["central", 28, 2, 0],  # the length of the name
    ["central", 30, 2, 5],  # the length of the extra field
    ["central", 42, 4, 7],  # where the member is
    ["local", 6, 2, 1],  # flags: encrypted
    ["end", 10, 2, 60_000],  # members
    ["end", 12, 4, 1 << 24],  # bytes of the directory
    ["end", 16, 4, 99],  # where it is
]
GZIP = {"text": "a X\n\n", "times": 9, "level": 9, "header": [8, 0, 0, 0, 0, 0, 2, 255], "members": 2, "cut": 0}
MODEL = {"header": {}, "labels": None, "name": "L", "arrays": {}, "old": "", "new": ""}
CRAFTED = {
    "zip": Target(
        _zip,
        _seeds(
            *({**ZIP, "method": number, "fields": []} for number in range(len(METHODS))),
            *({**ZIP, "method": 1, "fields": [field]} for field in FIELDS),
            {**ZIP, "method": 1, "fields": FIELDS[3:5]},  # no name
        ),
        JSON,
    ),
    "gzip": Target(
        _gzip, _seeds({**GZIP, "fields": []}, {**GZIP, "times": 500_000, "fields": [["tail", 8, 4, 1]]}), JSON
    ),
    "model-claims": Target(
        _claims,
        _seeds(
            MODEL,
            {**MODEL, "labels": 300},
            {**MODEL, "labels": 4_000},
            {**MODEL, "arrays": {"weight.counts": ["U8", [1, 5], 1], "edge.counts": ["U8", [4, 9], 255]}},
            {**MODEL, "header": {"shown": ["O"], "temperature": 2.0, "bias": {}}},
            {**MODEL, "old": '"shape":[1,', "new": '"shape":[999999999,'},
        ),
        JSON,
    ),
}
