"""Store arrays and a JSON header in a safetensors file, and load them by memory map, checking everything."""

import hashlib
import json
import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from sapo.corpus.files import is_special, replace_file, write_file
from sapo.errors import SapoError

KEY = "sapo"  # a single key, since the order of several is not fixed, and equal runs must give equal files
LONGEST_HEADER = 1 << 26
SHORTEST = 10  # bytes: the length of the header, and an empty header
DTYPES = {
    "U8": np.uint8,
    "U16": np.uint16,
    "I32": np.int32,
    "I64": np.int64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
}


def save_arrays(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file, first beside its target and then moved into place, so that it is never half-written.

    Raises SapoError if it cannot be written.
    """
    target = Path(path)
    if is_special(target):
        with write_file(target) as stream:
            stream.write(pack_arrays(header, arrays))
        return
    whole, metadata = _parts(header, arrays)
    with replace_file(target) as part:
        try:
            safetensors.numpy.save_file(whole, part, metadata=metadata)
        except safetensors.SafetensorError as error:
            raise SapoError(f"{target}: cannot be written ({error}); what was there before is unchanged") from None


def pack_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes that `save_arrays` writes."""
    whole, metadata = _parts(header, arrays)
    return safetensors.numpy.save(whole, metadata=metadata)


def _parts(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return whole, {KEY: _dumped({"checksum": _checksum(header, whole), "header": header})}


def _dumped(value: Mapping[str, Any]) -> str:
    """Return a header as JSON. Raise ValueError for numbers and halves of characters that a file cannot have."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


def load_arrays(path: str | Path, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a file; the arrays are read-only.

    `what` names the expected kind of file in messages. Raises SapoError if the file is missing or damaged.
    """
    try:
        with Path(path).open("rb") as stream:
            if stream.seek(0, 2) < SHORTEST:
                raise _bad(path, what, "it is too short")
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise SapoError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise SapoError(f"{path}: is a directory, not {what}") from None
    except OSError as error:
        raise SapoError(f"{path}: cannot be read ({error.strerror or error})") from None
    return unpack_arrays(data, path, what)


def unpack_arrays(data: bytes | mmap.mmap, path: str | Path, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays from the bytes of a file. `path` and `what` appear in messages only."""
    if len(data) < SHORTEST:
        raise _bad(path, what, "it is too short")
    try:
        length = int.from_bytes(data[:8], "little")
        if not 2 <= length <= min(len(data) - 8, LONGEST_HEADER) or data[8:9] != b"{":
            raise _bad(path, what, "it begins like some other file, or its end is missing")
        table = json.loads(data[8 : 8 + length])
        outer = json.loads(table.pop("__metadata__")[KEY])
        arrays = {name: _array(data, 8 + length, entry) for name, entry in table.items()}
        header: dict[str, Any] = outer["header"]
        checksum = outer["checksum"]
        if not isinstance(header, dict):
            raise TypeError("header")
        _dumped(header)  # what could not be saved again is not loaded
    except SapoError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise _bad(path, what, "its header is broken, or its end is missing") from None
    if checksum != _checksum(header, arrays):
        raise _bad(path, what, "its checksum is wrong: it was changed or damaged")
    return header, arrays


def _array(data: bytes | mmap.mmap, start: int, entry: Mapping[str, Any]) -> np.ndarray:
    dtype = np.dtype(DTYPES[entry["dtype"]])
    shape = [int(size) for size in entry["shape"]]
    begin, end = (int(offset) for offset in entry["data_offsets"])
    if not (0 <= begin <= end <= len(data) - start and all(0 <= size < 1 << 48 for size in shape)):
        raise ValueError("offsets")
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError("shape")
    return np.frombuffer(data, dtype, math.prod(shape), start + begin).reshape(shape)


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).data)
    return digest.hexdigest()


def _bad(path: str | Path, what: str, why: str) -> SapoError:
    return SapoError(f"{path}: not {what}: {why}")
