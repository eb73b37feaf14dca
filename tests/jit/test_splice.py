"""Pieces put into bytes, against slicing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus import scanner


def splice(data: bytes, cuts: list[tuple[int, int]], pieces: list[bytes], piece: list[int]) -> bytes:
    starts, ends = (np.array([cut[i] for cut in cuts], np.int32) for i in range(2))
    out = np.full(len(data) + sum(len(pieces[i]) for i in piece), 255, np.uint8)
    written = scanner.splice(
        np.frombuffer(data, np.uint8),
        starts,
        ends,
        np.frombuffer(b"".join(pieces), np.uint8),
        np.cumsum([0, *map(len, pieces)]).astype(np.int32),
        np.array(piece, np.int32),
        out,
    )
    return out[:written].tobytes()


@st.composite
def splices(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, int]], list[bytes], list[int]]:
    data = draw(st.binary(max_size=30))
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    cuts = list(zip(places[::2], places[1::2], strict=False))
    pieces = draw(st.lists(st.binary(max_size=4), min_size=1, max_size=4))
    return data, cuts, pieces, [draw(st.integers(0, len(pieces) - 1)) for _ in cuts]


@given(splices())
@settings(deadline=None, max_examples=150)
def test_splicing_equals_slicing(case: tuple[bytes, list[tuple[int, int]], list[bytes], list[int]]) -> None:
    data, cuts, pieces, piece = case
    expected = data
    for (start, end), number in reversed(list(zip(cuts, piece, strict=True))):
        expected = expected[:start] + pieces[number] + expected[end:]
    assert splice(data, cuts, pieces, piece) == expected


def test_a_tag_is_put_behind_each_line() -> None:
    assert splice(b"a\nb\n", [(1, 1), (3, 3)], [b" X", b" YY"], [1, 0]) == b"a YY\nb X\n"


def test_a_field_is_replaced() -> None:
    assert splice(b"a\tNN\tb", [(2, 4)], [b"_", b"VERB"], [1]) == b"a\tVERB\tb"


def test_nothing_to_put_in_leaves_the_bytes_as_they_are() -> None:
    assert splice(b"abc", [], [b"x"], []) == b"abc"
