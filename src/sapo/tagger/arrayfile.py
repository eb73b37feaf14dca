"""Store arrays and a JSON header in a safetensors file, and load them, checking everything.

A file of 64 MB or more is memory-mapped. If such a file is cut off in place while it is in use, the operating system
ends the process (SIGBUS): files must be replaced, as `save_arrays` does. Smaller files are read, so that nothing that
happens to them later matters.
"""

import hashlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import LONGEST_JSON, is_special, missing_file, open_regular, parse_json, replace_file, write_file
from sapo.errors import ModelError, SapoError
from sapo.jit.arrays import DTYPES, stored_array

KEY = "sapo"  # a single key, since the order of several is not fixed, and equal runs must give equal files
SHORTEST = 10  # bytes: the length of the header, and an empty header
MAPPED = 64 << 20  # bytes from which a file is mapped
NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}
ORDER = [np.dtype(DTYPES[name]) for name in ("I64", "F64", "F32", "I32", "F16", "U16", "U8")]  # as safetensors does


def save_arrays(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Write a file whole or not at all: see corpus/files.py. Return its checksum.

    Raises SapoError if the file cannot be written.
    """
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    checksum = checksum_of(header, whole)
    parts = _parts(header, whole, checksum)
    target = Path(path)
    if is_special(target):
        with write_file(target) as stream:
            stream.writelines(parts)
        return checksum
    with replace_file(target) as part, part.open("wb") as stream:
        stream.writelines(parts)
    return checksum


def pack_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes that `save_arrays` writes."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return b"".join(_parts(header, whole, checksum_of(header, whole)))


def _parts(header: Mapping[str, Any], whole: Mapping[str, np.ndarray], checksum: str) -> list[bytes | memoryview]:
    """Return what a file consists of, in order: as the library safetensors writes it, but without copying arrays.

    The library would also write a file of its own next to the target, which stays if the process is killed.
    """
    order = sorted(whole, key=lambda name: (ORDER.index(whole[name].dtype), name))
    table: dict[str, Any] = {"__metadata__": {KEY: _dumped({"checksum": checksum, "header": header})}}
    at = 0
    for name in order:
        array = whole[name]
        offsets = [at, at + array.nbytes]
        table[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        at = offsets[1]
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_JSON:
        raise ModelError(f"labels, template and record take {len(text):,} bytes, a file has room for {LONGEST_JSON:,}")
    return [len(text).to_bytes(8, "little"), text, *(whole[name].reshape(-1).data.cast("B") for name in order)]


def _dumped(value: Mapping[str, Any]) -> str:
    """Return a header as JSON. Raise ValueError for numbers and halves of characters that a file cannot have."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


def load_arrays(
    path: str | Path, what: str, *, trusted: str | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a file; the arrays are read-only.

    `what` names the expected kind of file in messages. `trusted` is the checksum of a file that was checked before: its
    arrays are not read again to compute it. Raises SapoError if the file is missing or damaged.
    """
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, 2)
            if size < SHORTEST:
                raise _bad(path, what, "it is too short")
            stream.seek(0)
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size >= MAPPED else stream.read(size)
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise ModelError(f"{path}: is a directory, not {what}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    return unpack_arrays(data, path, what, trusted=trusted)


def unpack_arrays(
    data: bytes | mmap.mmap, path: str | Path, what: str, *, trusted: str | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays from the bytes of a file. `path` and `what` appear in messages only."""
    if len(data) < SHORTEST:
        raise _bad(path, what, "it is too short")
    try:
        length = int.from_bytes(data[:8], "little")
        if not 2 <= length <= min(len(data) - 8, LONGEST_JSON) or data[8:9] != b"{":
            raise _bad(path, what, "it begins like some other file, or its end is missing")
        table = parse_json(data[8 : 8 + length].decode())
        outer = parse_json(table.pop("__metadata__")[KEY])
        arrays = {name: stored_array(data, 8 + length, entry) for name, entry in table.items()}
        header: dict[str, Any] = outer["header"]
        checksum = outer["checksum"]
        if not isinstance(header, dict):
            raise TypeError("header")
        _dumped({"header": header, "names": list(arrays)})  # what could not be saved again is not loaded
    except SapoError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise _bad(path, what, "its header is broken, or its end is missing") from None
    if checksum != (trusted or checksum_of(header, arrays)):
        raise _bad(path, what, "its checksum is wrong: it was changed or damaged")
    return header, arrays


def checksum_of(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the checksum of a header and arrays, as it is in the file."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).data)
    return digest.hexdigest()


def _bad(path: str | Path, what: str, why: str) -> SapoError:
    return ModelError(f"{path}: not {what}: {why}")
