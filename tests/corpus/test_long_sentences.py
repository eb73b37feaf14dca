"""A long sentence or line that comes in many pieces is put together once, not anew with each piece."""

from collections.abc import Iterator

import pytest

from sapo.corpus.formats import read

SIZE = 64


class Piece(bytes):
    """Bytes that count what is copied when they are added to others."""

    copied = 0

    def __radd__(self, other: bytes) -> bytes:
        Piece.copied += len(other) + len(self)
        return bytes.__add__(other, self)


@pytest.mark.parametrize(
    ("module", "format", "data"),
    [
        ("scanner", "columns", "wörter X\n" * 2000),
        ("scanner", "columns", "# a comment\n" * 2000 + "wörter X\n"),
        ("scanner", "conllu", "1\twörter\t_\tX\t_\t_\t_\t_\t_\t_\n" * 2000),
        ("scanner", "jsonl", '{"tokens": ["' + "ö" * 9000 + '"], "tags": ["X"]}'),
    ],
)
def test_no_byte_is_copied_again_with_each_piece(
    monkeypatch: pytest.MonkeyPatch, module: str, format: str, data: str
) -> None:
    whole = data.encode()

    def pieces(_: object) -> Iterator[bytes]:
        return (Piece(whole[at : at + SIZE]) for at in range(0, len(whole), SIZE))

    monkeypatch.setattr(f"sapo.corpus.{module}.read_chunks", pieces)
    monkeypatch.setattr(Piece, "copied", 0)
    (sentence,) = read("-", format=format)
    assert set(sentence.tags or ()) == {"X"}
    assert Piece.copied < 3 * len(whole)
