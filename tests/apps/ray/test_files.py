"""Directories here and elsewhere: files are found, fetched, and put in place whole."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sapo.apps.ray.tagging import Directory
from sapo.errors import SapoError

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed; Ray brings it")


@pytest.fixture(params=["here", "elsewhere"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Directory]:
    address = str(tmp_path / "texts") if request.param == "here" else "memory://texts"
    yield Directory(address)
    if request.param == "elsewhere":
        fsspec.filesystem("memory").rm("/texts", recursive=True)


def put(directory: Directory, name: str, content: bytes) -> None:
    with directory.placed(name) as path:
        path.write_bytes(content)


def test_files_are_listed_with_their_sizes_but_not_those_that_are_hidden(directory: Directory) -> None:
    directory.make()
    for name in ("b.txt", "deep/a.txt", "_SUCCESS", ".record", "_temporary/c.txt"):
        put(directory, name, b"abc")
    assert directory.files() == {"b.txt": 3, "deep/a.txt": 3}


def test_a_file_comes_back_as_it_was_put(directory: Directory) -> None:
    directory.make()
    put(directory, "deep/a.txt", b"one\n")
    with directory.fetched("deep/a.txt") as path:
        assert path.read_bytes() == b"one\n"
        assert path.name == "a.txt"  # its ending tells the format
    assert directory.read("deep/a.txt") == b"one\n"
    assert directory.read("other") is None


def test_a_file_that_was_not_finished_is_not_there() -> None:
    directory = Directory("memory://texts")
    directory.make()
    with suppress(RuntimeError), directory.placed("a.txt") as path:
        path.write_bytes(b"half")
        raise RuntimeError
    assert directory.files() == {}


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="no such directory"):
        Directory(str(tmp_path / "none")).files()


def test_an_address_that_nobody_knows_is_told() -> None:
    with pytest.raises(SapoError, match="not an address that fsspec can open"):
        Directory("nonsense://texts").files()
