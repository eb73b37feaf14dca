"""Files that arrive in pieces of any size: always the same sentences, the same bytes and the same messages."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import Sentence
from sapo.corpus.formats import read
from sapo.errors import SapoError

Piped = Callable[[bytes, int], AbstractContextManager[None]]
TagWithGold = Callable[..., bytes]
Token = tuple[str, ...]

BOM = b"\xef\xbb\xbf"
CHUNK_SIZES = st.integers(1, 40)


@dataclass(frozen=True, slots=True)
class File:
    """Lines of a column file: a token is a tuple of its fields, a string is any other line."""

    lines: list[Token | str]
    separator: str
    ending: str
    begin: bytes
    end: str

    @property
    def width(self) -> int:
        return len(self.lines[0])

    @property
    def words(self) -> list[int]:
        """Which lines are tokens."""
        return [i for i, line in enumerate(self.lines) if isinstance(line, tuple)]

    @property
    def sentences(self) -> list[list[Token]]:
        found: list[list[Token]] = [[]]
        for line in self.lines:
            if isinstance(line, tuple):
                found[-1].append(line)
            elif not line.startswith("#") and found[-1]:
                found.append([])
        return [sentence for sentence in found if sentence]

    def written(self, *, tagged: bool = False) -> list[bytes]:
        """Its lines; when tagged, with the last field once more."""
        lines = []
        for line in self.lines:
            if isinstance(line, tuple):
                more = self.separator[0] + line[-1]
                lines.append(self.separator.join(line) + more * tagged)
            else:
                lines.append(line)
        return [line.encode() for line in lines]

    def data(self, lines: list[bytes]) -> bytes:
        return self.begin + self.ending.encode().join(lines) + self.end.encode()


@st.composite
def column_files(draw: st.DrawFn) -> File:
    """Sentences among comments, empty lines and document borders; TABs or blanks; any line ending."""
    width = draw(st.integers(2, 4))
    separator = draw(st.sampled_from(["\t", " ", "  "]))
    inside = "ab#=-.äö日🦀\u00a0\u2028" + (" " if separator == "\t" else "")
    field = st.text(st.sampled_from(inside), min_size=1, max_size=5).filter(lambda text: text == text.strip(" "))
    token = st.tuples(*[field] * width).filter(lambda token: token[0] != "#")
    borders = st.sampled_from(["", " ", "\t", "-DOCSTART-", separator.join(["-DOCSTART-", "-X-", "O"])])
    comments = st.sampled_from(["# text = ä b c", "# 1 2 3 4 5", "# x = y"])
    lines: list[Token | str] = [("first",) * width]  # a word without '#' tells the number of columns
    for _ in range(draw(st.integers(0, 4))):
        lines += draw(st.lists(borders, min_size=1, max_size=2))
        lines += draw(st.lists(comments, max_size=2))
        lines += draw(st.lists(token, min_size=1, max_size=3))
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    begin = draw(st.sampled_from([b"", BOM]))
    return File(lines, separator, ending, begin, draw(st.sampled_from(["", ending, ending * 2])))


def rows(sentence: Sentence) -> list[Token]:
    assert sentence.tags is not None
    return list(zip(*sentence.columns.values(), sentence.tags, strict=True))


@settings(deadline=None, max_examples=100)
@given(column_files(), CHUNK_SIZES)
def test_a_column_file_in_pieces_holds_the_sentences_that_were_put_into_it(piped: Piped, file: File, size: int) -> None:
    with piped(file.data(file.written()), size):
        assert [rows(sentence) for sentence in read("-")] == file.sentences


@settings(deadline=None, max_examples=60)
@given(column_files(), CHUNK_SIZES)
def test_a_column_file_in_pieces_is_tagged_line_by_line(
    piped: Piped, tag_with_gold: TagWithGold, file: File, size: int
) -> None:
    with piped(file.data(file.written()), size):
        assert tag_with_gold("-") == file.data(file.written(tagged=True)).removeprefix(BOM)


@settings(deadline=None, max_examples=60)
@given(column_files(), CHUNK_SIZES, st.integers(1, 6), st.data())
def test_an_uneven_line_is_told_with_its_number_however_the_file_is_cut(
    piped: Piped, file: File, size: int, fields: int, data: st.DataObject
) -> None:
    assume(fields != file.width)
    before = data.draw(st.sampled_from(file.words))
    wrong = file.separator[0].join("w" * fields)
    lines = file.written()
    lines.insert(before + 1, wrong.encode())
    with piped(file.data(lines), size), pytest.raises(SapoError) as caught:
        list(read("-"))
    expected = f"{file.width} columns"
    assert str(caught.value) == f"standard input:{before + 2}: expected {expected}, found {fields} ({wrong!r})"


@settings(deadline=None, max_examples=60)
@given(column_files(), CHUNK_SIZES, st.data())
def test_a_byte_that_is_not_utf8_is_told_with_its_place_however_the_file_is_cut(
    piped: Piped, file: File, size: int, data: st.DataObject
) -> None:
    at = data.draw(st.sampled_from(file.words))
    lines = file.written()
    lines[at] += b"\xe9"
    with piped(file.data(lines), size), pytest.raises(SapoError) as caught:
        list(read("-"))
    place = f"standard input:{at + 1}: not UTF-8: byte 0xe9 at place {len(lines[at])} of the line; "
    assert str(caught.value).startswith(place)


CONLLU = """\
# newdoc id = d
# text = ¿Dámelo?
1-2	Dámelo	_	_	_	_	_	_	_	_
1	Dáme	dar	VERB	V	Mood=Imp|Number=Sing	0	root	_	_
2	lo	él	PRON	P	_	1	obj	_	SpaceAfter=No
2.1	x	x	X	X	_	_	_	_	_
3	#	#	SYM	S	_	1	dep	_	_

# text = 日本
1	日本	日本	PROPN	N	Number=Sing	0	root	_	_

"""


@pytest.mark.parametrize("label", ["upos", "xpos", "Number"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 64, 200, 1000])
def test_conllu_in_pieces_is_the_same_after_tagging_with_its_own_labels(
    piped: Piped, tag_with_gold: TagWithGold, label: str, size: int
) -> None:
    with piped(CONLLU.encode(), size):
        assert tag_with_gold("-", format="conllu", label=label).decode() == CONLLU


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 64, 200, 1000])
def test_conllu_in_pieces_holds_the_same_sentences_with_all_other_lines(piped: Piped, size: int) -> None:
    with piped(CONLLU.encode(), size):
        found = list(read("-", format="conllu"))
    assert [sentence.words for sentence in found] == [("Dáme", "lo", "#"), ("日本",)]
    assert [sentence.text for sentence in found] == ["¿Dámelo?", "日本"]
    assert [[place for place, _ in sentence.notes] for sentence in found] == [[0, 0, 0, 2], [0]]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.tuples(st.text(), st.text()), max_size=4), max_size=5),
    st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]),
    st.booleans(),
    CHUNK_SIZES,
)
def test_jsonl_in_pieces_holds_the_records_that_were_put_into_it(
    piped: Piped, sentences: list[list[tuple[str, str]]], ending: str, escaped: bool, size: int
) -> None:
    records = [
        {"tokens": [word for word, _ in sentence], "tags": [tag for _, tag in sentence]} for sentence in sentences
    ]
    data = ending.join(json.dumps(record, ensure_ascii=escaped) for record in records).encode()
    with piped(data, size):
        found = list(read("-", format="jsonl"))
    assert [list(zip(sentence.words, sentence.tags or (), strict=True)) for sentence in found] == sentences


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_wrong_line_of_jsonl_in_pieces_is_told_with_its_number(piped: Piped, size: int) -> None:
    data = b'{"tokens": [], "tags": []}\n\n{"tokens": [\n'
    with piped(data, size), pytest.raises(SapoError, match=r"^standard input:3: not JSON"):
        list(read("-", format="jsonl"))
