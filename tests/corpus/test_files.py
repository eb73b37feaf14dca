"""Reading bytes and writing files: zipped or not, from pipes, and with every way a disk can fail."""

import errno
import gzip
import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.files import check_utf8, check_writable, read_chunks, show_path, write_file
from sapo.errors import SapoError

TEXT = "Zoë\tNNP\n".encode() * 100
ZIPPED = gzip.compress(TEXT, mtime=0)


def whole(path: str | Path, **options: Any) -> bytes:
    return b"".join(read_chunks(path, **options))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# reading


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a"])
def test_a_zipped_file_is_known_by_its_content_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(ZIPPED)
    assert whole(path) == TEXT


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a"])
def test_a_plain_file_is_read_as_it_is_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TEXT)
    assert whole(str(path)) == TEXT


def test_zipped_files_that_were_put_together_are_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "two.gz"
    path.write_bytes(ZIPPED + gzip.compress(b"more"))
    assert whole(path) == TEXT + b"more"


@pytest.mark.parametrize("data", [b"", b"a", b"\x1f", b"\n"])
def test_the_shortest_files_can_be_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "short"
    path.write_bytes(data)
    assert whole(path) == data


@pytest.mark.parametrize("data", [TEXT, ZIPPED])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_chunks_are_never_empty_nor_longer_than_asked_for(tmp_path: Path, data: bytes, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    chunks = list(read_chunks(path, size=size))
    assert all(0 < len(chunk) <= size for chunk in chunks)
    assert b"".join(chunks) == TEXT


@pytest.mark.parametrize("data", [TEXT, ZIPPED])
@pytest.mark.parametrize("size", [2, 7, 1 << 20])
def test_a_dash_is_standard_input_plain_or_zipped(piped: Callable[..., Any], data: bytes, size: int) -> None:
    with piped(data, size):
        assert whole("-") == TEXT


def test_what_a_pipe_has_given_so_far_is_passed_on_before_the_pipe_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    enough = threading.Event()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as stream:
            stream.write(b"first\n\n")
            enough.wait(timeout=20)  # a reader that waits for more gets both in one piece, and the test fails
            stream.write(b"second\n\n")

    writer = threading.Thread(target=write)
    with os.fdopen(reading, "rb") as stream:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
        chunks = read_chunks("-")
        writer.start()
        first = next(chunks)
        enough.set()
        rest = b"".join(chunks)
        writer.join()
    assert (first, rest) == (b"first\n\n", b"second\n\n")


def test_a_missing_file_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match=r"nowhere\.txt: no such file$"):
        whole(tmp_path / "nowhere.txt")


def test_a_directory_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="is a directory, not a file"):
        whole(tmp_path)


def test_a_file_taken_for_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SapoError, match=r"file/inner: cannot be read \(Not a directory\)"):
        whole(tmp_path / "file" / "inner")


def test_an_error_in_the_middle_of_reading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: object) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(Broken())))
    with pytest.raises(SapoError, match=r"^standard input: cannot be read \(Input/output error\)$"):
        whole("-")


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(2, len(ZIPPED) - 1), st.sampled_from([1 << 20, 5]))
def test_a_zipped_file_cut_off_anywhere_is_told(
    make_file: Callable[[bytes, str], Path], length: int, size: int
) -> None:
    path = make_file(ZIPPED[:length], "cut.txt.gz")
    with pytest.raises(SapoError, match=r"cut\.txt\.gz: broken gzip file \("):
        whole(path, size=size)


@pytest.mark.parametrize(
    "broken",
    [
        ZIPPED[:-8] + bytes(8),  # wrong checksum and length
        ZIPPED[:12] + b"\xff" * 8 + ZIPPED[20:],  # wrong bytes inside
        ZIPPED[:2] + b"\x07" + ZIPPED[3:],  # unknown method
        ZIPPED + b"no zip",
    ],
    ids=["checksum", "inside", "method", "behind"],
)
def test_a_damaged_zipped_file_is_told(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "damaged.gz"
    path.write_bytes(broken)
    with pytest.raises(SapoError, match=r"damaged\.gz: broken gzip file \("):
        whole(path)


def test_standard_input_has_a_name_for_messages(piped: Callable[..., Any]) -> None:
    assert (show_path("-"), show_path(Path("a/b.txt"))) == ("standard input", "a/b.txt")
    with piped(ZIPPED[:30], 100), pytest.raises(SapoError, match=r"^standard input: broken gzip file"):
        whole("-")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"\xff", "f:7: not UTF-8: byte 0xff at place 1 of the line"),
        (b"ok\nno \xe4 good\n", "f:8: not UTF-8: byte 0xe4 at place 4 of the line"),
        ("ä\n\nää".encode() + b"\xc3", "f:9: not UTF-8: byte 0xc3 at place 5 of the line"),
        (b"\xed\xa0\x80", "f:7: not UTF-8: byte 0xed at place 1 of the line"),  # a surrogate
    ],
)
def test_bytes_that_are_not_utf8_are_told_with_file_line_and_place(data: bytes, place: str) -> None:
    with pytest.raises(SapoError, match="iconv") as caught:
        check_utf8(data, "f", 7)
    assert str(caught.value).startswith(place + ";")


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.text())
def test_all_text_is_utf8(text: str) -> None:
    check_utf8(text.encode(), "f", 1)


# writing


@pytest.mark.parametrize("name", ["new.txt", "new.gz", "new", ".hidden", "ünï code"])
def test_what_is_written_can_be_read_again(tmp_path: Path, name: str) -> None:
    with write_file(tmp_path / name) as stream:
        stream.write(TEXT)
        stream.write(b"more")
    assert whole(tmp_path / name) == TEXT + b"more"
    assert names_in(tmp_path) == [name]


def test_a_name_that_ends_in_gz_is_zipped_and_others_are_not(tmp_path: Path) -> None:
    for name in ("a.txt.gz", "a.txt"):
        with write_file(str(tmp_path / name)) as stream:
            stream.write(TEXT)
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == TEXT
    assert (tmp_path / "a.txt").read_bytes() == TEXT


def test_zipped_output_is_the_same_whenever_and_under_whatever_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, now in (("a.gz", 1e9), ("b.gz", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with write_file(tmp_path / name) as stream:
            stream.write(TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_the_old_file_stays_until_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with write_file(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, SapoError, KeyboardInterrupt, SystemExit, BrokenPipeError])
@pytest.mark.parametrize("name", ["file", "file.gz"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_after_any_error_the_old_file_is_as_it_was_and_nothing_else_is_left(
    tmp_path: Path, error: type[BaseException], name: str, old: bytes | None
) -> None:
    path = tmp_path / name
    if old is not None:
        path.write_bytes(old)

    def fail() -> None:
        with write_file(path) as stream:
            stream.write(TEXT)
            raise error("from inside")

    with pytest.raises(error, match="from inside"):
        fail()
    assert names_in(tmp_path) == [name] * (old is not None)
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("function", ["os.fsync", "os.replace", "pathlib.Path.chmod"])
def test_an_error_in_the_last_steps_leaves_the_old_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(function, refuse)
    with (
        pytest.raises(SapoError, match=r"file: cannot be written \(No space left on device\).*unchanged"),
        write_file(path) as stream,
    ):
        stream.write(TEXT)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


WRITE_TOO_MUCH = """
import random, resource, sys
from sapo.corpus.files import write_file
from sapo.errors import SapoError
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
for path in sys.argv[1:]:
    try:
        with write_file(path) as stream:
            for part in range(20):
                stream.write(random.Random(part).randbytes(1000))
    except SapoError as error:
        print(error)
"""


def test_when_no_more_fits_on_the_disk_the_old_file_stays_and_no_half_file_is_left(tmp_path: Path) -> None:
    old = {"plain": b"old", "zipped.gz": gzip.compress(b"old")}
    for name, data in old.items():
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in (*old, "new", "new.gz")]
    done = subprocess.run([sys.executable, "-c", WRITE_TOO_MUCH, *paths], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{path}: cannot be written (File too large); what was there before is unchanged" for path in paths
    ]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "file"
    with pytest.raises(SapoError, match="missing/file: cannot be written"), write_file(path):
        pass
    assert names_in(tmp_path) == []


def test_a_directory_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    message = r"directory: cannot be written \(Is a directory\)"
    with pytest.raises(SapoError, match=message), write_file(tmp_path / "directory"):
        pass
    assert names_in(tmp_path) == ["directory"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_every_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with write_file(tmp_path / "ours"):
            pass
        (tmp_path / "other").touch()
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    ours, other = ((tmp_path / name).stat().st_mode for name in ("ours", "other"))
    assert oct(ours) == oct(other)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_an_old_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    with write_file(path) as stream:
        stream.write(TEXT)
    assert oct(stat.S_IMODE(path.stat().st_mode)) == oct(mode)


def test_a_device_is_written_to_and_not_replaced() -> None:
    with write_file("/dev/null") as stream:
        stream.write(TEXT)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_that_is_full_is_told() -> None:
    with (
        pytest.raises(SapoError, match=r"/dev/full: cannot be written \(No space left on device\)"),
        write_file("/dev/full") as stream,
    ):
        stream.write(TEXT)


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    with write_file(path) as stream:
        stream.write(TEXT)
    reader.join()
    assert found == [TEXT]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with write_file("-") as stream:
        stream.write(TEXT)
    assert capfdbinary.readouterr().out == TEXT
    assert not sys.stdout.buffer.closed


# finding out before the work


@pytest.mark.parametrize("name", ["new", "new.gz", "old"])
def test_a_file_that_can_be_written_passes_and_nothing_changes(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").write_bytes(b"old")
    before = (tmp_path / "old").stat()
    check_writable(tmp_path / name)
    assert names_in(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    assert (tmp_path / "old").stat().st_mtime_ns == before.st_mtime_ns


def test_standard_output_and_devices_can_be_written() -> None:
    check_writable("-")
    check_writable("/dev/null")


def test_a_directory_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="is a directory; give the name of a file"):
        check_writable(tmp_path)


def test_a_file_in_no_directory_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for parent in ("missing", "file"):
        with pytest.raises(SapoError, match=f"cannot be written, there is no directory .*{parent}$"):
            check_writable(tmp_path / parent / "model")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_the_right_to_write_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SapoError, match="cannot be written"):
        check_writable(tmp_path / "model")
    tmp_path.chmod(0o700)


def test_a_full_disk_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    with pytest.raises(SapoError, match=r"model: cannot be written \(Read-only file system\)"):
        check_writable(tmp_path / "model")
