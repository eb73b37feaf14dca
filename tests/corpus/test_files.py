"""Reading bytes: zipped or not, from pipes, and with every way it can fail."""

import errno
import gzip
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.errors import SapoError

TEXT = "Zoë\tNNP\n".encode() * 100
ZIPPED = gzip.compress(TEXT, mtime=0)


def whole(path: str | Path, **options: Any) -> bytes:
    return b"".join(read_chunks(path, **options))


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


@settings(deadline=None, max_examples=60)
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


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_all_text_is_utf8(text: str) -> None:
    check_utf8(text.encode(), "f", 1)
