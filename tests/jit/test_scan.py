"""The scanner of lines against a slow, obvious twin."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sapo.corpus import scanner
from sapo.corpus.scanner import scan_lines

Span = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    columns: int
    tabs: bool
    conllu: bool


@dataclass(frozen=True)
class Found:
    """What a scan gives back."""

    fields: list[list[Span]]  # of each token
    lines: list[Span]  # of each token, without the line ending
    sentences: list[int]  # how many tokens there are up to the end of each
    used: int
    used_lines: int


@dataclass(frozen=True)
class Uneven:
    """The first line with the wrong number of fields."""

    fields: int
    at: int


def scanned(data: bytes, layout: Layout, final: bool) -> Found | Uneven:
    most = data.count(b"\n") + 1
    starts, ends = (np.full((most, layout.columns), -1, np.int32) for _ in range(2))
    line_starts, line_ends, sentence_ends = (np.full(most, -1, np.int32) for _ in range(3))
    tokens, sentences, used, used_lines, fields, at = scan_lines(
        np.frombuffer(data, np.uint8),
        layout.tabs,
        layout.conllu,
        final,
        starts,
        ends,
        line_starts,
        line_ends,
        sentence_ends,
        np.empty(0, np.int32),
    )
    if fields:
        return Uneven(fields, at)
    return Found(
        [list(zip(*both, strict=True)) for both in zip(starts[:tokens].tolist(), ends[:tokens].tolist(), strict=True)],
        list(zip(line_starts[:tokens].tolist(), line_ends[:tokens].tolist(), strict=True)),
        sentence_ends[:sentences].tolist(),
        used,
        used_lines,
    )


def split(line: bytes, tabs: bool) -> list[Span]:
    if not line.strip(b" \t"):
        return []
    if not tabs:
        return [match.span() for match in re.finditer(rb"[^ \t]+", line)]
    fields = line.split(b"\t")
    starts = [sum(len(field) + 1 for field in fields[:i]) for i in range(len(fields))]
    return [(start, start + len(field)) for start, field in zip(starts, fields, strict=True)]


def is_comment(line: bytes, words: list[bytes], layout: Layout, inside: bool) -> bool:
    if not line.startswith(b"#"):
        return False
    if layout.conllu:
        return True
    return not inside and (len(words) != layout.columns or (words[0] == b"#" and words[2:3] == [b"="]))


def slow_scan(data: bytes, layout: Layout, final: bool) -> Found | Uneven:
    """Line by line, with lists."""
    sentences: list[list[tuple[list[Span], Span]]] = [[]]
    used = used_lines = at = 0
    lines = data.split(b"\n")
    last = lines.pop()
    if final and last:
        lines.append(last)
    for number, full in enumerate(lines, 1):
        line = full.removesuffix(b"\r")
        spans = split(line, layout.tabs)
        words = [line[a:b] for a, b in spans]
        after = min(at + len(full) + 1, len(data))
        if not words or re.match(rb"-DOCSTART-(?![^ \t])", line):
            sentences.append([])
            used, used_lines = after, number
        elif is_comment(line, words, layout, inside=bool(sentences[-1])):
            pass
        elif layout.conllu and re.search(rb"[-.]", words[0]):
            pass  # 3-4 is a multiword token, 8.1 an empty node
        elif len(words) != layout.columns:
            return Uneven(len(words), at)
        else:
            sentences[-1].append(([(at + a, at + b) for a, b in spans], (at, at + len(line))))
        at = after
    if final:
        used, used_lines = len(data), len(lines)
    else:
        sentences.pop()  # its end may come with the next bytes
    tokens = [token for sentence in sentences for token in sentence]
    sizes = [len(sentence) for sentence in sentences if sentence]
    return Found(
        [fields for fields, _ in tokens], [line for _, line in tokens], np.cumsum(sizes).tolist(), used, used_lines
    )


FIELD = st.sampled_from(
    [b"a", b"bc", "é€".encode(), b"#", b"#x", b"=", b"-DOCSTART-", b"-", b"1", b"3-4", b"8.1", b"\r"]
)
ODD_LINE = st.sampled_from(
    [
        b"",
        b"",
        b" ",
        b"\t",
        b" \t ",
        b"\r",
        b"# a comment",
        b"# key = value",
        b"#",
        b"-DOCSTART-",
        b"-DOCSTART- -X- O",
        b" #",
    ]
)
ENDING = st.sampled_from([b"\n", b"\n", b"\r\n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, Layout]:
    """Mostly even lines, with all that may stand between them."""
    layout = Layout(draw(st.integers(1, 4)), draw(st.booleans()), draw(st.booleans()))
    separator = st.just(b"\t") if layout.tabs else st.sampled_from([b" ", b"\t", b"  ", b" \t"])
    lines = []
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.integers(0, 29))
        if kind < 9:
            line = draw(ODD_LINE)
        else:
            width = layout.columns if kind < 29 else draw(st.integers(1, 6))
            line = draw(separator).join(draw(FIELD) for _ in range(width))
            if not layout.tabs and draw(st.booleans()):
                line = draw(separator) + line + draw(separator)
        lines.append(line + draw(ENDING))
    data = b"".join(lines)
    return data[: len(data) - draw(st.integers(0, 2))], layout


@given(files(), st.booleans())
@settings(deadline=None, max_examples=400)
def test_a_scan_equals_its_slow_twin(file: tuple[bytes, Layout], final: bool) -> None:
    found = slow_scan(*file, final)
    event(type(found).__name__)
    assert scanned(*file, final) == found


@given(files(), st.data())
@settings(deadline=None, max_examples=150)
def test_a_file_in_two_pieces_gives_the_same_as_in_one(file: tuple[bytes, Layout], data: st.DataObject) -> None:
    content, layout = file
    whole = scanned(content, layout, final=True)
    cut = data.draw(st.integers(0, len(content)))
    first = scanned(content[:cut], layout, final=False)
    if isinstance(first, Uneven):
        assert first == whole
        return
    rest = scanned(content[first.used :], layout, final=True)
    if isinstance(rest, Uneven):
        assert Uneven(rest.fields, rest.at + first.used) == whole
        return
    moved = [[(a + first.used, b + first.used) for a, b in token] for token in rest.fields]
    assert isinstance(whole, Found)
    assert whole.fields == first.fields + moved
    assert whole.sentences == first.sentences + [len(first.fields) + end for end in rest.sentences]
    assert whole.used_lines == first.used_lines + rest.used_lines


def words_of(data: bytes, layout: Layout) -> list[list[str]]:
    """The first field of each token, sentence by sentence."""
    found = scanned(data, layout, final=True)
    assert isinstance(found, Found)
    words = [data[slice(*fields[0])].decode() for fields in found.fields]
    return [words[a:b] for a, b in zip([0, *found.sentences], found.sentences, strict=False)]


COLUMNS_2 = Layout(2, tabs=False, conllu=False)
COLUMNS_3 = Layout(3, tabs=False, conllu=False)
CONLLU = Layout(2, tabs=True, conllu=True)


@pytest.mark.parametrize(
    ("data", "layout", "expected"),
    [
        (b"", COLUMNS_2, []),
        (b"\n\n\n", COLUMNS_2, []),
        (b"a X\nb Y\n\nc Z\n", COLUMNS_2, [["a", "b"], ["c"]]),
        (b"a X\nb Y", COLUMNS_2, [["a", "b"]]),
        (b"\n\na X\n\n\n\nb Y\n\n\n", COLUMNS_2, [["a"], ["b"]]),
        (b"a X\r\nb Y\r\n\r\nc Z\r\n", COLUMNS_2, [["a", "b"], ["c"]]),
        (b"  a \t X  \n \t \nb Y\n", COLUMNS_2, [["a"], ["b"]]),
        (b"-DOCSTART- -X-\n\na X\n", COLUMNS_2, [["a"]]),
        (b"a X\n-DOCSTART- -X- O O\nb Y\n", COLUMNS_2, [["a"], ["b"]]),
        (b"a\tX\n-DOCSTART- -X- O\nb\tY\n", Layout(2, tabs=True, conllu=False), [["a"], ["b"]]),
        (b"-DOCSTART-s X\na Y\n", COLUMNS_2, [["-DOCSTART-s", "a"]]),
        (b"# a comment here\na X\n", COLUMNS_2, [["a"]]),
        (b"a X\n# Y\nb Z\n", COLUMNS_2, [["a", "#", "b"]]),
        (b"# Y\nb Z\n", COLUMNS_2, [["#", "b"]]),
        (b"# text = one\n# Y\na X\n", COLUMNS_2, [["#", "a"]]),
        (b"# id = 7\na b c\n", Layout(4, tabs=False, conllu=False), None),
        (b"# id =\na b c\n", COLUMNS_3, [["a"]]),
        (b"# $ NN\na b c\n", COLUMNS_3, [["#", "a"]]),
        (b"a b c\n# id =\n", COLUMNS_3, [["a", "#"]]),
        (b"#1 b =\n# b ==\n", COLUMNS_3, [["#1", "#"]]),
        (b"# b ==\n", COLUMNS_3, [["#"]]),
        (b"1\ta\n# c\n2-3\tbc\n2\tb\n3.1\tx\n3\tc\n", CONLLU, [["1", "2", "3"]]),
        (b"1\ta\n\n# only a comment\n\n", CONLLU, [["1"]]),
        (b"a\t\n\tb\n", Layout(2, tabs=True, conllu=False), [["a", ""]]),
        (b"New York\tX\n", Layout(2, tabs=True, conllu=False), [["New York"]]),
    ],
)
def test_lines_by_example(data: bytes, layout: Layout, expected: list[list[str]] | None) -> None:
    if expected is None:
        assert scanned(data, layout, final=True) == Uneven(3, 9)
    else:
        assert words_of(data, layout) == expected


def test_an_unfinished_sentence_is_left_for_the_next_piece() -> None:
    data = b"a X\n\nb Y\nc Z\nd"
    found = scanned(data, COLUMNS_2, final=False)
    assert isinstance(found, Found)
    assert (found.sentences, found.used, found.used_lines) == ([1], 5, 2)


def test_an_uneven_line_is_reported_with_its_place_and_its_fields() -> None:
    assert scanned(b"a X\n\nb Y Z\nc\n", COLUMNS_2, final=False) == Uneven(3, 5)


def test_a_lenient_scan_skips_uneven_lines_and_numbers_them() -> None:
    data = b"a X\nb\n# c\n\nd Y Z\ne Y\n"
    found, uneven = scanner.scan_leniently(data, scanner.Layout(2, tabs=False), "train.txt")
    assert uneven == [2, 5]
    assert found.line_numbers(found.line_starts).tolist() == [1, 3, 6]  # inside a sentence, '#' is a word
    assert found.offsets.tolist() == [0, 2, 3]
