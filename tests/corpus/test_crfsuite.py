"""Attribute files of CRFsuite: a label and ready-made features a line."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.annotations import Annotation
from sapo.corpus.blocks import Sentence
from sapo.corpus.crfsuite import write, write_sentence
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError

FILE = "B-NP\tw[0]=a\tpos[0]=DT\tlength:1\n# a note\nO\tw[0]=10\\:30\tback\\\\slash\t# a comment\n\n\nO\tx:2.5\tx:1\r\n"
MakeFile = Callable[[bytes | str, str], Path]


def test_labels_attributes_values_escapes_and_comments_are_read(make_file: MakeFile) -> None:
    sentences = list(read(make_file(FILE, "a.crfsuite")))
    assert sentences == [
        Sentence({}, ("B-NP", "O"), features=(["w[0]=a", "pos[0]=DT", "length"], ["w[0]=10:30", "back\\slash"])),
        Sentence({}, ("O",), features=({"x": 3.5},)),
    ]


def test_a_block_knows_its_lines(make_file: MakeFile) -> None:
    (block,) = read_blocks(make_file(FILE, "a.crfsuite"))
    assert block.first_lines().tolist() == [1, 6]
    assert [block.place_of(token).rpartition(":")[2] for token in range(3)] == ["1", "3", "6"]


def test_tagging_replaces_labels_and_nothing_else(make_file: MakeFile) -> None:
    (block,) = read_blocks(make_file(FILE, "a.crfsuite"))
    changed = b"".join(write(block, Annotation(np.array([0, 1, 1], np.int32), ["I-NP", "a:b"]))).decode()
    assert changed == FILE.replace("B-NP\t", "I-NP\t").replace("O\t", "a\\:b\t")


def test_labels_may_be_empty_in_a_file_to_be_tagged(make_file: MakeFile) -> None:
    path = make_file("\tw=a\n\tw=b\n", "a.crfsuite")
    (block,) = read_blocks(path, labeled=False)
    assert block.columns == ()
    assert b"".join(write(block, Annotation(np.array([0, 0], np.int32), ["X"]))) == b"X\tw=a\nX\tw=b\n"
    with pytest.raises(SapoError, match=r"a.crfsuite:1: the label, the first field, is empty"):
        list(read_blocks(path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A\tw=a:b", r"a.crfsuite:2: expected a number behind the colon of 'w=a:b', found 'b'; write a colon"),
        ("A\tw:1:2", "a.crfsuite:2: expected a number behind the colon"),
        ("A\tw:nan", "a.crfsuite:2: expected a number behind the colon"),
        ("A\tw:1e999", "a.crfsuite:2: expected a number behind the colon"),
        ("A:2\tw", "a.crfsuite:2: the label 'A:2' has a value"),
        ("@weight:2", "a.crfsuite:2: declarations such as @weight are not supported"),
        (b"A\tw=\xe4", "a.crfsuite:2: not UTF-8"),
    ],
)
def test_mistakes_are_named_with_their_line(make_file: MakeFile, line: str | bytes, message: str) -> None:
    data = line if isinstance(line, bytes) else line.encode()
    path = make_file(b"A\tw\n" + data + b"\n", "a.crfsuite")
    with pytest.raises(SapoError, match=message):
        list(read(path))


def test_many_sentences_come_in_several_blocks(make_file: MakeFile) -> None:
    path = make_file("A\tw=a\nB\tw=b\n\n" * 1201, "many.crfsuite")
    blocks = list(read_blocks(path))
    assert [len(block.offsets) - 1 for block in blocks] == [500, 500, 201]
    assert blocks[1].first_lines()[0] == 1501
    added = [Annotation(np.zeros(int(block.offsets[-1]), np.int32), ["A"]) for block in blocks]
    assert b"".join(itertools.chain.from_iterable(map(write, blocks, added))).count(b"\n") == 3603


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1).filter(
    lambda name: name[0] not in "#@" and name.strip()
)
tokens = st.dictionaries(names, st.floats(-1e6, 1e6, width=32) | st.just(1.0), min_size=1)


@given(st.lists(st.lists(st.tuples(names, tokens), min_size=1), min_size=1, max_size=3))
def test_what_is_written_is_read_again(make_file: MakeFile, rows: list[list[tuple[str, dict[str, float]]]]) -> None:
    sentences = [Sentence({}, tuple(tag for tag, _ in row), features=tuple(token for _, token in row)) for row in rows]
    path = make_file("".join(write_sentence(sentence) for sentence in sentences), "written.crfsuite")
    found = list(read(path))
    assert [sentence.tags for sentence in found] == [sentence.tags for sentence in sentences]
    for sentence, again in zip(sentences, found, strict=True):
        assert sentence.features is not None
        assert again.features is not None
        for token, other in zip(sentence.features, again.features, strict=True):
            assert (other if isinstance(other, dict) else dict.fromkeys(other, 1.0)) == token


def test_a_column_file_with_attributes_is_refused_with_the_way_out(make_file: MakeFile) -> None:
    line = "B-NP\tw[0]={}\tw[1]=in\tpos[0]=NN\n"
    path = make_file("".join(line.format(word) for word in "abc") + "\n", "train.txt")
    with pytest.raises(SapoError, match=r"train.txt: looks like attributes of CRFsuite .*use `format='crfsuite'`"):
        list(read(path))
    assert len(list(read(path, format="crfsuite"))) == 1
    uneven = make_file("B-NP\tw[0]=a\tw[1]=in\t__BOS__\nO\tw[0]=a\tw[1]=c\tw[2]=d\tw[3]=e\n", "train.txt")
    with pytest.raises(SapoError, match="use `format='crfsuite'`"):
        list(read(uneven))


def test_columns_with_features_of_ud_are_columns(make_file: MakeFile) -> None:
    path = make_file("dog\tNOUN\tNumber=Sing|Case=Nom\nruns\tVERB\tMood=Ind\n", "train.txt")
    assert next(read(path)).words == ("dog", "runs")
    assert next(read(make_file("dog\tNumber=Sing|Case=Nom\nis\tMood=Ind|A=b\n", "train.txt"))).words == ("dog", "is")


@pytest.mark.parametrize("tag", ["#", "@x", "", "a\tb"])
def test_a_label_that_crfsuite_cannot_hold_is_refused(make_file: MakeFile, tag: str) -> None:
    (block,) = read_blocks(make_file(FILE, "a.crfsuite"))
    with pytest.raises(SapoError, match="write JSONL"):
        block.check_labels([tag])
    with pytest.raises(SapoError, match="this data has only words; write another format"):
        write_sentence(Sentence({"word": ("a",)}, ("X",)))
