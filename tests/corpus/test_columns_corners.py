"""Column files: sentences that come too late, columns with one name, and words that are read as something else."""

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sapo.corpus.blocks import Sentence
from sapo.corpus.columns import write_sentence
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]


class Dialogue(io.RawIOBase):
    """A pipe whose writer waits for an answer after its last line."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        assert self.pieces, "the sentence is complete, but more is asked for: a program in dialogue waits for ever"
        piece = self.pieces.pop(0)
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_a_sentence_that_comes_line_by_line_is_given_out_at_its_empty_line(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    # scan_file waits for twice the bytes of the last scan, even when the sentence has ended before
    pieces = [*[b"word X\n"] * count, b"\n"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(Dialogue(pieces))))
    assert len(next(read("-"))) == count


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_another_encoding_is_told_as_such_not_as_uneven_columns(make_file: MakeFile, encoding: str) -> None:
    # the uneven second line is told, although the first is not UTF-8
    path = make_file("é X\nb Y\n\n".encode(encoding), "windows.txt")
    with pytest.raises(SapoError, match="UTF-8"):
        list(read(path))


def test_the_first_wrong_line_is_told_first(make_file: MakeFile) -> None:
    path = make_file(b"a X\n\xe9 Y\n\nb\n", "two.txt")
    with pytest.raises(SapoError, match=r"two\.txt:2: not UTF-8"):
        list(read(path))


@pytest.mark.parametrize(
    ("names", "label"),
    [(["word", "label", "pos"], "pos"), (["word", "word", "tag"], None), (["word", "tag", "tag"], "tag")],
)
def test_two_columns_with_one_name_are_refused(make_file: MakeFile, names: list[str], label: str | None) -> None:
    path = make_file("a b c\n", "names.txt")
    with pytest.raises(SapoError):
        next(read_blocks(path, columns=names, label=label))


def test_a_chunk_column_is_not_called_pos_when_pos_is_the_label(make_file: MakeFile) -> None:
    # names are given out in order without the label, so the third column takes the name of the second
    path = make_file("a NN B-NP\n", "names.txt")
    assert next(read_blocks(path, label="pos")).columns == ("word", "label", "chunk")


def test_a_document_border_with_blanks_is_one_in_a_file_with_tabs_too(make_file: MakeFile) -> None:
    path = make_file("-DOCSTART- -X- O\n\na\tX\n\n-DOCSTART- -X- O\n\nb\tY\n\n", "doc.txt")
    assert [sentence.words for sentence in read(path)] == [("a",), ("b",)]


@pytest.mark.parametrize(
    "sentence",
    [
        Sentence({"word": ("New York", "is")}),  # one column has no TAB, so the blank separates
        Sentence({"word": ("-DOCSTART-", "is")}, ("X", "Y")),
        Sentence({"word": ("#", "is"), "pos": ("a", "b")}, ("=", "Y")),
        Sentence({"word": ("\ufeffa", "is")}, ("X", "Y")),
    ],
    ids=["blank", "docstart", "comment", "BOM"],
)
def test_what_would_be_read_as_something_else_is_refused_or_survives(make_file: MakeFile, sentence: Sentence) -> None:
    try:
        text = write_sentence(sentence)
    except SapoError:
        return
    found = list(read(make_file(text, "written.txt"), labeled=sentence.tags is not None))
    assert [(other.words, other.tags) for other in found] == [(sentence.words, sentence.tags)]
