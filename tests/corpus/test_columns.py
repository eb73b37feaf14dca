"""Column files: how fields and sentences are found, what the columns are called, and what a wrong line says."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.annotations import Annotation
from sapo.corpus.blocks import Sentence
from sapo.corpus.columns import write, write_sentence
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError, allow_limits

MakeFile = Callable[[bytes | str, str], Path]
Piped = Callable[[bytes, int], AbstractContextManager[None]]
TagWithGold = Callable[..., bytes]

TWO_SENTENCES = "Anna NNP B-NP\nsings VBZ B-VP\n\nHush UH B-INTJ\n\n"


def rows(path: str | Path, **reading: object) -> list[list[tuple[str, ...]]]:
    """Sentences as lists of tokens, each a tuple of its fields with the label last."""
    found = []
    for sentence in read(path, **reading):  # type: ignore[arg-type]
        columns: list[Sequence[str]] = [*sentence.columns.values()]
        if sentence.tags is not None:
            columns.append(sentence.tags)
        found.append(list(zip(*columns, strict=True)))
    return found


EXPECTED = [[("Anna", "NNP", "B-NP"), ("sings", "VBZ", "B-VP")], [("Hush", "UH", "B-INTJ")]]


@pytest.mark.parametrize(
    "text",
    [
        TWO_SENTENCES,
        TWO_SENTENCES.replace(" ", "\t"),
        TWO_SENTENCES.replace(" ", "   "),
        TWO_SENTENCES.replace("Anna", "  Anna").replace("B-NP", "B-NP  "),
        TWO_SENTENCES.replace("\n", "\r\n"),
        TWO_SENTENCES.replace(" ", "\t").replace("\n", "\r\n"),
        "\ufeff" + TWO_SENTENCES,
        "\ufeff" + TWO_SENTENCES.replace("\n", "\r\n"),
        TWO_SENTENCES.rstrip("\n"),
        TWO_SENTENCES.rstrip("\n") + "\r",
        TWO_SENTENCES.rstrip("\n") + "\n",
        "\n\n" + TWO_SENTENCES + "\n\n",
        TWO_SENTENCES.replace("\n\n", "\n\n\n\n"),
        TWO_SENTENCES.replace("\n\n", "\n \t \n"),
        TWO_SENTENCES.replace(" ", "\t").replace("\n\n", "\n \t \n"),
        "-DOCSTART- -X- O\n\n" + TWO_SENTENCES,
        "-DOCSTART-\n" + TWO_SENTENCES,
        TWO_SENTENCES.replace("\n\n", "\n-DOCSTART- -X- -X- O O\n"),
        "# text = Anna sings\n" + TWO_SENTENCES,
        "# a = b\n" + TWO_SENTENCES,
        "# one\n# two of any length at all\n\n# three\n" + TWO_SENTENCES,
        "#comment\n\n" + TWO_SENTENCES,
        TWO_SENTENCES.replace("\n\n", "\n\n# sent_id = 2\n", 1),
        "# text = Anna sings\n" + TWO_SENTENCES.replace(" ", "\t"),
    ],
)
def test_these_files_all_hold_the_same_two_sentences(make_file: MakeFile, text: str) -> None:
    assert rows(make_file(text, "same.txt")) == EXPECTED


@pytest.mark.parametrize("text", ["", "\n", "\n\n \n", "\ufeff", "-DOCSTART- -X- O\n\n", "\r\n\r\n"])
def test_a_file_without_words_holds_no_sentence(make_file: MakeFile, text: str) -> None:
    assert rows(make_file(text, "empty.txt")) == []


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_any_number_of_columns_is_read(make_file: MakeFile, count: int, separator: str) -> None:
    tokens = [tuple(f"{letter}{i}" for i in range(count)) for letter in "xyz"]
    path = make_file("".join(separator.join(token) + "\n" for token in tokens), "wide.txt")
    assert rows(path) == [tokens]


def test_blanks_and_tabs_may_be_mixed_where_the_first_line_has_blanks(make_file: MakeFile) -> None:
    assert rows(make_file("a  X\nb\tY\nc \t Z\n", "mixed.txt")) == [[("a", "X"), ("b", "Y"), ("c", "Z")]]


def test_with_tabs_a_field_may_be_empty_or_hold_blanks(make_file: MakeFile) -> None:
    text = "New York\tNNP\tB-LOC\n\tNN\tO\nx\t\tO\n"
    assert rows(make_file(text, "tabs.txt")) == [[("New York", "NNP", "B-LOC"), ("", "NN", "O"), ("x", "", "O")]]


def test_white_space_of_other_scripts_separates_nothing(make_file: MakeFile) -> None:
    text = "a\u00a0b X\n\u2028 Y\nc\x85d\x0b Z\n"
    assert rows(make_file(text, "strange.txt")) == [[("a\u00a0b", "X"), ("\u2028", "Y"), ("c\x85d\x0b", "Z")]]


@pytest.mark.parametrize(
    "text",
    [
        "# NN\n5 CD\n",
        "5 CD\n# NN\n",
        "# #\n5 CD\n",
        "#tag NN\n5 CD\n",
        "#\tNN\n5\tCD\n",
        "# NN O\n5 CD O\n",
        "5 CD O\n# NN =\n",
        "# NN O X\n= = = =\n",
    ],
)
def test_a_number_sign_can_be_a_word(make_file: MakeFile, text: str) -> None:
    expected = [tuple(line.split()) for line in text.splitlines()]
    assert rows(make_file(text, "sign.txt")) == [expected]


def test_a_file_whose_only_word_is_a_number_sign_is_read(make_file: MakeFile) -> None:
    assert rows(make_file("# NN\n", "sign.txt")) == [[("#", "NN")]]


def test_a_word_that_only_begins_like_docstart_is_a_word(make_file: MakeFile) -> None:
    text = "a X\n-DOCSTART-s X\n-DOCSTART X\nDOCSTART X\n"
    assert [token[0] for token in rows(make_file(text, "doc.txt"))[0]] == text.split()[::2]


# what columns are called


@pytest.mark.parametrize(
    ("width", "names"),
    [
        (2, ("word", "label")),
        (3, ("word", "pos", "label")),
        (4, ("word", "pos", "chunk", "label")),
        (6, ("word", "pos", "chunk", "c3", "c4", "label")),
    ],
)
def test_the_last_column_is_the_label_and_the_others_have_their_usual_names(
    make_file: MakeFile, width: int, names: tuple[str, ...]
) -> None:
    path = make_file(" ".join("abcdef"[:width]) + "\n", "names.txt")
    assert next(read_blocks(path)).columns == names


def test_without_labels_all_columns_have_their_usual_names(make_file: MakeFile) -> None:
    path = make_file("a b c d\n", "names.txt")
    assert next(read_blocks(path, labeled=False)).columns == ("word", "pos", "chunk", "c3")
    assert next(read(path, labeled=False)).tags is None


@pytest.mark.parametrize(
    ("label", "at"), [("0", 0), ("1", 1), ("2", 2), ("-1", 2), ("-2", 1), ("-3", 0), ("word", 0), ("pos", 1)]
)
def test_the_label_is_chosen_by_number_from_either_end_or_by_usual_name(
    make_file: MakeFile, label: str, at: int
) -> None:
    path = make_file("a b c\n", "label.txt")
    block = next(read_blocks(path, label=label))
    assert block.columns.index("label") == at
    assert block.strings("label") == ["abc"[at]]


@pytest.mark.parametrize(
    ("label", "names"),
    [
        (None, ("form", "lemma", "label")),
        ("tag", ("form", "lemma", "label")),
        ("lemma", ("form", "label", "tag")),
        ("0", ("label", "lemma", "tag")),
        ("-2", ("form", "label", "tag")),
    ],
)
def test_the_label_is_chosen_among_named_columns(
    make_file: MakeFile, label: str | None, names: tuple[str, ...]
) -> None:
    path = make_file("a b c\n", "label.txt")
    assert next(read_blocks(path, label=label, columns=["form", "lemma", "tag"])).columns == names


def test_a_column_that_is_called_label_is_the_label(make_file: MakeFile) -> None:
    path = make_file("a b c\n", "label.txt")
    block = next(read_blocks(path, columns=["word", "label", "pos"]))
    assert (block.strings("label"), block.strings("pos")) == (["b"], ["c"])


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"label": "3"}, "there is no column 3; it has 3, from 0 to 2"),
        ({"label": "-4"}, "there is no column -4; it has 3, from 0 to 2"),
        ({"label": "ner"}, "there is no column 'ner'; the columns are word, pos, chunk, or 0 to 2"),
        ({"label": "ner", "columns": ["a", "b", "c"]}, "there is no column 'ner'; the columns are a, b, c, or 0 to 2"),
        ({"columns": ["word", "pos"]}, "has 3 columns; `columns` names 2: word, pos"),
        ({"columns": ["word", "pos", "c", "d"]}, "has 3 columns; `columns` names 4: word, pos, c, d"),
    ],
)
def test_a_column_that_is_not_there_is_told_with_the_file(
    make_file: MakeFile, reading: dict[str, object], message: str
) -> None:
    path = make_file("a b c\n", "label.txt")
    with pytest.raises(SapoError, match=rf"label\.txt: {message}$"):
        rows(path, **reading)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a b c\n", ("word", "pos", "tag")),
        ("a b\n", ("word", "pos")),
        ("a\n", ("word",)),
        ("a b c d\n", ("word", "pos", "tag", "c3")),
    ],
)
def test_a_file_to_be_tagged_may_lack_the_label_or_have_more_columns(
    make_file: MakeFile, text: str, names: tuple[str, ...]
) -> None:
    path = make_file(text, "untagged.txt")
    assert next(read_blocks(path, columns=["word", "pos", "tag"], labeled=False)).columns == names


def test_a_file_to_be_tagged_may_lack_a_label_that_stands_in_the_middle(make_file: MakeFile) -> None:
    path = make_file("a c\n", "untagged.txt")
    block = next(read_blocks(path, columns=["word", "ner", "pos"], label="ner", labeled=False))
    assert block.columns == ("word", "pos")


# wrong lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a X\nb\n", "2: expected 2 columns, found 1 ('b')"),
        ("a X\n\nb Y\nc Z Z Z\n", "4: expected 2 columns, found 4 ('c Z Z Z')"),
        ("a\n\nb c\n", "3: expected 1 column, found 2 ('b c')"),
        ("a\tX\nb Y\n", "2: expected 2 columns, found 1 ('b Y')"),
        ("a\tX\r\nb\tY\tZ\r\n", "2: expected 2 columns, found 3 ('b\\tY\\tZ')"),
        ("# comment\n-DOCSTART-\n\na X\nb", "5: expected 2 columns, found 1 ('b')"),
        ("a X\n# in the middle\n", "2: expected 2 columns, found 4 ('# in the middle')"),
        ("a X\n" + "ö" * 100 + "\n", f"2: expected 2 columns, found 1 ('{'ö' * 60}')"),
    ],
)
def test_a_line_with_more_or_fewer_columns_is_told_with_file_and_line(
    make_file: MakeFile, text: str, message: str
) -> None:
    path = make_file(text, "uneven.txt")
    with pytest.raises(SapoError) as caught:
        rows(path)
    assert str(caught.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a X\nb\xe4r Y\n", "2: not UTF-8: byte 0xe4 at place 2"),
        (b"a X\n\nb Y\n\n\xff\xff Z\n", "5: not UTF-8: byte 0xff at place 1"),
        (b"a X\n\xe4\n", "2: not UTF-8: byte 0xe4 at place 1"),  # uneven too, but that is not the trouble
        (b"a X\nb Y\xc3", "2: not UTF-8: byte 0xc3 at place 4"),
        (b"# \xe4\na X\n", "1: not UTF-8: byte 0xe4 at place 3"),
    ],
)
def test_a_file_that_is_not_utf8_is_told_with_file_line_and_byte(make_file: MakeFile, data: bytes, place: str) -> None:
    path = make_file(data, "latin.txt")
    with pytest.raises(SapoError, match="iconv") as caught:
        rows(path)
    assert str(caught.value).startswith(f"{path}:{place} of the line;")


def test_a_stream_without_empty_lines_is_not_read_for_ever(piped: Piped) -> None:
    told = r"^standard input:2: no empty line in"
    with piped(b"\n" + b"word X\n" * 1000, 100), allow_limits(sentence=1000), pytest.raises(SapoError, match=told):
        rows("-")


# tagging and writing


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("last", ["", "{end}", "{end}{end}", "{end}{end}{end}# the end{end}"])
def test_tagging_adds_the_tag_to_each_word_and_touches_nothing_else(
    make_file: MakeFile, tag_with_gold: TagWithGold, ending: str, separator: str, last: str
) -> None:
    lines = ["# a comment, which is long", "-DOCSTART-", "", "Zoë|NNP", "sings|VBZ", "", "", "#|NN"]

    def text(tagged: bool) -> bytes:
        written = [f"{line}|{line.split('|')[1]}" if tagged and "|" in line else line for line in lines]
        return (ending.join(written).replace("|", separator) + last.format(end=ending)).encode()

    assert tag_with_gold(make_file(text(False), "in.txt")) == text(True)


def test_any_tag_may_be_given_to_any_word(make_file: MakeFile) -> None:
    block = next(read_blocks(make_file("a X\nb Y\n\nc Z\n\n", "in.txt")))
    tags = np.array([2, 0, 1], np.int32)
    assert (
        b"".join(write(block, Annotation(tags, ["", "Ä" * 20, "T"])))
        == ("a X T\nb Y \n\nc Z " + "Ä" * 20 + "\n\n").encode()
    )


@pytest.mark.parametrize("value", ["", " a", "a ", "a\tb", "a\nb", "a\rb", "\n", " "])
@pytest.mark.parametrize("column", ["word", "pos", "tag"])
def test_what_cannot_stand_in_a_column_is_refused(value: str, column: str) -> None:
    values = {name: (value if name == column else "x",) for name in ("word", "pos", "tag")}
    tags = values.pop("tag")
    with pytest.raises(SapoError, match="cannot be written to a column file; use JSONL") as caught:
        write_sentence(Sentence(values, tags))
    assert str(caught.value).startswith(repr(value))


FIELD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\ufeff"), min_size=1, max_size=6
).filter(lambda text: text == text.strip() and text != "-DOCSTART-")


def tokens(width: int) -> st.SearchStrategy[tuple[str, ...]]:
    # '#', anything, '=' is how a comment begins
    return st.tuples(*[FIELD] * width).filter(lambda token: token[0] != "#" or "=" not in token)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 4).flatmap(lambda width: st.lists(st.lists(tokens(width), min_size=1))))
def test_every_sentence_that_is_written_is_read_again(
    make_file: MakeFile, sentences: list[list[tuple[str, ...]]]
) -> None:
    text = ""
    for sentence in sentences:
        *columns, tags = zip(*sentence, strict=True)
        text += write_sentence(Sentence({f"c{i}": column for i, column in enumerate(columns)}, tags))
    assert rows(make_file(text, "written.txt")) == sentences
