"""Files that are not what they seem to be are told, not trained on."""

import bz2
import lzma
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sapo.corpus.formats import read
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
Piped = Callable[[bytes, int], AbstractContextManager[None]]
TEXT = "a X\nb Y\n\n"
CONLLU = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\t\t_\t_\t_\t_\t_\t_\n"
ZIP = b"PK\x03\x04\x14\x00\x00\x00\x00\x00"


def complaint(path: Path | str, **reading: str) -> str:
    with pytest.raises(SapoError) as error:
        list(read(path, **reading))  # type: ignore[arg-type]
    return str(error.value).rpartition("/")[2]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("a X\rb Y\r\rc Z\r", 1),
        ("a\tX\rb\tY\r\r", 1),
        ("a X\n\nb Y\n\nc\rd Z\n", 5),
        ("a X\r\r\nb Y\r\r\n", 1),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.conllu"])
def test_a_carriage_return_that_ends_no_line_is_told(make_file: MakeFile, name: str, data: str, place: int) -> None:
    assert complaint(make_file(data, name)) == (
        f"{name}:{place}: a carriage return (CR) that ends no line; convert the line endings, "
        "for example with tr '\\r' '\\n'"
    )


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_line_endings_of_windows_may_be_torn_apart_on_the_way(piped: Piped, size: int) -> None:
    with piped(b"a X\r\nb Y\r\n\r\nc Z\r\n", size):
        assert [sentence.tags for sentence in read("-")] == [("X", "Y"), ("Z",)]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.txt", "a\tX\nb\tY\n\nc\t\n", "a.txt:4: the label, column 1, is empty ('c\\t'); is there a TAB too many?"),
        ("a.txt", "a\tX\t\nb\tY\t\n", "a.txt:1: the label, column 2, is empty ('a\\tX\\t'); is there a TAB too many?"),
        ("a.conllu", CONLLU, "a.conllu:2: the label, column 3, is empty ("),
    ],
)
def test_an_empty_label_is_told_with_its_line(make_file: MakeFile, name: str, data: str, expected: str) -> None:
    assert complaint(make_file(data, name)).startswith(expected)


def test_what_is_empty_beside_the_label_is_taken_as_it_is(make_file: MakeFile) -> None:
    (sentence,) = read(make_file("a\t\tX\nb\t\tY\n", "a.txt"))
    assert sentence.columns["pos"] == ("", "")
    (sentence,) = read(make_file("a\tX\t\nb\tY\t\n", "a.txt"), label="1")
    assert sentence.tags == ("X", "Y")


def test_a_single_column_has_no_label(make_file: MakeFile) -> None:
    path = make_file("a\nb\n", "a.txt")
    assert complaint(path) == "a.txt: has one column; a training file needs a word and a label"
    assert [sentence.words for sentence in read(path, labeled=False)] == [("a", "b")]


UTF_16 = "is not UTF-8; it looks like UTF-16; use `encoding='utf-16'`"
OTHERS = [
    (TEXT.encode("utf-16-le").join([b"\xff\xfe", b""]), UTF_16),
    (TEXT.encode("utf-16-be").join([b"\xfe\xff", b""]), UTF_16),
    (lzma.compress(TEXT.encode()), "is an xz file; unpack it with unxz, or zip it with gzip"),
    (bz2.compress(TEXT.encode()), "is a bzip2 file; unpack it with bunzip2, or zip it with gzip"),
    (ZIP, "is a zip archive; unpack it with unzip"),
]


@pytest.mark.parametrize(("data", "what"), OTHERS)
@pytest.mark.parametrize("name", ["a.txt", "a.conllu", "a.jsonl"])
def test_a_file_that_is_no_utf8_text_is_told_by_what_it_is(
    make_file: MakeFile, name: str, data: bytes, what: str
) -> None:
    if data == ZIP:
        what = "broken zip archive (File is not a zip file)"  # a pipe is not looked through
    assert complaint(make_file(data, name)) == f"{name}: {what}"


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(("data", "what"), OTHERS)
def test_what_it_is_is_told_of_a_pipe_too(piped: Piped, data: bytes, what: str, size: int) -> None:
    with piped(data, size):
        assert complaint("-") == f"standard input: {what}"


@pytest.mark.parametrize("word", ["P", "PK", "B", "BZ", "BZh", "BZh9"])
def test_a_word_that_only_begins_like_an_archive_is_a_word(piped: Piped, word: str) -> None:
    with piped(f"{word} X\n".encode(), 1):
        assert [sentence.words for sentence in read("-")] == [(word,)]
