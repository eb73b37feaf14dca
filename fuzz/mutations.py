"""Inputs in, other inputs out: bytes are changed anywhere, files of arrays where it hurts, with a fitting checksum."""

import copy
import functools
import json
import random
from typing import Any

import numpy as np

from fuzz.target import ARRAYS, BYTES
from sapo.errors import SapoError
from sapo.tagger.arrayfile import DTYPES, checksum_of, unpack_arrays

LARGEST = 1 << 18  # bytes of an input
PIECES = [
    *(b"\n", b"\n\n", b"\t", b" ", b"#", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1b[2J", b"-DOCSTART-"),
    *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"NaN", b"1e999", b"-1", b"99999999999999999999", b"\\ud800"),
    *(b"&", b"label[-1]", b"word[50]", b"substrings(word, 3)", b"%x[0,0]", b"U01:", b"*", b"forbid", b"I-NP", b"O"),
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Upgrade: h2c\r\n", b"Connection: upgrade\r\n"),
    *(b"</", b"/>", b'=""', b"<!DOCTYPE a>", b"&#0;", b'<?xml version="1.0" encoding="UTF-7"?>', b"<![CDATA["),
    *("'s", "n't", "。", "́", "\u202e", "\U0001f600", "a@b.c", "http://", "…", "\u2029", "\ufeff", "\ud7ff"),
]
TOKENS = [piece if isinstance(piece, bytes) else piece.encode() for piece in PIECES]
NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    255,
    65_535,
    65_536,
    2**31 - 1,
    2**31,
    2**53,
    2**62,
    2**63,
    10**30,
    10**400,
    0.5,
    -2.5,
    1e300,
    float("inf"),
    20_000,
)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    None,
    True,
    "",
    "x",
    "O",
    "NaN",
    "\x1b",
    "\ud800",
    [],
    {},
    [[]],
    [1],
    {"a": 1},
    ["O", "O"],
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e30, 3e38, 65504.0, float("nan"), float("inf"), float("-inf"))


def mutated(data: bytes, rng: random.Random, others: list[bytes], form: str) -> bytes:
    """Return a changed input. `form` says what it is: bytes, lines of JSON, or arrays with a checksum."""
    if form != BYTES and rng.random() < 0.9:
        changed = _mutated_arrays(data, rng) if form == ARRAYS else _mutated_json(data, rng)
        if changed is not None:
            return changed
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        data = _mutated_bytes(data, rng, others)
    return data[:LARGEST]


def _mutated_bytes(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    to = min(to, at + rng.choice((1, 4, 30, 10_000)))
    match rng.randrange(8):
        case 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + rng.choice(TOKENS) + data[at:]
        case 2:
            return data[:at] + rng.choice(TOKENS) + data[to:]
        case 3:
            return data[:at] + data[to:]
        case 4:
            return data[:to] + data[at:to] * rng.choice((1, 2, 50)) + data[to:]
        case 5:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            return data[:at] + other[cut:]
        case 6:
            return data[:at] + str(rng.choice(NUMBERS)).encode() + data[to:]
        case _:
            return data[:at] + bytes(rng.randrange(256) for _ in range(rng.randrange(9))) + data[at:]


def _mutated_json(data: bytes, rng: random.Random) -> bytes | None:
    """Return lines of JSON with other values, or None if they are none."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        holder = [json.loads(lines[at])]
    except (ValueError, RecursionError):
        return None
    for _ in range(rng.choice((1, 1, 2, 4))):
        _change_value(holder, rng)
    lines[at : at + 1] = [json.dumps(value).encode() for value in holder]
    return b"\n".join(lines)[:LARGEST]


def _mutated_arrays(data: bytes, rng: random.Random) -> bytes | None:
    found = _parts(data)
    if found is None:
        return None
    header, arrays = json.loads(found[0]), {name: array.copy() for name, array in found[1].items()}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.35:
            _change_value(header, rng)
        elif arrays:
            _change_array(arrays, rng)
    return packed(header, arrays)


@functools.lru_cache(256)
def _parts(data: bytes) -> tuple[str, dict[str, np.ndarray]] | None:
    """Return the header of a file of arrays as JSON, and its arrays, or None if it is not such a file."""
    try:
        header, arrays = unpack_arrays(data, "seed", "a file")
    except SapoError:
        return None
    return json.dumps(header), arrays


def _change_value(holder: Any, rng: random.Random) -> None:
    """Change something somewhere in a value of JSON."""
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = holder[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            holder = inner
            continue
        match rng.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(inner, str):
                at = rng.randrange(len(inner) + 1)
                holder[key] = inner[:at] + rng.choice(TOKENS).decode("utf-8", "replace") + inner[at:]
            case 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(rng.choice(holder)))
            case _:
                holder[key] = copy.deepcopy(rng.choice(VALUES))
        return


def _change_array(arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    flat = array.reshape(-1)
    kind = rng.randrange(10)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = flat[: rng.randrange(len(flat) + 1)]
    elif kind == 2:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(DTYPES[rng.choice(sorted(DTYPES))])
    elif kind == 3 and len(flat):
        arrays[name] = np.concatenate([flat, flat[-rng.randrange(1, len(flat) + 1) :]])
    elif kind == 4:
        arrays[name] = flat.reshape(rng.choice(((1, -1), (-1, 1)))) if len(flat) else array
    elif len(flat):
        for _ in range(rng.choice((1, 1, 3, 20))):
            flat[rng.randrange(len(flat))] = _number(flat, rng)


def _number(flat: np.ndarray, rng: random.Random) -> Any:
    if rng.random() < 0.4:
        return flat[rng.randrange(len(flat))]
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(rng.choice(FLOATS)).astype(flat.dtype)
    most = np.iinfo(flat.dtype)
    value = rng.choice((0, 1, -1, len(flat), len(flat) + 1, most.max, most.min, rng.randrange(1, 1 << 20), 1 << 40))
    return max(most.min, min(most.max, value))


def packed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return a file with a checksum that fits, whatever is in it: even what sapo would not write."""
    table: dict[str, Any] = {}
    at = 0
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    codes = {np.dtype(kind): code for code, kind in DTYPES.items()}
    for name, array in whole.items():
        table[name] = {"dtype": codes[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    note = json.dumps({"checksum": checksum_of(header, whole), "header": header})
    text = json.dumps({"__metadata__": {"sapo": note}, **table}).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in whole.values())
