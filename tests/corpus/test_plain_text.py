"""Plain text is read as a stream, with the same sentences and offsets as in one piece."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapo.corpus import plain_text
from sapo.corpus.annotations import Annotation
from sapo.corpus.formats import read, read_blocks
from sapo.corpus.plain_text import format_of_text, read_text, text_blocks
from sapo.errors import SapoError, allow_limits
from sapo.text.splitter import Splitter

PIECES = st.lists(
    st.sampled_from(["Anna", " ", ". ", "\n", "\r\n", "\n\n", "He left.", "中。", "e.g. ", "!", "\u2029"])
)


def offsets(pieces: list[str]) -> list[list[tuple[int, int]]]:
    found = []
    for block in text_blocks(pieces, "a text", Splitter()):
        for record in block.origin_as(plain_text.TextOrigin).records:
            start = record.values["start"]
            found.append([(start + a, start + b) for a, b in record.values["offsets"]])
    return found


@given(PIECES)
@example(["He left", ".", " ", "She stayed.\n", "\n", "Yes."])
def test_pieces_are_cut_as_the_whole(pieces: list[str]) -> None:
    assert offsets(pieces) == Splitter()("".join(pieces))


@given(PIECES)
def test_pieces_of_a_long_paragraph_are_cut_as_the_whole(pieces: list[str]) -> None:
    before, plain_text.ENOUGH = plain_text.ENOUGH, 10
    try:
        assert offsets(pieces) == Splitter()("".join(pieces))
    finally:
        plain_text.ENOUGH = before


def test_what_is_held_of_a_giant_line_is_bounded() -> None:
    sizes = []

    class Watched(Splitter):
        def __call__(self, text: str) -> list[list[tuple[int, int]]]:
            sizes.append(len(text))
            return super().__call__(text)

    pieces = ("a dog barks and " * 1000 for _ in range(30))
    tokens = sum(int(block.offsets[-1]) for block in text_blocks(pieces, "a text", Watched()))
    assert tokens == 120_000
    assert max(sizes) < 2 * plain_text.ENOUGH


def test_blanks_are_no_text() -> None:
    assert offsets([" " * plain_text.ENOUGH] * 3 + ["a"]) == [[(3 * plain_text.ENOUGH, 3 * plain_text.ENOUGH + 1)]]
    assert offsets(["\n" * 5]) == offsets([]) == []


def test_lines_and_words_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffAnna sings.\r\nÖl, too.\n\nYes".encode())
    block, last = read_blocks(path, format="text", labeled=False)
    assert block.first_lines().tolist() == [1, 2]
    assert last.first_lines().tolist() == [4]
    assert block.place_of(4) == f"{path}:2"
    assert [one.words for one in read(path, format="text", labeled=False)] == [
        ("Anna", "sings", "."),
        ("Öl", ",", "too", "."),
        ("Yes",),
    ]
    assert b"".join(plain_text.write(block, Annotation(np.zeros(7, np.int32), ["X"]))).decode().count("\tX\n") == 7


def test_what_is_no_text_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"Anna sings.\n\nCaf\xe9\n")
    with pytest.raises(SapoError, match=r"a\.txt:3: not UTF-8: byte 0xe9"):
        list(read_blocks(path, format="text", labeled=False))
    path.write_bytes("é".encode()[:1])
    with pytest.raises(SapoError, match=r"a\.txt:1: not UTF-8"):
        list(read_blocks(path, format="text", labeled=False))
    with pytest.raises(SapoError, match="text has no labels"):
        read_blocks(path, format="text")


LINES = st.lists(st.lists(st.sampled_from(["Anna", "é", "中。", " ", "\t", "\r", "\x01", "."])).map("".join))


@given(LINES, st.integers(1, 4))
def test_lines_are_sentences_and_blanks_separate_their_tokens(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], at_once: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_text("\n".join(lines), "utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "LINES_AT_ONCE", at_once)
        format, blocks = read_text(path, format="lines")
        found = [
            (int(line), list(sentence.words))
            for block in blocks
            for line, sentence in zip(block.first_lines(), block.sentences(), strict=True)
        ]
    literal = [(number, line.replace("\x01", " ").split()) for number, line in enumerate(lines, 1)]
    assert format == "lines"
    assert found == [(number, words) for number, words in literal if words]


@pytest.mark.parametrize(
    ("beginning", "format"),
    [
        ("The DT B-NP\ncat NN I-NP\n\nIt PRP B-NP\n", "columns"),
        ("# sent_id = 1\nThe\tDT\ncat\tNN\n", "columns"),
        ("-DOCSTART- -X-\n\nThe DT\ncat NN\n\n", "columns"),
        ("The\ncat\nsleeps\n", "columns"),
        ("The cat sleeps\nThe dog barks\n", "lines"),  # of equal length, but without an empty line
        ("Hello world .\n\nHello there .\n", "lines"),
        ("Mr. Smith said : no , thanks .\n", "lines"),
        ("no marks\n", "lines"),
        ("", "lines"),
        ("Mr. Smith said no.\n\nHe left.\n", "text"),
        ("Well, he said, that is it", "text"),
        ("我 来 了 。\n", "lines"),
    ],
)
def test_the_beginning_of_a_text_shows_how_it_is_cut(tmp_path: Path, beginning: str, format: str) -> None:
    assert format_of_text(beginning) == format
    (tmp_path / "a.txt").write_text(beginning, "utf-8-sig")
    assert read_text(tmp_path / "a.txt")[0] == format
    (tmp_path / "b.txt").write_text(beginning, "utf-16")
    assert read_text(tmp_path / "b.txt", encoding="utf-16")[0] == format


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_that_is_cut_off_does_not_count(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_text("The DT\ncat NN\n\n" * 10_000, encoding)
    assert read_text(tmp_path / "a.txt", encoding=encoding)[0] == "columns"


def test_the_file_extension_comes_before_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a", "dog"]}\n')
    format, blocks = read_text(tmp_path / "a.jsonl")
    assert format == "jsonl"
    assert [block.strings("word") for block in blocks] == [["a", "dog"]]


def test_a_token_above_its_limit_is_found_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\na b\n\nc toolong\n")
    with allow_limits(token=5), pytest.raises(SapoError, match=r"a\.txt:4: .*bytes in a token"):
        list(read_text(tmp_path / "a.txt", format="lines")[1])
