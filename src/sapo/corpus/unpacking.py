"""Read a compressed stream, and stop where it unpacks to more than anybody wants.

10 MB of gzip can hold 10 GB of zeros. Text packs to a tenth of its size, seldom to a hundredth.
"""

import gzip
from typing import IO, Any

from sapo import limits
from sapo.errors import SapoError

ZIP_METHODS = (0, 8)  # stored, deflated
UNSUSPECTED = 64 << 20  # unpacked bytes before the ratio counts: a small file may be as regular as it likes


class Counted:
    """A stream that counts the bytes read from it. It has what gzip needs of a file."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data = self._stream.read(size)
        self.count += len(data)
        return data


class Unpacked:
    """The content of a compressed stream. Raises SapoError where it passes a limit.

    `packed` is how many bytes the content takes in its file, if that is known: as in a zip archive.
    """

    def __init__(self, source: Any, name: str, counted: Counted | None = None, packed: int = 0) -> None:
        self._source, self._name, self._counted, self._packed = source, name, counted, packed
        self._size = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes: as many as are wanted, unless the content ends."""
        return self._checked(self._source.read(size))

    def read1(self, size: int) -> bytes:
        """Return the next bytes that are there now."""
        return self._checked(self._source.read1(size))

    def _checked(self, data: bytes) -> bytes:
        self._size += len(data)
        limits.check("unzipped", self._size, self._name, "unpacked bytes")
        packed = max(1, self._packed if self._counted is None else self._counted.count)
        if self._size > UNSUSPECTED and self._size > limits.current().ratio * packed:
            what = "unpacked bytes for each compressed one (it may be a trap)"
            raise limits.exceeded("ratio", self._size // packed + 1, self._name, what)
        return data


def check_zip_method(method: int, name: str) -> None:
    """Raise SapoError unless a member of a zip archive can be unpacked piece by piece.

    The module zipfile limits the output of a piece with deflate only: 208 bytes of bzip2 can hold 256 MB.
    """
    if method not in ZIP_METHODS:
        raise SapoError(f"{name}: is compressed with method {method}, and only deflate is read; unpack it with unzip")


def gunzipped(stream: IO[bytes], name: str) -> Unpacked:
    """Return the content of a gzip stream; `name` is for messages."""
    counted = Counted(stream)
    file: Any = counted  # all that gzip uses of a file
    return Unpacked(gzip.GzipFile(fileobj=file), name, counted)
