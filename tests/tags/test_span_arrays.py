"""Spans of arrays of tags: the readings that conlleval gives to valid and invalid tags, and strict mode."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.tags.schemes import label_kinds
from sapo.tags.spans import read_spans

Span = tuple[int, int, str]

IOB = ["O", "B-X", "I-X", "B-Y", "I-Y"]
IOE = ["O", "I-X", "E-X", "I-Y", "E-Y"]
BIOES = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"]
BILOU = [label.replace("E-", "L-").replace("S-", "U-") for label in BIOES]


def spans_of(sentences: list[list[str]], *, labels: list[str] | None = None, strict: bool = False) -> list[Span]:
    """Spans by name. Without labels, the label list is what the sentences have."""
    words = [tag for sentence in sentences for tag in sentence]
    names = labels or sorted(set(words))
    tags = np.array([names.index(tag) for tag in words], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    kinds = label_kinds(names)
    found = read_spans(kinds, tags, offsets, strict=strict)
    type_names = [kinds.type_names[t] for t in found.types]
    return list(zip(found.starts.tolist(), found.ends.tolist(), type_names, strict=True))


def spans_in(tags: str, *, labels: list[str] | None = None, strict: bool = False) -> list[Span]:
    return spans_of([tags.split()], labels=labels, strict=strict)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-X I-X O", [(0, 2, "X")]),
        ("B-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),  # adjacent B
        ("O I-X I-X", [(1, 3, "X")]),  # I after O begins
        ("I-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),  # a new type begins
        ("B-X I-Y I-X", [(0, 1, "X"), (1, 2, "Y"), (2, 3, "X")]),
        ("B-X O I-X", [(0, 1, "X"), (2, 3, "X")]),  # O inside breaks off
        ("I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),  # IOB1
        ("O E-X E-X", [(1, 2, "X"), (2, 3, "X")]),  # E after O and after E begins
        ("B-X I-X E-X I-X", [(0, 3, "X"), (3, 4, "X")]),
        ("S-X I-X E-X", [(0, 1, "X"), (1, 3, "X")]),
        ("B-X S-X B-X O", [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
        ("B-X L-X U-X L-X", [(0, 2, "X"), (2, 3, "X"), (3, 4, "X")]),  # BILOU's L and U are E and S
        ("B-cell-type I-cell-type I-cell-line", [(0, 2, "cell-type"), (2, 3, "cell-line")]),  # first '-' splits
        ("B-X . I-X", [(0, 1, "X"), (2, 3, "X")]),
        ("NN VB O NN", []),  # the type of a bare tag is empty, like that of O: nothing changes
        ("B-X NN B-X", [(0, 1, "X"), (1, 2, ""), (2, 3, "X")]),  # but it changes after a span
        ("B I O I", [(0, 2, "_"), (3, 4, "_")]),  # conlleval has the same spans, with an empty type
        ("[-X ]-X I-X", [(0, 1, "X"), (1, 2, "X")]),
        ("", []),
    ],
)
def test_every_sequence_is_read_as_conlleval_reads_it(tags: str, expected: list[Span]) -> None:
    assert spans_in(tags) == expected


def test_a_span_ends_with_its_sentence() -> None:
    assert spans_of([["B-X", "I-X"], ["I-X"], [], ["I-X"], []]) == [(0, 2, "X"), (2, 3, "X"), (3, 4, "X")]


def test_no_sentences_have_no_spans() -> None:
    assert spans_of([], labels=IOB) == spans_of([[]], labels=IOB) == []


@pytest.mark.parametrize(
    ("labels", "tags", "expected"),
    [
        (IOB, "B-X I-X B-X", [(0, 2, "X"), (2, 3, "X")]),
        (IOB, "I-X I-X O B-Y", [(3, 4, "Y")]),
        (IOB, "B-X I-Y I-Y", [(0, 1, "X")]),
        (BIOES, "B-X I-X E-X S-Y", [(0, 3, "X"), (3, 4, "Y")]),
        (BIOES, "B-X I-X O E-X I-X E-X", []),
        (BIOES, "B-X B-X E-X E-X", [(1, 3, "X")]),
        (BIOES, "B-X E-Y S-Y", [(2, 3, "Y")]),
        (BILOU, "B-X I-X L-X U-Y B-Y", [(0, 3, "X"), (3, 4, "Y")]),
        (IOE, "I-X E-X E-X I-X I-Y E-Y", [(0, 2, "X"), (2, 3, "X"), (4, 6, "Y")]),
        (["O", "I-X"], "I-X I-X O I-X", [(0, 2, "X"), (3, 4, "X")]),
        ([*BIOES, "Z-X"], "B-X Z-X E-X", []),
    ],
)
def test_strict_keeps_only_well_formed_spans(labels: list[str], tags: str, expected: list[Span]) -> None:
    assert spans_in(tags, labels=labels, strict=True) == expected


def written(tags: list[str], start: int, end: int, scheme: str) -> bool:
    """Strict mode by definition: whether these tokens, no more and no fewer, are a well-formed span."""
    type_name = tags[start].partition("-")[2]
    if any(tag.partition("-")[2] != type_name for tag in tags[start:end]):
        return False
    prefixes = "".join(tag[0] for tag in tags[start:end])
    before = tags[start - 1] if start else "O"
    after = tags[end] if end < len(tags) else "O"
    if scheme == "IOB":
        return prefixes == "B" + "I" * (end - start - 1) and after != f"I-{type_name}"
    if scheme == "IOE":
        return prefixes == "I" * (end - start - 1) + "E" and before != f"I-{type_name}"
    return prefixes in ("S", "B" + "I" * (end - start - 2) + "E")


@pytest.mark.parametrize(("scheme", "labels"), [("IOB", IOB), ("IOE", IOE), ("BIOES", BIOES)])
@given(data=st.data())
def test_strict_spans_are_all_the_well_formed_ones(scheme: str, labels: list[str], data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(labels), max_size=9))
    expected = [
        (start, end, tags[start].partition("-")[2])
        for start in range(len(tags))
        for end in range(start + 1, len(tags) + 1)
        if tags[start] != "O" and written(tags, start, end, scheme)
    ]
    assert spans_of([tags], labels=labels, strict=True) == expected


@given(st.lists(st.sampled_from([*BIOES, *BILOU, "NN", ".", "Z-X"]), max_size=12), st.integers(0, 12))
def test_strict_spans_are_spans(tags: list[str], cut: int) -> None:
    sentences = [tags[:cut], tags[cut:]]
    assert set(spans_of(sentences, strict=True)) <= set(spans_of(sentences))


def encode(pieces: list[tuple[int, str]], scheme: str) -> tuple[list[str], list[Span]]:
    """Tags and spans of a text made of pieces: length and type, '' for outside."""
    tags: list[str] = []
    expected: list[Span] = []
    for length, type_name in pieces:
        start = len(tags)
        if not type_name:
            tags += ["O"] * length
            continue
        touches = bool(expected) and expected[-1][1] == start and expected[-1][2] == type_name
        expected.append((start, start + length, type_name))
        prefixes = {
            "IOB1": ("B" if touches else "I") + "I" * (length - 1),
            "IOB2": "B" + "I" * (length - 1),
            "IOE2": "I" * (length - 1) + "E",
            "BIOES": "S" if length == 1 else "B" + "I" * (length - 2) + "E",
            "BILOU": "U" if length == 1 else "B" + "I" * (length - 2) + "L",
        }[scheme]
        tags += [f"{prefix}-{type_name}" for prefix in prefixes]
    return tags, expected


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE2", "BIOES", "BILOU"])
@given(pieces=st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["", "X", "Y", "cell-type"]))))
def test_spans_written_in_a_scheme_are_read_back(scheme: str, pieces: list[tuple[int, str]]) -> None:
    tags, expected = encode(pieces, scheme)
    prefixes = {"IOB1": "BI", "IOB2": "BI", "IOE2": "IE", "BIOES": "BIES", "BILOU": "BILU"}[scheme]
    labels = ["O", *(f"{prefix}-{name}" for prefix in prefixes for name in ["X", "Y", "cell-type"])]
    assert spans_of([tags], labels=labels) == expected
    if scheme != "IOB1":
        assert spans_of([tags], labels=labels, strict=True) == expected
