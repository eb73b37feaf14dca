"""Read files in chunks of bytes, and write them whole or not at all. '-' is standard input or output.

10 MB of gzip can hold 10 GB of zeros. Text packs to a tenth of its size, seldom to a hundredth.

On Linux the new content has no name until it is complete: it is gone with the process. Elsewhere, and on file systems
that cannot do this, it is next to its target as `.NAME.PLACE-PROCESS.RANDOM.part`. If the process is killed, the
next one that writes to this target removes it.
"""

import codecs
import errno
import gzip
import hashlib
import itertools
import json
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from sapo.errors import (
    DataError,
    OptionError,
    SapoError,
    above_limit,
    check_limit,
    current_limits,
    did_you_mean,
    nearest,
)

ZIP_METHODS = (0, 8)  # stored, deflated
LONGEST_READ = 2 << 20  # bytes of a zip archive that are read at once
LONGEST_END = 1 << 17  # bytes of its end, with a comment
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
        check_limit("unzipped", self._size, self._name, "unpacked bytes")
        packed = max(1, self._packed if self._counted is None else self._counted.count)
        if self._size > UNSUSPECTED and self._size > current_limits().ratio * packed:
            what = "unpacked bytes for each compressed one (it may be a trap)"
            raise above_limit("ratio", self._size // packed + 1, self._name, what)
        return data


class _InPieces:
    """A file that is read in pieces only. It has what zipfile needs of a file.

    The directory of a zip archive is read at once, and takes many times its size: an archive with one file has a short
    one.
    """

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._read, self._name = stream.read, name
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        if size > LONGEST_READ:
            raise DataError(f"{self._name}: is a zip archive of many files; unpack it with unzip, and give one of them")
        return self._read(size if size >= 0 else LONGEST_END)


def check_zip_method(method: int, name: str) -> None:
    """Raise SapoError unless a member of a zip archive can be unpacked piece by piece.

    The module zipfile limits the output of a piece with deflate only: 208 bytes of bzip2 can hold 256 MB.
    """
    if method not in ZIP_METHODS:
        raise DataError(f"{name}: is compressed with method {method}, and only deflate is read; unpack it with unzip")


def gunzipped(stream: IO[bytes], name: str) -> Unpacked:
    """Return the content of a gzip stream; `name` is for messages."""
    counted = Counted(stream)
    file: Any = counted  # all that gzip uses of a file
    return Unpacked(gzip.GzipFile(fileobj=file), name, counted)


USUAL = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1251", "koi8-r", "euc-jp", "shift-jis", "euc-kr", "gb18030", "big5")
_KANA = re.compile("[\u3041-\u30ff]")


class EncodedPath(str):
    """The path of a file that is not UTF-8. Readers take it as any other path."""

    __slots__ = ("encoding",)
    encoding: str


def with_encoding(path: str | Path, encoding: str | None) -> str | Path:
    """Return a path that is read in an encoding; raise SapoError if there is no such encoding.

    >>> with_encoding("train.txt", "latin-1")
    'train.txt'
    """
    if encoding is None:
        return path
    try:
        if not getattr(codecs.lookup(encoding), "_is_text_encoding", True):
            raise LookupError
    except (LookupError, ValueError):
        raise OptionError(f"unknown encoding '{encoding}'{did_you_mean(encoding, USUAL)}") from None
    encoded = EncodedPath(path)
    encoded.encoding = encoding
    return encoded


def transcoded(chunks: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield text in UTF-8; raise SapoError with the line where the bytes are not in this encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    try:
        for chunk in chunks:
            text = decoder.decode(chunk)
            line += text.count("\n")
            yield text.encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
    except UnicodeError as error:
        line += chunk[: error.start].count(b"\n") if isinstance(error, UnicodeDecodeError) else 0
        raise DataError(f"{name}: near line {line}: not {encoding} ({error}); use another `encoding`") from None


def looks_like(data: bytes) -> str:
    """Return what bytes that are not UTF-8 probably are, by the name that `--encoding` takes.

    >>> looks_like("日本語です".encode("euc-jp")), looks_like("Köln".encode("latin-1"))
    ('euc-jp', 'latin-1')
    """
    for encoding in ("euc-jp", "shift-jis"):
        try:
            if _KANA.search(data.decode(encoding)) is not None:
                return encoding
        except UnicodeDecodeError:
            pass
    return "cp1252" if re.search(rb"[\x80-\x9f]", data) else "latin-1"


_PART = re.compile(r"\.([0-9a-f]{8})-(\d+)\.[0-9a-f]{8}\.part")


@contextmanager
def as_sapo_error(target: Path) -> Iterator[None]:
    """Turn an error of the operating system into a SapoError about the target."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(
            f"{target}: cannot be written ({error.strerror or error}); what was there before is unchanged"
        ) from error


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Give a path to write to; its content replaces the target at the end, or is removed on any error."""
    real = real_path(target)  # through links: the file behind them is meant
    remove_abandoned(real)
    with as_sapo_error(target):
        handle = _without_name(real.parent)
    if handle is None:
        with _named(real, target) as part:
            yield part
        return
    try:
        with as_sapo_error(target):
            yield Path(f"/proc/self/fd/{handle}")
            _keep_mode(handle, real)
            os.fsync(handle)
            _give_name(handle, real)
    finally:
        os.close(handle)


def real_path(target: Path) -> Path:
    """Return a path without links. Raise SapoError if they lead in a circle."""
    try:
        target.stat()  # resolve() notices a circle only before Python 3.13
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataError(f"{target}: cannot be written (circular links)") from None
    try:
        return target.resolve()
    except (OSError, RuntimeError) as error:  # the current directory is gone, or a circle under Windows
        raise DataError(f"{target}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def remove_abandoned(real: Path) -> None:
    """Remove what processes that were killed have left next to this target."""
    with suppress(OSError):
        for path in real.parent.glob(f".{_escaped(real.name)}.*.part"):
            found = _PART.fullmatch(path.name[1 + len(real.name) :])
            if found is not None and found[1] == _place() and not _alive(int(found[2])):
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        import shutil

        shutil.rmtree(path)
    else:
        path.unlink()


def part_name(real: Path) -> Path:
    """Return a path next to the target with the number of this process."""
    return real.with_name(f".{real.name}.{_place()}-{os.getpid()}.{os.urandom(4).hex()}.part")


def _without_name(directory: Path) -> int | None:
    """Return a new file without a name in this directory, or None where there is no such thing."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(directory, flag | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError:  # this file system cannot, or the directory is read-only: the named way finds out
        return None


def _give_name(handle: int, real: Path) -> None:
    """Put the file in its place. If there is a file already, it gets another name first: only renaming replaces."""
    source = f"/proc/self/fd/{handle}"
    directory = os.open(real.parent, os.O_RDONLY)
    try:
        with suppress(FileExistsError):
            # src_dir_fd makes Python follow the link to the file, which plain link() would not
            os.link(source, real, src_dir_fd=directory, follow_symlinks=True)
            return
        part = part_name(real)
        os.link(source, part, src_dir_fd=directory, follow_symlinks=True)
        try:
            part.replace(real)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    finally:
        os.close(directory)


@contextmanager
def _named(real: Path, target: Path) -> Iterator[Path]:
    part = part_name(real)
    with as_sapo_error(target):
        part.touch(exist_ok=False)
    try:
        with as_sapo_error(target):
            yield part
            with part.open("rb+") as written:
                _keep_mode(written.fileno(), real)
                os.fsync(written.fileno())
            part.replace(real)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _keep_mode(handle: int, real: Path) -> None:
    """Give the rights of the file that is replaced."""
    with suppress(FileNotFoundError):
        mode = real.stat().st_mode & 0o777
        if hasattr(os, "fchmod"):
            os.fchmod(handle, mode)


def _place() -> str:
    """Return a name of this machine: processes of another one cannot be looked at."""
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


CHUNK = 1 << 20
LONGEST_JSON = 8 << 20  # bytes of a header, or of a file that describes others
MOST_VALUES = 1_000_000  # in them
LOOKED_AT = 1000  # names of files, to find the one that may be meant
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
SQLITE_MAGIC = b"SQLite format 3\0"
MODEL = b'{"__metadata__":{"sapo"'  # of safetensors, after 8 bytes; checkpoints begin like this, too
CRFPP_BINARY = b"d\0\0\0"  # version 100, as a number
FOREIGN_MODELS = {b"lCRF": "CRFsuite", b"version: ": "CRF++ text", b"#mdl#": "Wapiti"}
STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
UTF_16 = "not UTF-8; it looks like UTF-16; use `encoding='utf-16{order}'`"
# First bytes of files that are not UTF-8 text: what they are, and how to convert them.
OTHERS = {
    b"\xff\xfe": UTF_16.format(order=""),
    b"\xfe\xff": UTF_16.format(order=""),
    ZIP_MAGIC: "a zip archive; unpack it with unzip",
    b"\xfd7zXZ\x00": "an xz file; unpack it with unxz, or zip it with gzip",
    **{b"BZh%d1AY&SY" % level: "a bzip2 file; unpack it with bunzip2, or zip it with gzip" for level in range(1, 10)},
    b"\x28\xb5\x2f\xfd": "a zstd file; unpack it with unzstd, or zip it with gzip",
    SQLITE_MAGIC: "an SQLite file; if it is a project, export its sentences with sapo teach PROJECT --export FILE",
}


def show_path(path: str | Path) -> str:
    """Return the name of a file for messages.

    >>> show_path("-"), show_path("train.txt")
    ('standard input', 'train.txt')
    """
    return "standard input" if str(path) == "-" else str(path)


def read_chunks(path: str | Path, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the bytes of a file, uncompressed if it is gzipped, or zipped alone.

    From a pipe or a terminal they come as they arrive. A path with an encoding gives UTF-8.
    """
    name = show_path(path)
    encoding = path.encoding if isinstance(path, EncodedPath) else None
    try:
        if str(path) == "-":
            if sys.stdin is None:
                raise DataError(f"{name}: cannot be read (it is closed)")
            yield from _text(_chunks(sys.stdin.buffer, size, name), encoding, name)
        else:
            with Path(path).open("rb") as stream:
                whole = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
                if whole and stream.peek(4).startswith(ZIP_MAGIC):
                    with _unzipped(stream, name) as member:
                        yield from _text(_chunks(member, size, name, whole=True), encoding, name)
                else:
                    yield from _text(_chunks(stream, size, name, whole=whole), encoding, name)
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise DataError(f"{name}: is a directory, not a file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{name}: broken gzip file ({error})") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from None


def read_json(path: Path) -> Any:
    """Return the value of a small file of JSON. Raise OSError if it cannot be read, ValueError if it is not one."""
    with open_regular(path) as stream:
        data = stream.read(LONGEST_JSON + 1)
    if len(data) > LONGEST_JSON:
        raise ValueError(f"more than {LONGEST_JSON:,} bytes")
    return parse_json(data.decode("utf-8", "surrogatepass"))


def parse_json(text: str) -> Any:
    """Return a value of JSON. Raise ValueError if it has too many parts: 3 bytes can make a list, which takes 70.

    >>> parse_json("[" + "[]," * 1_000_000 + "0]")
    Traceback (most recent call last):
    ...
    ValueError: more than 1,000,000 values
    """
    if sum(map(text.count, "[{,")) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values")
    return json.loads(text)


def read_whole(path: str | Path) -> bytes:
    """Return all bytes of a file, as `read_chunks` yields them. Raise SapoError if there are more than the limit."""
    chunks, size = [], 0
    for chunk in read_chunks(path):
        size += len(chunk)
        check_limit("whole", size, show_path(path), "bytes, all held in memory")
        chunks.append(chunk)
    return b"".join(chunks)


def _chunks(stream: Any, size: int, name: str, *, whole: bool = False) -> Iterator[bytes]:
    """Yield full chunks of a whole file, or whatever a pipe or terminal has just now."""
    zipped = stream.peek(2)[:2] == GZIP_MAGIC if hasattr(stream, "peek") else False
    source = gunzipped(stream, name) if zipped else stream
    read = source.read if whole else source.read1
    while chunk := read(size):
        yield chunk


def _text(chunks: Iterator[bytes], encoding: str | None, name: str) -> Iterator[bytes]:
    if encoding is not None:
        return transcoded(chunks, encoding, name)
    return _refuse_others(chunks, name)


@contextmanager
def _unzipped(stream: IO[bytes], name: str) -> Iterator[Unpacked]:
    """Open the only file of a zip archive."""
    import zipfile  # seldom needed, and slow to load

    try:
        with zipfile.ZipFile(cast(IO[bytes], _InPieces(stream, name))) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) != 1:
                raise DataError(
                    f"{name}: is a zip archive of {len(members)} files; unpack it with unzip, and give one of them"
                )
            check_zip_method(members[0].compress_type, name)
            with archive.open(members[0]) as member:
                yield Unpacked(member, name, packed=members[0].compress_size)
    except SapoError:
        raise
    except RuntimeError as error:  # a password, or a newer version of the format
        raise DataError(f"{name}: this zip archive cannot be unpacked ({error}); unpack it with unzip") from None
    except (zipfile.BadZipFile, EOFError, OSError, zlib.error, ValueError, IndexError, struct.error) as error:
        raise DataError(f"{name}: broken zip archive ({str(error) or 'it ends too early'})") from None


def _refuse_others(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the same chunks; raise SapoError if the first bytes show that this is not UTF-8 text."""
    held: list[bytes] = []
    for chunk in chunks:
        held.append(chunk)
        beginning = b"".join(held)
        for magic, what in OTHERS.items():
            if beginning.startswith(magic):
                raise DataError(f"{name}: is {what}")
        if (tool := foreign_model(beginning)) is not None:
            raise DataError(f"{name}: is a {tool} model, not a file of sentences (are the arguments swapped?)")
        if beginning[8:].startswith(MODEL):
            raise DataError(f"{name}: is a model of sapo, not a file of sentences (are the arguments swapped?)")
        if len(beginning) > 1 and _has_wide_letters(beginning[:200]):
            raise DataError(f"{name}: is {UTF_16.format(order='-be' if beginning[0] == 0 else '-le')}")
        if not any(magic.startswith(beginning) for magic in OTHERS):  # otherwise wait for more
            break
    yield from held
    yield from chunks


def _has_wide_letters(data: bytes) -> bool:
    """Return whether every second byte of ASCII is 0, as in UTF-16 without a byte-order mark."""
    zeros = data.count(0)
    return 5 * zeros > 2 * len(data) and zeros in (data[::2].count(0), data[1::2].count(0))


def foreign_model(head: bytes) -> str | None:
    """Return whose model a file is, by its first 9 bytes or more; None if it is not a model of another tool.

    >>> foreign_model(b"lCRF" + bytes(44)), foreign_model(b"the DT")
    ('CRFsuite', None)
    """
    if head.startswith(CRFPP_BINARY) and head[8:9] != b"{":  # a header of sapo may have this length
        return "CRF++ binary"
    return next((tool for magic, tool in FOREIGN_MODELS.items() if head.startswith(magic)), None)


def is_model(path: str | Path, *, foreign: bool = True) -> bool:
    """Return whether a file begins as a model does, of sapo or (`foreign`) of another tool; it may still be damaged.

    >>> is_model(__file__)
    False
    """
    try:
        with open_regular(path) as stream:
            head = stream.read(8 + len(MODEL))
        return head[8:] == MODEL or (foreign and foreign_model(head) is not None)
    except (OSError, ValueError):
        return False


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file to read. Raise OSError if it is a named pipe, which would wait for a writer, or a device."""
    waits = getattr(os, "O_NONBLOCK", 0)
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | waits))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return stream


def missing_file(path: str | Path) -> SapoError:
    """Return the error about a file that is not there; it names the one that may be meant."""
    path = Path(path)
    with suppress(OSError, ValueError):
        with os.scandir(path.parent) as entries:
            close = nearest(path.name, [entry.name for entry in itertools.islice(entries, LOOKED_AT)])
        if close is not None and close != path.name:
            return DataError(f"{path}: no such file; did you mean {path.with_name(close)}?")
    return DataError(f"{path}: no such file")


def check_readable(path: str | Path) -> None:
    """Raise SapoError if there is no such file: to be called before any work begins. '-' is standard input."""
    if str(path) == "-":
        return
    try:
        if stat.S_ISDIR(Path(path).stat().st_mode):
            raise DataError(f"{path}: is a directory, not a file")
    except FileNotFoundError:
        raise missing_file(path) from None
    except SapoError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def check_utf8(data: bytes, name: str, first_line: int, *, corpus: bool = True) -> None:
    """Raise SapoError with file, line and byte if the data is not UTF-8; a corpus can be read in another encoding."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        guess = looks_like(data[data.rfind(b"\n", 0, error.start) + 1 :])
        at = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        option = f"use `encoding='{guess}'`, or " if corpus else ""
        raise DataError(
            f"{name}:{line}: not UTF-8: byte 0x{data[error.start]:02x} at place {at} of the line; "
            f"it looks like {guess}: {option}convert it with iconv -f {guess} -t utf-8"
        ) from None


@contextmanager
def write_file(path: str | Path) -> Iterator[BinaryIO]:
    r"""Open a stream that becomes the file once all is written; on any error the old file stays as it was.

    '-' is standard output; a file whose name ends in .gz is compressed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as room:
    ...     with write_file(f"{room}/a.txt.gz") as stream:
    ...         _ = stream.write(b"a X\n")
    ...     list(read_chunks(f"{room}/a.txt.gz"))
    [b'a X\n']
    """
    target = Path(path)
    if str(path) == "-":
        with as_sapo_error(Path("standard output")):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    elif (number := stream_number(target)) is not None:
        sys.stdout.flush()  # what was printed before comes first
        with as_sapo_error(target), os.fdopen(os.dup(number), "wb") as stream:
            yield stream
    elif is_special(target):
        with as_sapo_error(target), target.open("wb") as stream:
            yield stream
    elif target.suffix.lower() == ".zip":
        raise DataError(f"{target}: zip archives are read, but not written; give a name that ends in .gz")
    else:
        with replace_file(target) as part, part.open("wb") as raw:
            if target.suffix.lower() == ".gz":
                with _zipping(raw) as zipped:
                    yield zipped
            else:
                yield raw


@contextmanager
def _zipping(raw: IO[bytes]) -> Iterator[BinaryIO]:
    """Open a stream that is compressed into another."""
    zipped = gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
    try:
        with zipped:
            yield cast(BinaryIO, zipped)
    except OSError:
        # From Python 3.12 on, what did not fit stays in a buffer, which tries again when it is collected.
        with suppress(AttributeError, OSError, ValueError):
            cast(Any, zipped)._buffer.close()
        raise


def stream_number(path: str | Path) -> int | None:
    """Return the number of the open stream that a path names, or None if it names a file.

    Such a stream is written to and never replaced: the file behind it may hold more.

    >>> stream_number("/dev/stdout"), stream_number("/dev/fd/3"), stream_number("/dev/shm/train.txt")
    (1, 3, None)
    """
    folder, _, number = str(Path(path)).rpartition("/")
    if folder in ("/dev/fd", "/proc/self/fd") and number.isdecimal():
        return int(number)
    return STREAMS.get(str(Path(path)))


def is_special(target: Path) -> bool:
    """Return whether this is /dev/null, /dev/stdout or a named pipe, which are written to and never replaced."""
    return stream_number(target) is not None or (target.exists() and not target.is_file())


def check_writable(path: str | Path) -> None:
    """Raise SapoError if a file cannot be written: to be called before hours of work."""
    if str(path) == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target}: is a directory; give the name of a file")
    if not target.parent.is_dir():
        raise DataError(f"{target}: cannot be written, there is no directory {target.parent}")
    if is_special(target):
        return
    real_path(target)
    import tempfile

    with as_sapo_error(target), tempfile.TemporaryFile(dir=target.parent):
        pass


class LineSink:
    """A stream of bytes that passes on whole lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line, which may come in many pieces

    def write(self, data: bytes) -> int:
        *ends, rest = data.split(b"\n")
        for end in ends:
            self.add(b"".join([*self._rest, end]))
            self._rest = []
        self._rest.append(rest)
        return len(data)

    def flush(self) -> None:
        """Do nothing: lines are passed on at once."""

    def add(self, line: bytes) -> None:
        raise NotImplementedError
