"""Files of word vectors: the forms that are read, and one line with the place for what is wrong."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.features.vectors import read_vectors

LINES = "the 0.5 -1 2\ncat 1 2 3e-1\n"


def binary(*pairs: tuple[str, list[float]]) -> bytes:
    header = f"{len(pairs)} {len(pairs[0][1])}\n".encode()
    return header + b"".join(word.encode() + b" " + np.array(values, "<f4").tobytes() + b"\n" for word, values in pairs)


def damaged(zipped: bytes) -> bytes:
    middle = len(zipped) // 2
    return zipped[:middle] + bytes([zipped[middle] ^ 0xFF]) + zipped[middle + 1 :]


def narrower(content: bytes) -> bytes:
    """The header announces fewer numbers than there are."""
    return content.replace(b"2 3\n", b"2 2\n", 1)


@pytest.mark.parametrize(
    "content",
    [
        LINES.encode(),
        b"2 3\n" + LINES.encode(),
        gzip.compress(LINES.encode()),
        LINES.replace(" ", "\t").replace("\n", "\r\n").encode(),
        b"2 3\n" + LINES.strip().encode(),
        binary(("the", [0.5, -1, 2]), ("cat", [1, 2, 0.3])),
        binary(("the", [0.5, -1, 2]), ("cat", [1, 2, 0.3])).replace(b"\ncat", b"cat")[:-1],
    ],
    ids=["text", "with a header", "zipped", "tabs", "without a last newline", "binary", "binary without newlines"],
)
def test_every_form_gives_the_same_vectors(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    vectors = read_vectors(path)
    assert vectors.words == ["the", "cat"]
    np.testing.assert_allclose(vectors.matrix, [[0.5, -1, 2], [1, 2, 0.3]], rtol=1e-6)
    assert vectors.size == 3


def test_a_word_may_have_blanks(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_text("the 0 1\n. . 2 3\n")
    assert read_vectors(path).words == ["the", ". ."]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": the file of word vectors is empty"),
        (b"\n\n", ": the file of word vectors is empty"),
        (b"the 1 2\ncat 1\n", ":2: expected a word and 2 numbers, found 1 numbers"),
        (b"the 1 2\ncat 1 2 3\n", ":2: expected 2 numbers, found more"),
        (b"the 1 2\n\ncat 1 x\n", ":3: expected a word and 2 numbers, found 'cat 1 x'"),
        (b"the 1 2\ncat 1 nan\n", ":2: the vector of 'cat' has a value that is not a finite number"),
        (b"the 1 2\ncat inf 1\n", ":2: the vector of 'cat' has a value that is not a finite number"),
        (b"3 2\nthe 1 2\ncat 1 2\n", ":1: announces 3 vectors, but 2 follow; is the file cut off?"),
        (b"2 3\nthe 1 2\n", ":2: expected a word and 3 numbers, found 2 numbers"),
        (b"the\n", ":1: expected a word and some numbers, found 0 numbers"),
        (b"the 1 2\n\xff\xfe 1 2\n", ":2: expected a word and 2 numbers"),
        (binary(("the", [1, 2]))[:-6], ":1: announces 1 vectors of 2 numbers, but the file ends before that"),
        (binary(("the", [1, float("nan")])), ": vector 1, of 'the': a value is not a finite number"),
        (b"\x1f\x8bcut off", ": cannot be read"),
        (damaged(gzip.compress(LINES.encode() * 99, mtime=0)), ": cannot be read"),
        ("2 2\nthe 1 2\ncafé 1 2\n".encode("latin-1"), ":3: expected a word and 2 numbers, found 'caf"),
        ("2 2\ncafé 1 2\nthe 1 2\n".encode("latin-1"), ":2: expected a word and 2 numbers, found 'caf"),
        (narrower(binary(("the", [1, 2, 3]), ("cat", [1, 2, 3]))), ": vector 2 of 2: "),
        (binary(("the", [1, 2])) + b"cat \x00\x00\x00\x00", ":1: announces 1 vectors of 2 numbers, but more follows"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(SapoError) as raised:
        read_vectors(path)
    assert str(raised.value).startswith(f"{path}{message}")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="no such file"):
        read_vectors(tmp_path / "none")
    with pytest.raises(SapoError, match="is a directory"):
        read_vectors(tmp_path)
