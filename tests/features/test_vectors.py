"""Files of word vectors: the forms that are read, and one line with the place for what is wrong."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.features import vectors as module
from sapo.features.strings import fields
from sapo.features.vectors import SQUARES, WordVectors, read_vectors

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


NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[-+]?([0-9]{1,20}\.?[0-9]{0,5}|\.[0-9]{1,18})([eE][-+]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["1_0", "inf", "x", "1e", "-", ".", "1.2.3", "+-1", "\u0663"]),
)


@given(st.lists(st.tuples(st.text(max_size=4), st.lists(NUMBERS, min_size=2, max_size=2)), min_size=1, max_size=5))
def test_numbers_are_read_as_python_reads_them(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, list[str]]]
) -> None:
    path = tmp_path_factory.mktemp("vectors") / "vectors"
    content = "".join(f"{word} {' '.join(numbers)}\n" for word, numbers in [("first", ["0", "-0.5"]), *lines]).encode()
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_plain_lines", lambda *_: None)
        expected = outcome(path)
    assert outcome(path) == expected


def outcome(path: Path) -> object:
    try:
        found = read_vectors(path)
    except SapoError as error:
        return str(error)
    return found.words, found.matrix.tobytes()


def test_no_room_is_made_for_a_width_that_no_line_has(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_text("2 9999999999999\na 1 2\nb 3 4\n")
    with pytest.raises(SapoError, match="vectors:2: expected a word and 9999999999999 numbers, found 2 numbers"):
        read_vectors(path)


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
        (b"the 1 2\n\xff\xfe 1 2\n", ":2: not UTF-8: byte 0xff at place 1 of the line"),
        (b'\x40\0\0\0\0\0\0\0{"vectors', ": begins as a safetensors file, but ends before its header does"),
        (binary(("the", [1, 2]))[:-6], ":1: announces 1 vectors of 2 numbers, but the file ends before that"),
        (binary(("the", [1, float("nan")])), ": vector 1, of 'the': a value is not a finite number"),
        (b"\x1f\x8bcut off", ": cannot be read"),
        (damaged(gzip.compress(LINES.encode() * 99, mtime=0)), ": cannot be read"),
        ("2 2\nthe 1 2\ncafé 1 2\n".encode("latin-1"), ":3: not UTF-8: byte 0xe9 at place 4 of the line"),
        ("2 2\ncafé 1 2\nthe 1 2\n".encode("latin-1"), ":2: not UTF-8: byte 0xe9 at place 4 of the line"),
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


def saved(arrays: dict[str, np.ndarray], path: Path) -> Path:
    """Write a plain safetensors file, as other programs do."""
    names = {"float16": "F16", "float32": "F32", "float64": "F64", "uint8": "U8", "int64": "I64"}
    table, at = {}, 0
    for name, array in arrays.items():
        offsets = [at, at := at + array.nbytes]
        table[name] = {"dtype": names[str(array.dtype)], "shape": list(array.shape), "data_offsets": offsets}
    header = json.dumps(table).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"".join(map(np.ndarray.tobytes, arrays.values())))
    return path


MATRIX = np.array([[0.5, -1, 2], [1, 2, 0.25]], np.float32)
WORDS = np.frombuffer(b"the\ncaf\xc3\xa9", np.uint8)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_a_safetensors_file_has_vectors_and_words(tmp_path: Path, kind: str) -> None:
    path = saved({"vectors": MATRIX.astype(kind), "words": WORDS}, tmp_path / "v.safetensors")
    vectors = read_vectors(path)
    assert vectors.words == ["the", "café"]
    assert vectors.matrix.tolist() == MATRIX.tolist()
    assert read_vectors(path, 1).words == ["the"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": MATRIX}, ": expected the arrays 'vectors' and 'words' of numbers and bytes, found no 'words'"),
        ({"vectors": MATRIX[0], "words": WORDS}, ": 'vectors' must be a matrix of F16, F32 or F64"),
        ({"vectors": MATRIX.astype(np.int64), "words": WORDS}, ": 'vectors' must be a matrix of F16, F32 or F64"),
        ({"vectors": MATRIX[:0], "words": WORDS[:0]}, ": 'vectors' must be a matrix of F16, F32 or F64"),
        ({"vectors": MATRIX, "words": WORDS[:3]}, ": expected as many words as vectors, found 1 words and 2 vectors"),
        ({"vectors": MATRIX, "words": WORDS[:-1]}, ": 'words' is not UTF-8 (byte 8)"),
        (
            {"vectors": MATRIX * np.float32(np.inf), "words": WORDS},
            ": vector 1, of 'the': a value is not a finite number",
        ),
    ],
)
def test_a_wrong_safetensors_file_is_an_error(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    path = saved(arrays, tmp_path / "v.safetensors")
    with pytest.raises(SapoError) as raised:
        read_vectors(path)
    assert str(raised.value).startswith(f"{path}{message}")
    assert "\n" not in str(raised.value)


def test_a_safetensors_file_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    path = saved({"vectors": MATRIX, "words": WORDS}, tmp_path / "v.safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SapoError, match="its end is missing"):
        read_vectors(path)


@pytest.mark.parametrize(
    "content", [LINES.encode(), b"2 3\n" + LINES.encode(), binary(("the", [0.5, -1, 2]), ("cat", [1, 2, 0.3]))]
)
def test_the_first_words_of_a_file_can_be_read_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    assert read_vectors(path, 1).words == ["the"]
    assert read_vectors(path, 2).words == ["the", "cat"]


def test_vectors_keep_their_directions_and_are_scaled_together() -> None:
    matrix = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32) * 9
    vectors = WordVectors([f"w{i}" for i in range(50)], matrix)
    values = vectors.values(vectors.find(*fields([f"w{i}" for i in range(50)])))
    assert np.square(values).sum(axis=1).mean() == pytest.approx(SQUARES, rel=0.01)
    np.testing.assert_allclose(values / np.abs(values).max(), matrix / np.abs(matrix).max(), atol=0.005)


def test_the_first_vector_of_a_word_counts_and_others_are_found_by_their_spelling() -> None:
    vectors = WordVectors(["oslo", "rain", "oslo", "a\nb", "####"], np.diag(np.arange(1, 6)).astype(np.float32))
    assert len(vectors) == 3
    found = vectors.find(*fields(["OSLO", "oslo", "1999", "Rain", "a\nb"]))
    assert found.tolist() == [1, 1, 0, 2, -1]
    assert [int(np.flatnonzero(row)[0]) for row in vectors.values(found[:4])] == [0, 0, 4, 1]


def test_a_word_may_have_a_vector_of_zeros_but_not_all_words(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_text("the 0 0\ncat 1 0\n")
    vectors = WordVectors.read(path)
    assert vectors.values(vectors.find(*fields(["the"]))).tolist() == [[0.0, 0.0]]
    path.write_text("the 0 0\ncat 0 0\n")
    with pytest.raises(SapoError, match="all numbers of all word vectors are 0"):
        WordVectors.read(path)


def damage(name: str, array: np.ndarray) -> list[np.ndarray]:
    short = [array[:-1], array.astype(np.int64), array.reshape(1, *array.shape)]
    return [*short, array[:, :0]] if name == "numbers" else [*short, array * np.nan] if name == "scales" else short


def test_damaged_arrays_are_refused() -> None:
    vectors = WordVectors(["oslo", "rain"], MATRIX)
    arrays = {f"vectors.{name}": array for name, array in vectors.arrays().items()}
    again = WordVectors.from_arrays(arrays, "vectors")
    assert again.values(np.array([0, 1])).tolist() == vectors.values(np.array([0, 1])).tolist()
    for name, array in vectors.arrays().items():
        with pytest.raises(KeyError):
            WordVectors.from_arrays({key: one for key, one in arrays.items() if key != f"vectors.{name}"}, "vectors")
        for wrong in damage(name, array):
            with pytest.raises(ValueError):  # noqa: PT011 (the message is not for people)
                WordVectors.from_arrays({**arrays, f"vectors.{name}": wrong}, "vectors")
